"""The audit trail's table: functions of one transaction each.

What changes something writes its record in the same transaction: both are there, or neither.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select

from turnstream.server.storage.audit_records import AuditFilter, AuditRecord, Records
from turnstream.server.storage.tables import audit

_COLUMNS = [audit.c[name] for name in AuditRecord.__slots__]


def append(connection: Connection, records: Records) -> None:
    if records:
        rows = [{name: getattr(each, name) for name in each.__slots__} for each in records]
        connection.execute(insert(audit), rows)


def has_any(connection: Connection, before: float) -> bool:
    return connection.scalar(select(audit.c.number).where(audit.c.at < before).limit(1)) is not None


def expire(connection: Connection, before: float, limit: int) -> int:
    old = select(audit.c.number).where(audit.c.at < before).limit(limit)
    return connection.execute(delete(audit).where(audit.c.number.in_(old))).rowcount


def page(
    connection: Connection, filter: AuditFilter, after: int, limit: int
) -> Sequence[tuple[int, AuditRecord]]:
    query = select(audit.c.number, *_COLUMNS).where(audit.c.number > after)
    for column in (audit.c.principal, audit.c.thread_id, audit.c.event):
        value = getattr(filter, column.name)
        if value is not None:
            query = query.where(column == value)
    if filter.since is not None:
        query = query.where(audit.c.at >= filter.since)
    rows = connection.execute(query.order_by(audit.c.number).limit(limit))
    return [(number, AuditRecord(*values)) for number, *values in rows]
