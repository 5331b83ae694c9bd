"""The readers of a run at all workers: each worker notes how many it has."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from redis.exceptions import ResponseError

from turnstream.server.extensions.workers.redis.connection import Commands, Unanswered
from turnstream.server.extensions.workers.redis.scripts import COUNT_READERS, NOTE_READERS, Keys

NOTED_SECONDS = 15
"""Seconds that a worker's note holds; it is renewed long before that."""
ASK_SECONDS = 1.0


class Read(Protocol):
    run_id: str
    writes: bool


class Presence:
    def __init__(self, worker: str, keys: Keys, commands: Commands) -> None:
        self._worker = worker
        self._keys = keys
        self._commands = commands
        self._readers: Counter[str] = Counter()

    @contextmanager
    def reading(self, log: Read) -> Iterator[None]:
        """Count a reader. Those of the worker that writes the log are nobody else's to know."""
        if log.writes:
            yield
            return
        self._readers[log.run_id] += 1
        if self._readers[log.run_id] == 1:
            self._note(log.run_id)
        try:
            yield
        finally:
            self._readers[log.run_id] -= 1
            if not self._readers[log.run_id]:
                self._note(log.run_id)
                del self._readers[log.run_id]

    def renew(self) -> None:
        for run_id in self._readers:
            self._note(run_id)

    async def elsewhere(self, run_id: str) -> tuple[int, float | None]:
        """Return the number of readers at other workers, and for how many seconds there has been
        none. None: there was no reader yet, or Redis cannot say."""
        keys = [self._keys.readers(run_id)]
        try:
            count, idle_ms = await self._commands.run_script(
                COUNT_READERS, keys, self._worker, patience=ASK_SECONDS
            )
        except (Unanswered, ResponseError):
            return 0, None
        return count, None if idle_ms < 0 else idle_ms / 1000

    def _note(self, run_id: str) -> None:
        keys = [self._keys.readers(run_id), self._keys.state(run_id)]
        noted = (self._worker, self._readers[run_id], NOTED_SECONDS * 1000)
        self._commands.run_script(NOTE_READERS, keys, *noted, patience=ASK_SECONDS)
