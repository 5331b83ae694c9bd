"""Records that wait to be written, and old ones that are deleted.

A deed with a transaction of its own is recorded in that transaction. All others are `note`d here,
and written together a moment later; those of a run no later than its end, unless the database has
just refused them.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from turnstream.server.extensions.audit import records
from turnstream.server.extensions.audit.refusals import Refusals
from turnstream.server.extensions.base import Database
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.turns.audit_records import AuditRecord

FLUSH_SECONDS = 0.5
"""Seconds that a record waits for others; a process that is killed loses so much."""
RETRY_SECONDS = 1.0
MAX_WAITING = 10_000
"""Records that wait while the database cannot be written; beyond that the oldest are lost."""
DAY_SECONDS = 24 * 3600
CHECK_SECONDS = float(DAY_SECONDS)
"""Between two deletions of old records."""
EXPIRE_AT_ONCE = 1000
"""Records that one transaction deletes: others are not to wait for long."""

logger = logging.getLogger(__name__)


class Trail:
    """Open with `open_trail`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[AuditRecord] = []
        self._writing = asyncio.Lock()
        self._flushing: asyncio.Task[None] | None = None
        self._refusals = Refusals(self.note)

    def note(self, *noted: AuditRecord) -> None:
        """Write the records soon."""
        self._waiting += noted
        lost = len(self._waiting) - MAX_WAITING
        if lost > 0:
            del self._waiting[:lost]
            logger.error("%(lost)s audit records are lost: too many wait", {"lost": lost})
        if self._flushing is None and self._waiting:
            self._flushing = asyncio.create_task(self._flush_soon())

    def note_refusal(self, refusal: AuditRecord) -> None:
        """Write it soon, unless there are too many."""
        self._refusals.add(refusal)

    def take(self, run_ids: Collection[str | None]) -> list[AuditRecord]:
        """Return the records of runs that still wait, for the transaction of the runs' end."""
        taken = [record for record in self._waiting if record.run_id in run_ids]
        self._waiting = [record for record in self._waiting if record.run_id not in run_ids]
        return taken

    async def flush(self) -> None:
        """Write what waits. Raises StorageUnavailable."""
        async with self._writing:
            waiting, self._waiting = self._waiting, []
            try:
                if waiting:
                    await self._database.write(records.append, waiting)
            except BaseException:
                self._waiting = waiting + self._waiting
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
async def open_trail(database: Database, days: int) -> AsyncIterator[Trail]:
    """Records older than so many days are deleted, now and once a day."""
    await expire(database, days)
    trail = Trail(database)
    expiring = asyncio.create_task(_expire_daily(database, days))
    try:
        yield trail
    finally:
        expiring.cancel()
        await trail.close()


async def expire(database: Database, days: int) -> None:
    """Delete the records that are older than so many days; 0: all. Raises StorageUnavailable."""
    before = time.time() - days * DAY_SECONDS if days else float("inf")
    # Most of the time there are none: then nothing waits for a lock.
    if not await database.read(records.has_any, before):
        return
    while await database.write(records.expire, before, EXPIRE_AT_ONCE) == EXPIRE_AT_ONCE:
        pass


async def _expire_daily(database: Database, days: int) -> None:
    while True:
        await asyncio.sleep(CHECK_SECONDS)
        try:
            await expire(database, days)
        except StorageUnavailable as error:
            logger.warning("old audit records stay another day: %(error)s", {"error": error})
