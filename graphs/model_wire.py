"""The bytes of a model's server, bounded and checked before any client library reads them.

No answer is unpacked, no redirect followed, no event read to its end that is too large, and the
JSON of an event has the shape that the libraries take for granted. What fails is a ModelFault.
Who reads chunks gets them as they were checked; who reads bytes gets events again.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from ssl import SSLContext

import httpx2
import openai

from turnstream.graphs.answer_bounds import PLAIN, max_answer_bytes, max_event_bytes, refusal
from turnstream.graphs.chunk_folding import Folded
from turnstream.graphs.chunk_shape import Chunk, ModelFault, SurrogatePairs, read_chunk
from turnstream.tools import strict_json
from turnstream.tools.json_size import has_more_values

SLICE_BYTES = 8192
MAX_EVENT_VALUES = 10_000
"""Values of the JSON in an event: each costs more than its bytes."""
DRAIN_SECONDS = 0.1
"""Seconds that an answer's end is waited for behind `[DONE]`: its connection then serves another.
"""


@dataclass(frozen=True, slots=True)
class ModelClients:
    sync: httpx2.Client
    asynchronous: httpx2.AsyncClient


def model_clients(max_message_bytes: int) -> ModelClients:
    """HTTP clients for a model's server; the longest message may come in one event."""

    def bound(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = BoundedStream(response.stream, Body(response, max_message_bytes))

    async def bound_async(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = AsyncBoundedStream(response.stream, Body(response, max_message_bytes))

    return ModelClients(
        openai.DefaultHttpxClient(
            verify=_tls(),
            follow_redirects=False,
            headers=PLAIN,
            event_hooks={"response": [bound]},
        ),
        openai.DefaultAsyncHttpxClient(
            verify=_tls(),
            follow_redirects=False,
            headers=PLAIN,
            event_hooks={"response": [bound_async]},
        ),
    )


@cache
def _tls() -> SSLContext:
    """One for all: reading the certificates takes 40 ms."""
    return httpx2.create_ssl_context()


class Body:
    """The rules of one answer's body; `take` raises ModelFault for bytes that break them."""

    def __init__(self, response: httpx2.Response, max_message_bytes: int) -> None:
        status = response.status_code
        self._refused = refusal(status, response.headers)
        self._events = Events(max_event_bytes(max_message_bytes)) if status == 200 else None
        self._left = max_answer_bytes(status, max_message_bytes)

    @property
    def is_done(self) -> bool:
        return self._events is not None and self._events.is_done

    def take(self, data: bytes) -> Sequence[Folded | bytes]:
        """Take data. Returns what is to be passed on by now."""
        if self._refused:
            raise ModelFault(self._refused)
        self._left -= len(data)
        if self._left < 0:
            raise ModelFault("the model's server sent an answer that does not end")
        return self._events.feed(data) if self._events else [data]

    def end(self) -> Sequence[Folded | bytes]:
        """Return the event that the end of the body ends. Raises ModelFault."""
        return self._events.end() if self._events else []

    def rest(self) -> bytes:
        return self._events.rest() if self._events else b""


class Events:
    """Reads a body as server-sent events, as it comes, and passes on those that are whole.

    Anything else is one large event. Behind `[DONE]` nothing is read.
    """

    def __init__(self, max_event_bytes: int) -> None:
        self._max = max_event_bytes
        self._event = bytearray()
        self._line = 0
        """The place in the event where its last line begins."""
        self._data: list[bytes] = []
        self._after_return = False
        self._pairs = SurrogatePairs()
        self.is_done = False

    def feed(self, data: bytes) -> list[Folded | bytes]:
        """Raises ModelFault for an event that is too large, or is no chunk of a completion."""
        if self.is_done:
            return []
        if self._after_return and data.startswith(b"\n"):
            data = data[1:]
        self._after_return = data.endswith(b"\r")
        events: list[Folded | bytes] = []
        for line in data[self._whole_events(data, events) :].splitlines(keepends=True):
            self._event += line
            if line.endswith((b"\n", b"\r")) and self._line_ends() and not self.is_done:
                self._event_ends(events)
        if len(self._event) > self._max:
            raise ModelFault(f"the model's server sent an event of over {self._max} bytes")
        return events

    def end(self) -> list[Folded | bytes]:
        """Return an event that lacks nothing but its blank line; one that is cut off stays where it
        is. Raises ModelFault."""
        events: list[Folded | bytes] = []
        lines = bytes(self._event[self._line :])
        last = lines[5:].removeprefix(b" ") if lines.startswith(b"data:") else b""
        data = b"\n".join([*self._data, *([last] if last else [])])
        if data.startswith(b"[DONE]") or (data and _is_json(data)):
            self._data = [data]
            self._event_ends(events)
        return events

    def rest(self) -> bytes:
        """Return the beginning of an event whose end has not come."""
        return bytes(self._event)

    def _whole_events(self, data: bytes, events: list[Folded | bytes]) -> int:
        """Take the events that data begins with, as far as each is one line that is written as most
        servers write it. Returns where they end: the rest is read line by line."""
        start = 0
        while not self._event and data.startswith(b"data: {", start):
            end = data.find(b"\n", start)
            if end < 0 or data[end + 1 : end + 2] != b"\n" or data.find(b"\r", start, end) >= 0:
                break
            self._add_chunk(data[start + 6 : end], events)
            start = end + 2
        return start

    def _line_ends(self) -> bool:
        """Take the line that has ended; say whether it ends its event. Comments are dropped."""
        line = bytes(self._event[self._line :]).rstrip(b"\r\n")
        if line.startswith(b":"):
            del self._event[self._line :]
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        self._line = len(self._event)
        return not line

    def _event_ends(self, events: list[Folded | bytes]) -> None:
        raw, data = bytes(self._event), b"\n".join(self._data)
        self._event.clear()
        self._data.clear()
        self._line = 0
        if data.startswith(b"[DONE]"):
            self.is_done = True
            events.append(raw)
        elif data:
            self._add_chunk(data, events)

    def _add_chunk(self, data: bytes, events: list[Folded | bytes]) -> None:
        chunk = _read(data)
        if self._pairs.held or b"\\u" in data:
            self._pairs.join(chunk)
        last = events[-1] if events else None
        if not (isinstance(last, Folded) and last.takes(chunk)):
            events.append(Folded(chunk))


def _is_json(data: bytes) -> bool:
    try:
        strict_json.read(data)
    except ValueError:
        return False
    return True


def _read(data: bytes) -> Chunk:
    if has_more_values(data, MAX_EVENT_VALUES):
        raise ModelFault(f"the model's server sent an event of over {MAX_EVENT_VALUES} values")
    try:
        value = strict_json.read(data)
    except ValueError as error:
        raise ModelFault("the model's server sent an event that is not JSON") from error
    return read_chunk(value)


def as_bytes(events: Sequence[Folded | bytes]) -> bytes:
    return b"".join(e.event() if isinstance(e, Folded) else e for e in events)


@dataclass(slots=True)
class BoundedStream(httpx2.SyncByteStream):
    stream: httpx2.SyncByteStream
    body: Body

    def __iter__(self) -> Iterator[bytes]:
        for data in self.stream:
            yield as_bytes(self.body.take(data))
        yield as_bytes(self.body.end())
        yield self.body.rest()

    def close(self) -> None:
        self.stream.close()


@dataclass(slots=True)
class AsyncBoundedStream(httpx2.AsyncByteStream):
    """It comes in slices: between two of them others have their turn."""

    stream: httpx2.AsyncByteStream
    body: Body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in _sliced(aiter(self.stream)):
            yield as_bytes(self.body.take(data))
        yield as_bytes(self.body.end())
        yield self.body.rest()

    async def chunks(self) -> AsyncIterator[Chunk]:
        """The chunks of a completion, as few as came together."""
        pieces = aiter(self.stream)
        async for data in _sliced(pieces):
            for event in self.body.take(data):
                if isinstance(event, Folded):
                    yield event.chunk()
            if self.body.is_done:
                break
        for event in self.body.end():
            if isinstance(event, Folded):
                yield event.chunk()
        await self._drain(pieces)

    async def _drain(self, pieces: AsyncIterator[bytes]) -> None:
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                async for data in pieces:
                    self.body.take(data)
        except (TimeoutError, httpx2.RequestError, ModelFault):
            pass  # What was said is said; the connection is closed.

    async def aclose(self) -> None:
        await self.stream.aclose()


async def _sliced(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for data in pieces:
        for start in range(0, len(data), SLICE_BYTES):
            if start:
                await asyncio.sleep(0)
            yield data[start : start + SLICE_BYTES]
