"""Records of the audit trail, as a test compares them."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from turnstream.server.extensions.audit import AuditExtension, records
from turnstream.server.extensions.audit.records import AuditFilter
from turnstream.server.storage.sql_store import SqlTransactions
from turnstream.server.turns.audit_records import AuditRecord

CALL = ("name", "disposition", "outcome")


def of(records: Iterable[AuditRecord], event: str, *fields: str) -> list[tuple[object, ...]]:
    """These fields of the records of an event."""
    return [
        tuple(getattr(record, field) for field in fields)
        for record in records
        if record.event == event
    ]


async def recorded(database: SqlTransactions, **filter: Any) -> list[AuditRecord]:
    """The records in a database, the oldest first."""
    page = await database.read(records.page, AuditFilter(**filter), 0, 10_000)
    return [record for _, record in page]


def recording(days: int = 90) -> AuditExtension:
    """The extension of a server that knows its callers."""
    settings: Any = SimpleNamespace(audit_days=days, authenticates=True)
    return AuditExtension(settings)


def events(records: Iterable[AuditRecord]) -> list[str]:
    return [record.event for record in records]


def dump(database: Path, *, without: tuple[str, ...] = ()) -> str:
    """All that the tables of a database hold, blobs with the bytes that are no text escaped."""
    with closing(sqlite3.connect(database)) as connection:
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        rows = [
            cell.decode("utf-8", "backslashreplace") if isinstance(cell, bytes) else str(cell)
            for name in names
            if name not in without
            for row in connection.execute(f'SELECT * FROM "{name}"')
            for cell in row
        ]
    return "\n".join(rows)


def audit_dump(database: Path) -> str:
    with closing(sqlite3.connect(database)) as connection:
        return "\n".join(map(repr, connection.execute("SELECT * FROM audit")))
