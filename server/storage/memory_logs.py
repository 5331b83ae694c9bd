"""Runs' logs in the memory of this process, within a budget of bytes."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from turnstream.server.storage.run_logs import Batch, LogStatus
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Aside,
    Chunk,
    Custom,
    Done,
    GraphState,
    Interrupt,
    PartMade,
    Result,
    Substep,
    TaskFinish,
    TextDelta,
    ToolProgress,
    ToolSettled,
)
from turnstream.server.turns.header import RunHeader, ThreadKey

CHUNK_BYTES, ITEM_BYTES = 200, 50
"""The memory that a chunk, and a value inside it, takes beside its text."""
DEFAULT_MAX_BYTES = 200_000_000


def size_of(chunk: Chunk) -> int:
    """About how many bytes a chunk takes in memory."""
    size = CHUNK_BYTES
    if isinstance(chunk, Substep):
        size, chunk = size + CHUNK_BYTES, chunk.chunk
    match chunk:
        case TextDelta() | Aside():
            return size + len(chunk.text)
        case PartMade():
            return size + len(chunk.part.url)
        case Result() | ToolSettled():
            return size + content_size(chunk.result)
        case ArgsFinish():
            return size + content_size(chunk.args)
        case ToolProgress():
            return size + content_size(chunk.data)
        case Custom() | Interrupt():
            return size + content_size(chunk.value)
        case GraphState():
            return size + content_size(chunk.values)
        case TaskFinish():
            return size + content_size(chunk.writes)
    return size


def content_size(value: Any) -> int:
    """About how many bytes a JSON value takes in memory, counted without recursion."""
    size, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        size += ITEM_BYTES
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, Mapping):
            waiting += item.keys()
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item
    return size


class MemoryLog:
    """A list that wakes its readers. Implements `RunLog`; nothing here ever waits for a disk."""

    def __init__(self, grown: Callable[[int], None] = lambda _size: None) -> None:
        self.size = 0
        """Bytes of its chunks, about."""
        self._on_growth = grown
        self._header: RunHeader | None = None
        self._chunks: list[Chunk] = []
        self._discarded = False
        self._readers = 0
        self._unread_since = asyncio.get_running_loop().time()
        self._grown = asyncio.Event()

    async def open(self, header: RunHeader) -> None:
        self.begin(header)

    async def append(self, chunks: Sequence[Chunk]) -> None:
        self.add(chunks)

    def begin(self, header: RunHeader) -> None:
        self._header = header
        self._wake_readers()

    def add(self, chunks: Sequence[Chunk]) -> None:
        self._chunks.extend(chunks)
        added = sum(map(size_of, chunks))
        self.size += added
        self._on_growth(added)
        self._wake_readers()

    async def header(self) -> RunHeader | None:
        while self._header is None and not self._discarded:
            await self._grown.wait()
        return None if self._discarded else self._header

    async def read(self, after: int) -> AsyncGenerator[Batch]:
        self._readers += 1
        try:
            while True:
                if after < len(self._chunks):
                    batch = list(enumerate(self._chunks[after:], start=after + 1))
                    after += len(batch)
                    yield batch
                elif self.is_over:
                    return
                else:
                    await self._grown.wait()
        finally:
            self._readers -= 1
            self._unread_since = asyncio.get_running_loop().time()

    async def status(self) -> LogStatus:
        idle = asyncio.get_running_loop().time() - self._unread_since
        return LogStatus(
            "lost" if self._discarded else "ended" if self._complete else "live",
            last=self.last,
            readers=self._readers,
            unread_seconds=0.0 if self._readers else idle,
        )

    async def ended(self) -> None:
        while not self.is_over:
            await self._grown.wait()

    async def reached(self, number: int) -> None:
        """Return when the chunk of this number is there, or no more can come; 0 is the header."""
        while not self.is_over and self.last < number:
            await self._grown.wait()

    def is_of(self, key: ThreadKey) -> bool:
        return self._header is not None and self._header.key == key

    def discard(self) -> None:
        self._discarded = True
        self._wake_readers()

    @property
    def is_lost(self) -> bool:
        return self._discarded

    @property
    def last(self) -> int:
        """The number of the newest chunk; 0 before the first, -1 before the header."""
        return -1 if self._header is None else len(self._chunks)

    @property
    def _complete(self) -> bool:
        return bool(self._chunks) and isinstance(self._chunks[-1], Done)

    @property
    def is_over(self) -> bool:
        """No more can come."""
        return self._discarded or self._complete

    def _wake_readers(self) -> None:
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()


class MemoryLogs:
    """Implements `RunLogs`. `max_bytes` is for all logs together: while they take more, the one
    that ended first is dropped. Live ones are never."""

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._logs: dict[str, MemoryLog] = {}
        self._ended: dict[str, None] = {}
        """The ids of the runs that have ended, the first one first."""
        self._max_bytes = max_bytes
        self._size = 0

    async def create(self, run_id: str) -> MemoryLog:
        log = self._logs[run_id] = MemoryLog(self._grow)
        return log

    async def get(self, run_id: str) -> MemoryLog | None:
        return self._logs.get(run_id)

    async def keep(self, run_id: str, seconds: float) -> None:
        self._ended[run_id] = None
        asyncio.get_running_loop().call_later(seconds, self._remove, run_id)

    async def discard(self, run_id: str) -> None:
        log = self._remove(run_id)
        if log:
            log.discard()

    async def discard_thread(self, key: ThreadKey) -> None:
        for run_id in [run_id for run_id, log in self._logs.items() if log.is_of(key)]:
            await self.discard(run_id)

    def _remove(self, run_id: str) -> MemoryLog | None:
        self._ended.pop(run_id, None)
        log = self._logs.pop(run_id, None)
        if log:
            self._size -= log.size
        return log

    def _grow(self, size: int) -> None:
        self._size += size
        while self._size > self._max_bytes and self._ended:
            oldest = self._remove(next(iter(self._ended)))
            if oldest:
                oldest.discard()
