"""Runs' logs in the memory of this process."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from server.storage.interfaces import Batch, LogStatus
from server.turns.chunks import Chunk, Done
from server.turns.header import RunHeader, ThreadKey


class MemoryLog:
    """A list that wakes its readers. Implements `RunLog`; nothing here ever waits for a disk."""

    def __init__(self) -> None:
        self._header: RunHeader | None = None
        self._chunks: list[Chunk] = []
        self._discarded = False
        self._readers = 0
        self._unread_since = asyncio.get_running_loop().time()
        self._grown = asyncio.Event()

    async def open(self, header: RunHeader) -> None:
        self._header = header
        self._wake_readers()

    async def append(self, chunks: Sequence[Chunk]) -> None:
        self._chunks.extend(chunks)
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
                elif self._over:
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
            last=-1 if self._header is None else len(self._chunks),
            readers=self._readers,
            unread_seconds=0.0 if self._readers else idle,
        )

    async def ended(self) -> None:
        while not self._over:
            await self._grown.wait()

    def is_of(self, key: ThreadKey) -> bool:
        return self._header is not None and self._header.key == key

    def discard(self) -> None:
        self._discarded = True
        self._wake_readers()

    @property
    def _complete(self) -> bool:
        return bool(self._chunks) and isinstance(self._chunks[-1], Done)

    @property
    def _over(self) -> bool:
        return self._discarded or self._complete

    def _wake_readers(self) -> None:
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()


class MemoryLogs:
    """Implements `RunLogs`."""

    def __init__(self) -> None:
        self._logs: dict[str, MemoryLog] = {}

    async def create(self, run_id: str) -> MemoryLog:
        log = self._logs[run_id] = MemoryLog()
        return log

    async def get(self, run_id: str) -> MemoryLog | None:
        return self._logs.get(run_id)

    async def keep(self, run_id: str, seconds: float) -> None:
        asyncio.get_running_loop().call_later(seconds, self._logs.pop, run_id, None)

    async def discard(self, run_id: str) -> None:
        log = self._logs.pop(run_id, None)
        if log:
            log.discard()

    async def discard_thread(self, key: ThreadKey) -> None:
        for run_id in [run_id for run_id, log in self._logs.items() if log.is_of(key)]:
            await self.discard(run_id)
