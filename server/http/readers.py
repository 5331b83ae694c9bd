"""A streamed response, as long as its reader takes it and may have it."""

import asyncio
import time

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TRANSPORT = "transport"
"""In a request's state: the connection's `asyncio.Transport`, where the server gives it."""

SEND_TIMEOUT_SECONDS = 30
"""A reader that takes nothing for so long is cut off; it can come back with its cursor."""


class ReaderTooSlow(Exception):
    """A reader has taken nothing for too long."""


async def respond_in_time(
    respond: ASGIApp, scope: Scope, receive: Receive, send: Send, expires_at: float | None
) -> None:
    """Cut a reader off that takes nothing, which is no error of the server's; and end the response
    when the reader's credentials expire, at a Unix time."""
    begun = False

    async def send_in_time(message: Message) -> None:
        nonlocal begun
        begun = True
        try:
            async with asyncio.timeout(SEND_TIMEOUT_SECONDS):
                await send(message)
        except TimeoutError:
            raise ReaderTooSlow from None

    seconds = None if expires_at is None else max(0, expires_at - time.time())
    try:
        async with asyncio.timeout(seconds) as clock:
            await respond(scope, receive, send_in_time)
    except ReaderTooSlow:
        await _cut_off(scope)
    except TimeoutError:
        if not clock.expired():
            raise
        if begun:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await Response(status_code=401)(scope, receive, send)


async def _cut_off(scope: Scope) -> None:
    transport = scope.get("state", {}).get(TRANSPORT)
    if transport:
        transport.abort()
        await asyncio.sleep(0)  # the loop tells the connection that it is lost
