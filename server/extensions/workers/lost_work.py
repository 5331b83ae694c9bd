"""The work that is left of a claim whose worker is gone, once this worker has taken it over."""

import logging
from contextlib import suppress
from functools import partial

from turnstream.server.extensions.workers.lost_logs import LostLogs
from turnstream.server.runs.deletions import Forgetting
from turnstream.server.runs.recovery import LostRuns
from turnstream.server.runs.retries import Retries
from turnstream.server.storage.interfaces import LeaseLost, LostRun, StorageError, ThreadStore

logger = logging.getLogger(__name__)


class LostWork:
    def __init__(
        self,
        store: ThreadStore,
        runs: LostRuns,
        logs: LostLogs,
        forgetting: Forgetting,
        retries: Retries,
    ) -> None:
        self._store = store
        self._runs = runs
        self._logs = logs
        self._forgetting = forgetting
        self._retries = retries

    async def settle(self, lost: LostRun) -> None:
        """End a run, or complete a deletion; if the database cannot do it now, without the caller.
        A claim that another worker takes over meanwhile is left to it."""
        with suppress(LeaseLost):
            await self._retries.write(partial(self._settle, lost))

    async def _settle(self, lost: LostRun) -> None:
        work = self._complete if lost.purpose == "deletion" else self._end
        try:
            await work(lost)
        except LeaseLost:
            # Readers here of a log that was taken over get what the other worker writes.
            await self._logs.hand_over(lost.run_id)
            logger.info("the claim of run %(run)s is another worker's", {"run": lost.run_id})
            raise

    async def _complete(self, lost: LostRun) -> None:
        also = self._forgetting.hooks.audit.deleted(lost.key)
        await self._forgetting.carry_out(lost.key, lost.run_id, also)

    async def _end(self, lost: LostRun) -> None:
        """The thread is saved and free, then readers hear, as of a run that is not lost."""
        entry = await self._store.get(lost.key)
        if entry is None or entry.run_id != lost.run_id:
            # Its request was still being checked. The log goes first: a request that was queued may
            # begin again at once, under the same id.
            await self._logs.discard(lost.run_id)
            await self._store.refuse_run(lost.key, lost.run_id)
            return
        base = await self._store.run_base(lost.key, lost.run_id)
        lost = LostRun(lost.key, lost.run_id, entry.graph, base=base)
        try:
            found = await self._runs.recover(lost)
            ending = await self._logs.ending(lost.run_id, found)
        except StorageError:
            raise
        except Exception:  # noqa: BLE001  it is logged
            await self._runs.give_up(lost)
            await self._logs.discard(lost.run_id)
            return
        await self._runs.end(lost, found)
        await self._logs.say(lost.run_id, None if found.is_empty else ending)
