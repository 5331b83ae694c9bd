"""Logs whose runs are lost, or are over without having said so: ended by another worker."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from turnstream.graphs.classify import Classifier
from turnstream.server.runs.lost_chunks import last_chunks, told_so_far
from turnstream.server.runs.recovery import Recovered
from turnstream.server.runs.served_graphs import ServedGraphs
from turnstream.server.storage.interfaces import LeaseLost, StorageUnavailable, ThreadStore
from turnstream.server.storage.run_logs import RunLog, SharedLogs
from turnstream.server.turns.chunks import Chunk
from turnstream.server.turns.header import RunHeader

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ending:
    """The chunks that are left to say in a log that this worker has taken over."""

    log: RunLog
    chunks: Sequence[Chunk]


class LostLogs:
    def __init__(
        self,
        store: ThreadStore,
        graphs: ServedGraphs,
        logs: SharedLogs,
        classifier: Classifier,
        retention_seconds: float,
    ) -> None:
        self._store = store
        self._graphs = graphs
        self._logs = logs
        self._classifier = classifier
        self._retention_seconds = retention_seconds

    async def ending(self, run_id: str, found: Recovered) -> Ending | None:
        """Take a log over, whose run is the last of its thread. None: nobody can read it."""
        try:
            log = await self._logs.take_over(run_id)
        except StorageUnavailable as error:
            logger.warning("the log of run %(run)s is not ended: %(error)s", _named(run_id, error))
            return None
        status = await log.status() if log else None
        if log is None or status is None or status.state == "lost" or status.last < 0:
            return None
        header = await log.header()
        if header is None or status.state == "ended":
            return Ending(log, ()) if header else None
        checkpoints, told = self._graphs.checkpoints(header.graph), await told_so_far(log)
        last = await last_chunks(
            header, told, found.state, found.end, checkpoints, self._classifier
        )
        return Ending(log, last)

    async def say(self, run_id: str, ending: Ending | None) -> None:
        """The thread is saved and free: its readers hear, and the log is kept for its time."""
        if ending is None:
            await self.discard(run_id)
            return
        with suppress(LeaseLost):  # Another worker says the same.
            if ending.chunks:
                await ending.log.append(ending.chunks)
        await self._logs.keep(run_id, self._retention_seconds)

    async def hand_over(self, run_id: str) -> None:
        """Leave a log that has been taken over to whoever has its run by now."""
        await self._logs.hand_over(run_id)

    async def discard(self, run_id: str) -> None:
        """Readers come to the end of what is there; those that come back are told `cursor_lost`."""
        with suppress(StorageUnavailable):
            # The log of another worker is not discarded: its readers everywhere would wait on.
            await self._logs.take_over(run_id)
            await self._logs.discard(run_id)

    async def end(self, header: RunHeader) -> None:
        """End the log of a run that the store knows to be over: its worker died before it said so.
        One whose thread has gone on since is dropped."""
        key, run_id = header.key, header.run_id
        entry = await self._store.get(key)
        state = await self._graphs.checkpoints(header.graph).load(key)
        again = await self._store.get(key)
        if entry is None or entry != again or entry.run_id != run_id or entry.run_state == "live":
            await self.discard(run_id)
        else:
            found = Recovered(entry.run_state, state)
            await self.say(run_id, await self.ending(run_id, found))


def _named(run_id: str, error: Exception) -> dict[str, object]:
    return {"run": run_id, "error": error}
