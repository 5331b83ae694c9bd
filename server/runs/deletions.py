"""Forgetting threads for good."""

import asyncio
import time
from functools import partial
from weakref import WeakValueDictionary

from server.runs.claims import Claims, new_run_id
from server.runs.retries import Retries
from server.runs.run_audit import RunAudit
from server.runs.served_graphs import ServedGraphs
from server.runs.signals import STOPPED
from server.storage.audit_records import Records
from server.storage.interfaces import Granted, Held, ThreadStore
from server.storage.run_logs import RunLogs
from server.turns.header import ThreadKey


class Deletions:
    def __init__(
        self,
        graphs: ServedGraphs,
        store: ThreadStore,
        logs: RunLogs,
        claims: Claims,
        retries: Retries,
        audit: RunAudit,
    ) -> None:
        self._graphs = graphs
        self._store = store
        self._logs = logs
        self._claims = claims
        self._retries = retries
        self._audit = audit
        self._live: WeakValueDictionary[ThreadKey, asyncio.Lock] = WeakValueDictionary()

    async def delete(self, key: ThreadKey) -> None:
        """Forget a thread: its live run is stopped first, and none can begin."""
        # One after the other: a deletion that is late would take what was begun after an early one.
        async with self._live.setdefault(key, asyncio.Lock()):
            await self._delete(key)

    async def _delete(self, key: ThreadKey) -> None:
        deletion_id = f"deletion-{new_run_id()}"
        while isinstance(held := await self._store.claim_for_deletion(key, deletion_id), Held):
            if held.run_id:
                await self._claims.end(key, held.run_id, STOPPED)
        await self._forget(key, deletion_id, self._audit.deleted(key))

    async def delete_idle(self, key: ThreadKey, since: float) -> bool:
        """Forget a thread without activity since a Unix time. False: it has some by now."""
        async with self._live.setdefault(key, asyncio.Lock()):
            deletion_id = f"deletion-{new_run_id()}"
            claimed = await self._store.claim_idle(key, deletion_id, since, time.time())
            if isinstance(claimed, Granted):
                await self._forget(key, deletion_id, self._audit.expired(key))
            return isinstance(claimed, Granted)

    async def _forget(self, key: ThreadKey, deletion_id: str, records: Records) -> None:
        try:
            await self._logs.discard_thread(key)
            await self._graphs.checkpoints(None).delete(key)
            await self._store.delete(key, records)
        finally:
            await self._retries.write(partial(self._store.release, key, deletion_id))
