"""Runs as event streams: a run's chunks are encoded once for all readers of the same protocol."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

from sse_starlette import EventSourceResponse
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from server.connections import TRANSPORT
from server.cursors import LOST
from server.protocols import WIRE_FORMATS
from server.protocols.chunks import Chunk, Done, Error
from server.protocols.frames import DONE, frame
from server.protocols.opening import Encoder, Opening
from server.protocols.requests import ProtocolName
from server.runs.run import Run

HEADERS = {"Cache-Control": "no-cache, no-transform"}
SEND_TIMEOUT_SECONDS = 30
"""A reader that takes nothing for so long is dropped; it can come back with its cursor."""

CURSOR_LOST = (
    "The stream cannot go on from here: its run is no longer held. Load the thread with "
    "GET /threads/{thread_id}, then attach to its live run, if there is one."
)

Variant = tuple[ProtocolName, bool]
"""A protocol, and whether `update-state` goes beside its parts."""


class Encoding:
    """The events of one run in one protocol, as bytes.

    It does not hold the run: the table of encodings forgets a run when nobody else holds it.
    """

    def __init__(self, run: Run, encoder: Encoder) -> None:
        self._run_id = run.id
        self._log = run.log
        self._encoder = encoder
        self._frames: list[bytes] = []

    def beyond(self, n: int) -> tuple[bytes, int]:
        """The events after the n-th chunk as one piece, and the number of the last."""
        chunks = self._log.chunks
        for number in range(len(self._frames), len(chunks)):
            payloads = self._encoder.encode(chunks[number])
            self._frames.append(frame(payloads, f"{self._run_id}:{number + 1}"))
        return b"".join(self._frames[n:]), len(self._frames)


class Streams:
    def __init__(self, ping_seconds: float) -> None:
        self._ping_seconds = ping_seconds
        self._encodings: WeakKeyDictionary[Run, dict[Variant, Encoding]] = WeakKeyDictionary()

    def response(
        self,
        run: Run,
        protocol: ProtocolName,
        opening: Callable[[ProtocolName], Opening],
        *,
        headers: Mapping[str, str],
        after: int = 0,
    ) -> Response:
        """Stream what follows the n-th event of a run; 0 begins with what goes ahead of it."""
        return self._send(self._events(run, protocol, opening(protocol), after), protocol, headers)

    def nothing(self, protocol: ProtocolName, ahead: Sequence[str] = ()) -> Response:
        """A stream that ends as it begins, for clients that take no 204; `ahead` goes first."""
        return self._send(_once(frame([*ahead, DONE], None)), protocol)

    def cursor_lost(self, protocol: ProtocolName) -> Response:
        """Tell a reader that it cannot go on from where it was, under an id that ends its tries."""
        encoder = WIRE_FORMATS[protocol].encoder(Opening("", "", ()))
        chunks: tuple[Chunk, ...] = (Error("cursor_lost", CURSOR_LOST, None), Done())
        events = b"".join(frame(encoder.encode(chunk), LOST) for chunk in chunks)
        return self._send(_once(events), protocol)

    def _send(
        self,
        events: AsyncIterator[bytes],
        protocol: ProtocolName,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        return EventStream(
            events,
            headers={**HEADERS, **WIRE_FORMATS[protocol].headers, **(headers or {})},
            ping=self._ping_seconds,
        )

    async def _events(
        self, run: Run, protocol: ProtocolName, opening: Opening, after: int
    ) -> AsyncIterator[bytes]:
        encoding = self._encoding(run, protocol, opening)
        ahead = b"" if after else frame(WIRE_FORMATS[protocol].encoder(opening).prologue(), None)
        with run.reader():
            while True:
                data, after = encoding.beyond(after)
                if ahead or data:
                    yield ahead + data
                    ahead = b""
                if run.log.closed and after == len(run.log.chunks):
                    return
                await run.log.beyond(after)

    def _encoding(self, run: Run, protocol: ProtocolName, opening: Opening) -> Encoding:
        known = self._encodings.setdefault(run, {})
        variant = (protocol, opening.with_state)
        if variant not in known:
            shared = replace(opening, posted_state=None, replay=False)
            known[variant] = Encoding(run, WIRE_FORMATS[protocol].encoder(shared))
        return known[variant]


class ReaderTooSlow(Exception):
    """A reader has taken nothing for too long."""


class EventStream(EventSourceResponse):
    """A reader that takes nothing for too long is cut off; that is no error of the server's.

    EventSourceResponse has a timeout too, but not for the last send, and it leaves the connection
    open with all that the reader has not taken.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
