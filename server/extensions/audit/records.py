"""Records of the audit trail in its table: functions of one transaction each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Insert, delete, insert, inspect, select

from turnstream.server.extensions.audit.tables import audit
from turnstream.server.turns.audit_records import AuditEvent, AuditRecord

AT_ONCE = 500
"""Records that one statement adds: a statement of SQLite has at most 32 766 values."""

_COLUMNS = [audit.c[name] for name in AuditRecord.__slots__]


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """None: any."""

    principal: str | None = None
    thread_id: str | None = None
    event: AuditEvent | None = None
    since: float | None = None
    """Unix time."""


def adding(records: Sequence[AuditRecord]) -> list[Insert]:
    """Return the statements that add the records, so many each."""
    rows = _rows(records)
    return [insert(audit).values(rows[n : n + AT_ONCE]) for n in range(0, len(rows), AT_ONCE)]


def append(connection: Connection, records: Sequence[AuditRecord]) -> None:
    if records:
        connection.execute(insert(audit), _rows(records))


def _rows(records: Sequence[AuditRecord]) -> list[dict[str, Any]]:
    return [{name: getattr(each, name) for name in each.__slots__} for each in records]


def has_table(connection: Connection) -> bool:
    """Return False for a database that no server has used since it can record."""
    return inspect(connection).has_table(audit.name)


def has_any(connection: Connection, before: float) -> bool:
    return connection.scalar(select(audit.c.number).where(audit.c.at < before).limit(1)) is not None


def expire(connection: Connection, before: float, limit: int) -> int:
    """Delete so many records of before a Unix time, at most; returns how many it were."""
    old = select(audit.c.number).where(audit.c.at < before).limit(limit)
    return connection.execute(delete(audit).where(audit.c.number.in_(old))).rowcount


def page(
    connection: Connection, filter: AuditFilter, after: int, limit: int
) -> Sequence[tuple[int, AuditRecord]]:
    """Return numbered records in the order in which they were written; `after` is the number of
    the last one of the page before, 0 for the first page."""
    query = select(audit.c.number, *_COLUMNS).where(audit.c.number > after)
    for column in (audit.c.principal, audit.c.thread_id, audit.c.event):
        value = getattr(filter, column.name)
        if value is not None:
            query = query.where(column == value)
    if filter.since is not None:
        query = query.where(audit.c.at >= filter.since)
    rows = connection.execute(query.order_by(audit.c.number).limit(limit))
    return [(number, AuditRecord(*values)) for number, *values in rows]
