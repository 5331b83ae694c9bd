"""Forgetting threads for good."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from weakref import WeakValueDictionary

from server.runs.claims import new_run_id
from server.runs.retries import Retries
from server.runs.run_audit import RunAudit
from server.runs.served_graphs import ServedGraphs
from server.storage.audit_records import Records
from server.storage.interfaces import Granted, Held, LeaseLost, ThreadStore
from server.storage.run_logs import RunLogs
from server.turns.header import ThreadKey


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What a deletion does once it has claimed its thread. One that was broken off can be done
    again."""

    graphs: ServedGraphs
    store: ThreadStore
    logs: RunLogs
    retries: Retries

    async def forget(self, key: ThreadKey, deletion_id: str, records: Records) -> None:
        """Raises StorageUnavailable; LeaseLost if another worker does it instead."""
        try:
            await self.logs.discard_thread(key)
            await self.graphs.checkpoints(None).delete(key)
            await self.store.delete(key, records)
        finally:
            with suppress(LeaseLost):
                await self.retries.write(partial(self.store.release, key, deletion_id))


class Deletions:
    """`end_run` stops the run of a thread, and returns when the thread is free; with None it waits
    for a deletion of another worker."""

    def __init__(
        self,
        store: ThreadStore,
        audit: RunAudit,
        forgetting: Forgetting,
        end_run: Callable[[ThreadKey, str | None], Awaitable[None]],
    ) -> None:
        self._store = store
        self._audit = audit
        self._forgetting = forgetting
        self._end_run = end_run
        self._live: WeakValueDictionary[ThreadKey, asyncio.Lock] = WeakValueDictionary()

    async def delete(self, key: ThreadKey) -> None:
        """Forget a thread: its live run is stopped first, and none can begin."""
        # One after the other: a deletion that is late would take what was begun after an early one.
        async with self._live.setdefault(key, asyncio.Lock()):
            await self._delete(key)

    async def _delete(self, key: ThreadKey) -> None:
        deletion_id = f"deletion-{new_run_id()}"
        while isinstance(held := await self._store.claim_for_deletion(key, deletion_id), Held):
            await self._end_run(key, held.run_id)
        try:
            await self._forgetting.forget(key, deletion_id, self._audit.deleted(key))
        except LeaseLost:  # Another worker deletes it.
            await self._end_run(key, None)

    async def delete_idle(self, key: ThreadKey, since: float) -> bool:
        """Forget a thread without activity since a Unix time. False: it has some by now."""
        async with self._live.setdefault(key, asyncio.Lock()):
            deletion_id = f"deletion-{new_run_id()}"
            claimed = await self._store.claim_idle(key, deletion_id, since, time.time())
            if not isinstance(claimed, Granted):
                return False
            with suppress(LeaseLost):  # Another worker completes it.
                await self._forgetting.forget(key, deletion_id, self._audit.expired(key))
            return True
