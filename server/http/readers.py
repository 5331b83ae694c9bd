"""A streamed response, as long as its reader takes it and may have it."""

import asyncio
import time

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TRANSPORT = "transport"
"""In a request's state: the connection's `asyncio.Transport`, where the server gives it."""

SEND_TIMEOUT_SECONDS = 30
"""A reader that takes nothing for so long is cut off; it can come back with its cursor."""


class SendClock:
    """Sends, and aborts the connection when a send takes too long: one timer a response, since one
    a send costs as much as the send."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.begun = False
        self._send = send
        self._transport: asyncio.Transport | None = scope.get("state", {}).get(TRANSPORT)
        self._loop = asyncio.get_running_loop()
        self._under_way = 0
        self._moved = 0.0
        """When a send last began with none before it, or ended, by the loop's clock."""
        self._timer = self._loop.call_later(SEND_TIMEOUT_SECONDS, self._look)

    async def send(self, message: Message) -> None:
        self.begun = True
        if not self._under_way:
            self._moved = self._loop.time()
        self._under_way += 1
        try:
            await self._send(message)
        finally:
            self._under_way -= 1
            self._moved = self._loop.time()

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        now = self._loop.time()
        since = self._moved if self._under_way else now
        if now - since < SEND_TIMEOUT_SECONDS:
            self._timer = self._loop.call_at(since + SEND_TIMEOUT_SECONDS, self._look)
        elif self._transport:
            # The server tells the response that its client has gone.
            self._transport.abort()


async def respond_in_time(
    respond: ASGIApp, scope: Scope, receive: Receive, send: Send, expires_at: float | None
) -> None:
    """Cut a reader off that takes nothing, which is no error of the server's; and end the response
    when the reader's credentials expire, at a Unix time."""
    clocked = SendClock(scope, send)
    seconds = None if expires_at is None else max(0, expires_at - time.time())
    try:
        async with asyncio.timeout(seconds) as clock:
            await respond(scope, receive, clocked.send)
    except TimeoutError:
        if not clock.expired():
            raise
        if clocked.begun:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await Response(status_code=401)(scope, receive, send)
    finally:
        clocked.stop()
