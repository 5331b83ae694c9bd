"""The log of a run's chunks: written once, read by any number at their own pace."""

import asyncio
from collections.abc import Iterable

from server.protocols.chunks import Chunk, Done, Path, TextDelta

MERGE_SECONDS = 0.01
"""Deltas of one part that come closer than this become one chunk."""


class ChunkLog:
    """Chunks numbered from 1, `Done` the last.

    A delta is logged at once when the log was quiet, else it waits for the deltas right behind it;
    no other chunk overtakes it. What is merged is merged here, so every reader sees the same.
    """

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self._held: dict[Path, list[str]] = {}
        self._quiet_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._grown = asyncio.Event()

    @property
    def closed(self) -> bool:
        return bool(self.chunks) and isinstance(self.chunks[-1], Done)

    def extend(self, chunks: Iterable[Chunk]) -> None:
        grown = False
        for chunk in chunks:
            if isinstance(chunk, TextDelta):
                self._held.setdefault(chunk.path, []).append(chunk.text)
            else:
                self._release()
                self.chunks.append(chunk)
                grown = True
        if self._held and self._timer is None:
            loop = asyncio.get_running_loop()
            wait = self._quiet_at - loop.time()
            if wait <= 0:
                self._release()
                self._quiet_at = loop.time() + MERGE_SECONDS
                grown = True
            else:
                self._timer = loop.call_later(wait, self._ring)
        if grown:
            self._tell()

    def _ring(self) -> None:
        self._timer = None
        if self._held:
            self._release()
            self._quiet_at = asyncio.get_running_loop().time() + MERGE_SECONDS
            self._tell()

    def _release(self) -> None:
        for path, texts in self._held.items():
            self.chunks.append(TextDelta(path, "".join(texts)))
        self._held.clear()

    def _tell(self) -> None:
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()

    async def beyond(self, n: int) -> None:
        """Wait until the log holds more than n chunks, or is closed."""
        while len(self.chunks) <= n and not self.closed:
            await self._grown.wait()
