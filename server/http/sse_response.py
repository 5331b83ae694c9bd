"""The response of one reader of an event stream."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, cast

from sse_starlette import EventSourceResponse
from starlette.types import Receive, Scope, Send

from turnstream.server.http.readers import respond_in_time
from turnstream.server.http.unread import in_pieces

PING = b": ping\n\n"
JSON_PING = b"\n"
"""JSON may have any white space ahead of it."""


class ServerSentEvents(EventSourceResponse):
    """EventSourceResponse in two tasks instead of five: the tasks and their scopes were half of the
    memory that a reader costs. Its own timeout for slow readers sets a timer for each send, does
    not cover the last one, and leaves the connection open with what the reader has not taken."""

    ping_bytes = PING
    expires_at: float | None = None
    """When the reader's credentials expire, as a Unix time."""
    closed: Callable[[], None] | None = None
    """Called when it has ended, however it did."""
    left: Callable[[], None] | None = None
    """Called when its reader leaves before the end."""
    _task: asyncio.Task[Any] | None = None
    _is_broken_off = False
    _is_within_event = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await respond_in_time(self._respond, scope, receive, send, self.expires_at)
        finally:
            if self.closed:
                self.closed()

    def break_off(self) -> None:
        """End it now: its reader has left, or the server stops."""
        self._is_broken_off = True
        if self._task:
            self._task.cancel()

    async def stay_unfinished(self) -> None:
        """Break off from within the body: a client that sees no end tries again, at another
        worker."""
        self.break_off()
        await asyncio.sleep(0)

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            await send(self._start())
            await send(_body(b"", more=False))
            return
        self._task = asyncio.current_task()
        assert self._task is not None
        attending = asyncio.create_task(self._attend(receive, send))
        OPEN.add(self)
        try:
            await self._send_all(send)
        except asyncio.CancelledError:
            if not self._is_broken_off or self._task.uncancel():
                raise
        finally:
            OPEN.discard(self)
            attending.cancel()

    async def _send_all(self, send: Send) -> None:
        await send(self._start())
        events = cast(AsyncGenerator[bytes], self.body_iterator)
        async with aclosing(events) as pieces:
            async for data in pieces:
                self._is_within_event = True
                for piece in in_pieces(data):
                    await send(_body(piece, more=True))
                self._is_within_event = False
                del data  # not held while the next event is awaited
        await send(_body(b"", more=False))

    async def _attend(self, receive: Receive, send: Send) -> None:
        """Ping, until the reader has left."""
        while True:
            try:
                async with asyncio.timeout(self.ping_interval):
                    message = await receive()
            except TimeoutError:
                if not self._is_within_event:
                    await send(_body(self.ping_bytes, more=True))
            else:
                if message["type"] == "http.disconnect":
                    if self.left:
                        self.left()
                    self.break_off()
                    return

    def _start(self) -> dict[str, Any]:
        headers = self.raw_headers
        return {"type": "http.response.start", "status": self.status_code, "headers": headers}


def _body(data: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": data, "more_body": more}


class OpenResponses:
    """The responses that are being sent. When uvicorn runs without our own shutdown it waits for
    them; sse-starlette knows when it is told to exit (3.7: `_listen_for_exit_signal`)."""

    def __init__(self) -> None:
        self._open: set[ServerSentEvents] = set()
        self._watch: asyncio.Task[None] | None = None

    def add(self, response: ServerSentEvents) -> None:
        if not self._open:
            self._watch = asyncio.create_task(self._break_off_at_exit())
        self._open.add(response)

    def discard(self, response: ServerSentEvents) -> None:
        self._open.discard(response)
        if not self._open and self._watch:
            self._watch.cancel()

    async def _break_off_at_exit(self) -> None:
        await EventSourceResponse._listen_for_exit_signal()
        for response in [*self._open]:
            response.break_off()


OPEN = OpenResponses()
