"""The audit trail, in the store's database."""

from collections.abc import Sequence
from functools import partial

from turnstream.server.storage import audit_trail
from turnstream.server.storage.also import Also
from turnstream.server.storage.audit_records import AuditFilter, AuditRecord, Records
from turnstream.server.storage.sql_store import SqlTransactions


class SqlAuditStore:
    """Implements `AuditStore`, on the connections of the store of threads."""

    def __init__(self, store: SqlTransactions) -> None:
        self._read, self._write = store.read, store.write

    async def append(self, records: Records) -> None:
        await self._write(audit_trail.append, records)

    def joining(self, records: Records) -> Also:
        return [partial(audit_trail.append, records=records)]

    async def expire(self, before: float, limit: int) -> int:
        # Most of the time there are none: then nothing waits for a lock.
        if not await self._read(audit_trail.has_any, before):
            return 0
        return await self._write(audit_trail.expire, before, limit)

    async def page(
        self, filter: AuditFilter, after: int, limit: int
    ) -> Sequence[tuple[int, AuditRecord]]:
        return await self._read(audit_trail.page, filter, after, limit)
