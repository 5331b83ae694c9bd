"""The response of one reader: slow readers are cut off, expired ones end."""

import asyncio
import time
from collections.abc import Callable

from sse_starlette import EventSourceResponse
from starlette.types import Message, Receive, Scope, Send

TRANSPORT = "transport"
"""In a request's state: the connection's `asyncio.Transport`, where the server gives it."""

SEND_TIMEOUT_SECONDS = 30
"""A reader that takes nothing for so long is dropped; it can come back with its cursor."""


class ReaderTooSlow(Exception):
    """A reader has taken nothing for too long."""


class ServerSentEvents(EventSourceResponse):
    """A reader that takes nothing for too long is cut off; that is no error of the server's.

    EventSourceResponse has a timeout too, but not for the last send, and it leaves the connection
    open with all that the reader has not taken.
    """

    expires_at: float | None = None
    closed: Callable[[], None] | None = None
    """Called when it has ended, however it did."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._send_in_time(scope, receive, send)
        finally:
            if self.closed:
                self.closed()

    async def _send_in_time(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.expires_at is None:
            await self._send_all(scope, receive, send)
            return
        try:
            async with asyncio.timeout(max(0, self.expires_at - time.time())) as clock:
                await self._send_all(scope, receive, send)
        except TimeoutError:
            if not clock.expired():
                raise
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_all(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            try:
                async with asyncio.timeout(SEND_TIMEOUT_SECONDS):
                    await send(message)
            except TimeoutError:
                raise ReaderTooSlow from None

        try:
            await super().__call__(scope, receive, send_in_time)
        except ReaderTooSlow:
            transport = scope.get("state", {}).get(TRANSPORT)
            if transport:
                transport.abort()
                await asyncio.sleep(0)  # the loop tells the connection that it is lost
