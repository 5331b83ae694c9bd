"""Writes a run's chunks to its log, small deltas merged.

What is merged is merged here, before the log, so every reader sees the same.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from turnstream.server.storage.interfaces import LeaseLost
from turnstream.server.storage.run_logs import RunLog
from turnstream.server.turns.chunks import Chunk, Path, Substep, TextDelta

MERGE_SECONDS = 0.01
"""Deltas of one part that come closer than this become one chunk."""

Watch = Callable[[Sequence[Chunk]], None]


class LogWriter:
    """A delta is written at once if the log was quiet, else it waits for the deltas right behind
    it; no other chunk overtakes it. `watch` sees the chunks as they come, `feed` once they are in
    the log. Without `has_substeps` subagents are watched, and the log has nothing of them."""

    def __init__(
        self, log: RunLog, watch: Watch | None = None, *, has_substeps: bool = True
    ) -> None:
        self._log = log
        self._has_substeps = has_substeps
        self._watch = watch
        self.feed: Watch | None = None
        self._waiting: list[Chunk] = []
        """Chunks that wait for their turn. If their write is cancelled, the next one writes them.
        """
        self._held: dict[tuple[str, Path, str | None], list[str]] = {}
        """The texts of deltas, by their step, their part and the call of a substep."""
        self._quiet_at = 0.0
        self._flushing: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    async def write(self, chunks: Sequence[Chunk]) -> None:
        if self._watch:
            self._watch(chunks)
        if not self._has_substeps:
            chunks = [chunk for chunk in chunks if not isinstance(chunk, Substep)]
        self._waiting += chunks
        async with self._turn:
            taken, self._waiting = self._waiting, []
            ready: list[Chunk] = []
            for chunk in taken:
                if isinstance(chunk, TextDelta):
                    self._hold(chunk)
                elif isinstance(chunk, Substep) and isinstance(chunk.chunk, TextDelta):
                    self._hold(chunk.chunk, chunk.tool_call_id)
                else:
                    ready += self._release()
                    ready.append(chunk)
            if self._held and self._flushing is None:
                wait = self._quiet_at - asyncio.get_running_loop().time()
                if wait <= 0:
                    ready += self._release_deltas()
                else:
                    self._flushing = asyncio.create_task(self._flush_after(wait))
            if ready:
                await self._append(ready)

    def _hold(self, delta: TextDelta, call_id: str | None = None) -> None:
        place = delta.step_id, delta.path, call_id
        self._held.setdefault(place, []).append(delta.text)

    async def flush(self) -> None:
        """Write all that waits."""
        await self.write([])
        async with self._turn:
            if self._held:
                await self._append(self._release_deltas())

    async def _append(self, chunks: Sequence[Chunk]) -> None:
        try:
            await self._log.append(chunks)
        except asyncio.CancelledError:
            self._feed(chunks)  # A shared log has them all the same.
            raise
        self._feed(chunks)

    def _feed(self, chunks: Sequence[Chunk]) -> None:
        if self.feed:
            self.feed(chunks)

    async def _flush_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        async with self._turn:
            self._flushing = None
            if self._held:
                with suppress(LeaseLost):  # The next write says so to the run.
                    await self._append(self._release_deltas())

    def _release_deltas(self) -> list[Chunk]:
        self._quiet_at = asyncio.get_running_loop().time() + MERGE_SECONDS
        return self._release()

    def _release(self) -> list[Chunk]:
        released: list[Chunk] = []
        for (step_id, path, call_id), texts in self._held.items():
            delta = TextDelta(step_id, path, "".join(texts))
            released.append(delta if call_id is None else Substep(call_id, delta))
        self._held.clear()
        return released
