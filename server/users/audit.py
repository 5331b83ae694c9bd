"""The audit trail as it is written: who did what, and when.

What has a transaction of its own is recorded in that, by what `joining` returns: a run's beginning
and end, a deletion, a login. All else is `note`d, and written together a moment
later; what is recorded of a run is written before its end, or with it.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from turnstream.server.storage.also import Also
from turnstream.server.storage.audit_records import AuditRecord, AuditStore
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.users.refusals import Refusals

FLUSH_SECONDS = 0.5
"""How long a record waits for others; a process that is killed loses so much."""
RETRY_SECONDS = 1.0
MAX_WAITING = 10_000
"""Records that wait while the database cannot be written; beyond that the oldest are lost."""
DAY_SECONDS = 24 * 3600
CHECK_SECONDS = float(DAY_SECONDS)
"""Between two deletions of old records."""
EXPIRE_AT_ONCE = 1000
"""Records that one transaction deletes: others are not to wait for long."""

logger = logging.getLogger(__name__)


class Audit:
    """Open with `open_audit`."""

    def __init__(self, store: AuditStore) -> None:
        self._store = store
        self._waiting: list[AuditRecord] = []
        self._writing = asyncio.Lock()
        self._flushing: asyncio.Task[None] | None = None
        self._refusals = Refusals(self.note)

    def note(self, *records: AuditRecord) -> None:
        """Write the records soon."""
        self._waiting += records
        lost = len(self._waiting) - MAX_WAITING
        if lost > 0:
            del self._waiting[:lost]
            logger.error("%(lost)s audit records are lost: too many wait", {"lost": lost})
        if self._flushing is None and self._waiting:
            self._flushing = asyncio.create_task(self._flush_soon())

    def joining(self, *records: AuditRecord) -> Also:
        """Return what writes the records in a transaction of the store."""
        return self._store.joining(records)

    async def record(self, *records: AuditRecord) -> None:
        """Write the records now. Raises StorageUnavailable."""
        await self._store.append(records)

    def note_refusal(self, refusal: AuditRecord) -> None:
        """Write it soon, unless there are too many."""
        self._refusals.add(refusal)

    async def take(self, run_id: str) -> list[AuditRecord]:
        """The run's records that are not written yet, for whoever writes its end."""
        async with self._writing:
            taken = [record for record in self._waiting if record.run_id == run_id]
            self._waiting = [record for record in self._waiting if record.run_id != run_id]
            return taken

    async def flush(self) -> None:
        """Write what waits. Raises StorageUnavailable."""
        async with self._writing:
            records, self._waiting = self._waiting, []
            try:
                if records:
                    await self._store.append(records)
            except BaseException:
                self._waiting = records + self._waiting
                raise

    async def close(self) -> None:
        """Write what waits, if it can be written."""
        self._refusals.end_window()
        async with self._writing:  # not in the middle of a write
            if self._flushing:
                self._flushing.cancel()
        try:
            await self.flush()
        except StorageUnavailable as error:
            named = {"lost": len(self._waiting), "error": error}
            logger.error("%(lost)s audit records are lost: %(error)s", named)

    async def _flush_soon(self) -> None:
        wait, failing = FLUSH_SECONDS, False
        while self._waiting:
            await asyncio.sleep(wait)
            try:
                await self.flush()
            except StorageUnavailable as error:
                if not failing:
                    named = {"error": error}
                    logger.warning("the audit waits, and is tried again: %(error)s", named)
                wait, failing = RETRY_SECONDS, True
        self._flushing = None


@asynccontextmanager
async def open_audit(store: AuditStore, days: int) -> AsyncIterator[Audit]:
    """Records older than so many days are deleted, now and once a day."""
    await expire(store, days)
    audit = Audit(store)
    expiring = asyncio.create_task(_expire_daily(store, days))
    try:
        yield audit
    finally:
        expiring.cancel()
        await audit.close()


async def expire(store: AuditStore, days: int) -> None:
    """Delete the records that are older than so many days; 0: all. Raises StorageUnavailable."""
    before = time.time() - days * DAY_SECONDS if days else float("inf")
    while await store.expire(before, EXPIRE_AT_ONCE) == EXPIRE_AT_ONCE:
        pass


async def _expire_daily(store: AuditStore, days: int) -> None:
    while True:
        await asyncio.sleep(CHECK_SECONDS)
        try:
            await expire(store, days)
        except StorageUnavailable as error:
            logger.warning("old audit records stay another day: %(error)s", {"error": error})
