"""Writes a run's chunks to its log, small deltas merged.

What is merged is merged here, before the log, so every reader sees the same.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import suppress

from turnstream.server.storage.interfaces import LeaseLost
from turnstream.server.storage.run_logs import RunLog
from turnstream.server.turns.chunks import (
    Chunk,
    PartStart,
    Path,
    Substep,
    TextDelta,
    ToolCallPart,
)

MERGE_SECONDS = 0.01
"""Deltas of one part that come closer than this become one chunk."""
SUBSTEP_MERGE_SECONDS = 0.03
"""The same of a subagent: several may speak at once, and clients show them inside of a call."""
MAX_MERGE_SECONDS, LONG_ARGUMENTS = 0.1, 8192
"""For the arguments of a tool call the time grows with their length, up to this at so many
characters: a client parses all of the arguments again at each delta."""

Watch = Callable[[Sequence[Chunk]], None]
Place = tuple[str, Path, str | None]
"""A step, its part, and the call of a substep."""


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
        self._held: dict[Place, list[str]] = {}
        """The texts of deltas."""
        self._arguments: dict[Place, int] = {}
        """Characters of arguments so far, by the place of the tool call."""
        self._released_at = -math.inf
        self._due = math.inf
        """When the deltas that are held are written at the latest."""
        self._flushes: set[asyncio.Task[None]] = set()
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
                    self._note_call(chunk)
                    ready += self._release()
                    ready.append(chunk)
            if self._held:
                due = self._released_at + min(map(self._merge_seconds, self._held))
                if due <= _now():
                    ready += self._release_deltas()
                elif due < self._due:
                    self._flush_at(due)
            if ready:
                await self._append(ready)

    def _note_call(self, chunk: Chunk) -> None:
        call_id = None
        if isinstance(chunk, Substep):
            call_id, chunk = chunk.tool_call_id, chunk.chunk
        if isinstance(chunk, PartStart) and isinstance(chunk.part, ToolCallPart):
            self._arguments[chunk.step_id, chunk.path, call_id] = 0

    def _hold(self, delta: TextDelta, call_id: str | None = None) -> None:
        place = delta.step_id, delta.path, call_id
        self._held.setdefault(place, []).append(delta.text)
        if place in self._arguments:
            self._arguments[place] += len(delta.text)

    def _merge_seconds(self, place: Place) -> float:
        length = self._arguments.get(place, 0)
        growing = MAX_MERGE_SECONDS * length / LONG_ARGUMENTS
        _, _, call_id = place
        least = MERGE_SECONDS if call_id is None else SUBSTEP_MERGE_SECONDS
        return min(max(least, growing), MAX_MERGE_SECONDS)

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

    def _flush_at(self, due: float) -> None:
        self._due = due
        task = asyncio.create_task(self._flush_when(due))
        self._flushes.add(task)
        task.add_done_callback(self._flushes.discard)

    async def _flush_when(self, due: float) -> None:
        await asyncio.sleep(due - _now())
        async with self._turn:
            if self._due != due:  # What was held then is written, or is written sooner.
                return
            with suppress(LeaseLost):  # The next write says so to the run.
                await self._append(self._release_deltas())

    def _release_deltas(self) -> list[Chunk]:
        self._released_at = _now()
        return self._release()

    def _release(self) -> list[Chunk]:
        released: list[Chunk] = []
        for (step_id, path, call_id), texts in self._held.items():
            delta = TextDelta(step_id, path, "".join(texts))
            released.append(delta if call_id is None else Substep(call_id, delta))
        self._held.clear()
        self._due = math.inf
        return released


def _now() -> float:
    return asyncio.get_running_loop().time()
