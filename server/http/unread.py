"""Large responses, sent in pieces: what waits for its reader is counted, and has its limit.

A response is otherwise written at once, and all that its reader has not taken lies in the
connection's buffer.
"""

from collections.abc import Awaitable, Iterable, Iterator
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnstream.server.http.authenticated import PRINCIPAL
from turnstream.server.http.byte_budget import ByteBudget, callers_budget
from turnstream.server.http.guard import SAFE_METHODS
from turnstream.server.http.problems import Problem
from turnstream.server.http.readers import SendClock

PIECE_BYTES = 128_000
"""A reader takes a piece in `readers.SEND_TIMEOUT_SECONDS`, or is cut off. A shorter response is
sent at once, and not counted."""


def unread_budget(max_bytes: int, *, knows_callers: bool) -> ByteBudget:
    """The room of responses that wait for their readers."""
    return callers_budget("MAX_RESPONSES_BYTES", max_bytes, are_known=knows_callers)


def counted(data: bytes) -> int:
    return len(data) if len(data) > PIECE_BYTES else 0


def joined(events: Iterable[bytes]) -> Iterator[bytes]:
    """Small events together, and a large one as it is, which its readers share."""
    group, size = list[bytes](), 0
    for event in events:
        if group and size + len(event) > PIECE_BYTES:
            yield b"".join(group)
            group, size = [], 0
        group.append(event)
        size += len(event)
    if size:
        yield b"".join(group)


def in_pieces(data: bytes) -> Iterator[bytes]:
    if len(data) <= PIECE_BYTES:
        yield data
        return
    for start in range(0, len(data), PIECE_BYTES):
        yield data[start : start + PIECE_BYTES]


@dataclass(frozen=True, slots=True)
class LargeResponses:
    """ASGI middleware: a large response whose size is known is sent in pieces. While there is no
    room for it, a request that only reads gets a 503; any other request has been carried out, and
    gets its response. Event streams count themselves."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            send = _Sending(scope, receive, send).send
        await self.app(scope, receive, send)


class _Sending:
    """One response, which begins when its body is there."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._start: Message | None = None

    def send(self, message: Message) -> Awaitable[None]:
        # No coroutine of its own: it is called for every chunk of a stream.
        if message["type"] == "http.response.start" and _is_large(message):
            return self._hold_back(message)
        if self._start is None:
            return self._send(message)
        if message["type"] == "http.response.body":
            return self._begin(self._start, message)
        return self._pass_on(self._start, message)

    async def _hold_back(self, start: Message) -> None:
        self._start = start

    async def _pass_on(self, start: Message, message: Message) -> None:
        self._start = None
        await self._send(start)
        await self._send(message)

    async def _begin(self, start: Message, body: Message) -> None:
        if body.get("more_body"):  # A file: it comes in pieces by itself.
            await self._pass_on(start, body)
            return
        self._start = None
        budget: ByteBudget = self._scope["state"]["unread"]
        data, caller = body.get("body", b""), self._scope.get(PRINCIPAL)
        # Without a caller it is a file of the page, which all readers share.
        size, holder = (counted(data), caller.id) if caller else (0, "")
        try:
            with budget.holding(size, holder, is_refusable=_only_reads(self._scope)):
                await self._send_all(start, data)
        except Problem as no_room:
            await no_room.response()(self._scope, self._receive, self._send)

    async def _send_all(self, start: Message, body: bytes) -> None:
        clock = SendClock(self._scope, self._send)
        try:
            await clock.send(start)
            for piece in in_pieces(body):
                more = {"type": "http.response.body", "body": piece, "more_body": True}
                await clock.send(more)
            await clock.send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            clock.stop()


def _only_reads(scope: Scope) -> bool:
    """Return False for a request that may have changed something. An endpoint whose POST changes
    nothing has `post_only_reads = True`."""
    is_marked = getattr(scope.get("endpoint"), "post_only_reads", False)
    return scope["method"] in SAFE_METHODS or (scope["method"] == "POST" and is_marked)


def _is_large(start: Message) -> bool:
    length = Headers(raw=start["headers"]).get("content-length")
    return length is not None and int(length) > PIECE_BYTES
