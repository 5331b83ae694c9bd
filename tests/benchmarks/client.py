"""A client that costs little beside what it measures, and sees a turn as a browser does."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import urlsplit

SECONDS = 120

_numbers = count(1)
"""Hardly two threads begin with the same words: to tell their titles apart takes time."""


@dataclass(frozen=True)
class Turn:
    """Seconds since the request was sent."""

    headers: float
    first_word: float
    """The first text that follows the tool's result."""
    end: float
    bytes: int
    """Of the body."""
    events: int


@dataclass
class _FirstWord:
    """Finds the first text of the last step, in our stream and in the bare loop's."""

    is_seen: bool = False
    _has_result: bool = False
    _parts: list[str] = field(default_factory=list)

    def read(self, piece: bytes) -> None:
        for line in piece.split(b"\n"):
            if line.startswith(b"data: {"):
                self._event(json.loads(line[6:]))

    def _event(self, event: Mapping[str, object]) -> None:
        match event:
            case {"type": "result"}:
                self._has_result = True
            case {"type": "part-start", "part": {"type": str(kind)}}:
                self._parts.append(kind)
            case {"type": "text-delta", "path": [int(part)]}:
                self.is_seen |= self._has_result and self._parts[part] == "text"
            case {"text": str()}:  # the bare loop's: its first step has none
                self.is_seen = True


async def turn(url: str, headers: Mapping[str, str] | None = None) -> Turn:
    """One turn, on a thread and a connection of its own."""
    place = urlsplit(url)
    said = f"Use a tool, then tell me of number {next(_numbers)}."
    body = json.dumps({"message": said}).encode()
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    named = {
        "Host": place.netloc,
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
        **(headers or {}),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    start = time.perf_counter()
    writer.write(f"POST /chat HTTP/1.1\r\n{head}\r\n".encode() + body)
    try:
        async with asyncio.timeout(SECONDS):
            return await _read(reader, start)
    finally:
        writer.close()


async def _read(reader: asyncio.StreamReader, start: float) -> Turn:
    status = await reader.readuntil(b"\r\n\r\n")
    answered = time.perf_counter() - start
    if b" 200 " not in status.splitlines()[0]:
        raise RuntimeError(status.decode() + (await reader.read()).decode())
    first, word = 0.0, _FirstWord()
    size = events = 0
    while length := int(await reader.readline(), 16):
        piece = (await reader.readexactly(length + 2))[:-2]
        size += length
        events += piece.count(b"data: ")
        if not word.is_seen:
            word.read(piece)
            first = time.perf_counter() - start
    if not word.is_seen:
        raise RuntimeError("the turn has no words behind a tool's result")
    return Turn(answered, first, time.perf_counter() - start, size, events)
