"""The bounds of what a model's server answers, whatever its wire format.

No answer is unpacked, no redirect followed, no line read to its end that is too long. What breaks a
bound is a ModelFault.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

from turnstream.graphs.chunk_shape import ModelFault

PLAIN = {"Accept-Encoding": "identity"}
MAX_ERROR_BYTES = 1_000_000
"""Bytes of an answer that is not a 200."""
ESCAPED = 6
"""Bytes of JSON that one byte of text can take: `\\u0000`."""
ENVELOPE_BYTES = 64_000
"""Bytes that an event may have beside its text."""
SENT_FOR_SAID = 128
"""Bytes of an answer for each byte that its message may have: an event of 300 bytes often carries
one word, and reasoning is sent that nobody reads."""

_opened: ContextVar[list[Any] | None] = ContextVar("_opened", default=None)


def refusal(status: int, headers: Mapping[str, str]) -> str | None:
    """Why the body of an answer is not read at all."""
    encoding = headers.get("content-encoding", "identity")
    if encoding != "identity":
        return f"the model's server packed its answer ({encoding[:40]!r}) though asked not to"
    if status == 200 and "text/html" in headers.get("content-type", ""):
        return "the model's server answered with a page"
    return None


def max_event_bytes(max_message_bytes: int) -> int:
    """The longest message may come in one event."""
    return ESCAPED * max_message_bytes + ENVELOPE_BYTES


def max_answer_bytes(status: int, max_message_bytes: int) -> int:
    return SENT_FOR_SAID * max_message_bytes if status == 200 else MAX_ERROR_BYTES


class Bounds:
    """The room that one answer has left; `check` raises ModelFault for bytes beyond it."""

    def __init__(self, status: int, max_message_bytes: int) -> None:
        self._left = max_answer_bytes(status, max_message_bytes)
        self._max_line = max_event_bytes(max_message_bytes)
        self._line = 0

    def check(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            raise ModelFault("the model's server sent an answer that does not end")
        longest = 0
        for number, piece in enumerate(data.split(b"\n")):
            self._line = len(piece) + (0 if number else self._line)
            longest = max(longest, self._line)
        if longest > self._max_line:
            raise ModelFault(f"the model's server sent a line of over {self._max_line} bytes")


def bounding_hook(stream_type: type, max_message_bytes: int) -> Callable[[Any], Any]:
    """A `response` hook for an async client of httpx or httpx2, whose `AsyncByteStream` is
    `stream_type`."""

    class BoundedBody(stream_type):  # type: ignore[misc]
        def __init__(self, response: Any) -> None:
            self._stream = response.stream
            self._bounds = Bounds(response.status_code, max_message_bytes)
            self._refused = refusal(response.status_code, response.headers)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            if self._refused:
                raise ModelFault(self._refused)
            async for data in self._stream:
                self._bounds.check(data)
                yield data

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def bound(response: Any) -> None:
        response.stream = BoundedBody(response)
        opened = _opened.get()
        if opened is not None:
            opened.append(response)

    return bound


@asynccontextmanager
async def answers_closed() -> AsyncIterator[None]:
    """Close the answers that are opened within: the libraries leave that to the garbage collector
    where nobody reads them to their end."""
    opened: list[Any] = []
    # Not reset: a generator may be closed in another context than it was begun in.
    _opened.set(opened)
    try:
        yield
    finally:
        for response in opened:
            await response.aclose()
