"""The maintenance visits: a table in a file of its own, since the fleet's file is never written.

The file is created on first use. Each call opens its own connection and holds the file's write lock
until it ends, so any number of threads and processes can use the file at once.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

FILE_VARIABLE, DEFAULT_FILE = "SOLAR_MAINTENANCE_DATABASE", "maintenance.db"
BUSY_SECONDS = 10
"""Seconds that a call waits for the calls of others."""
PLANNED, CANCELLED = "planned", "cancelled"

_TABLES = (
    """
    CREATE TABLE IF NOT EXISTS visit (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        logger_id INTEGER NOT NULL,
        day TEXT NOT NULL,         -- YYYY-MM-DD, local to the site
        work TEXT NOT NULL,
        note TEXT,
        created_at TEXT NOT NULL,  -- UTC
        state TEXT NOT NULL        -- planned, cancelled
    )
    """,
    """
    CREATE UNIQUE INDEX IF NOT EXISTS planned_once
    ON visit (logger_id, day, work) WHERE state = 'planned'
    """,
)
_COLUMNS = "number, logger_id, day, work, note, created_at, state"
_MATCHING = """
    FROM visit WHERE logger_id IN (SELECT value FROM json_each(?))
    AND day BETWEEN ? AND ? AND state IN (SELECT value FROM json_each(?))
"""


@dataclass(frozen=True, slots=True)
class Visit:
    """`day` is YYYY-MM-DD, `created_at` ISO 8601 in UTC, `state` planned or cancelled."""

    number: int
    logger_id: int
    day: str
    work: str
    note: str | None
    created_at: str
    state: str

    @property
    def visit_id(self) -> str:
        return f"M-{self.number}"


def visits_file() -> Path:
    return Path(os.environ.get(FILE_VARIABLE) or DEFAULT_FILE)


def add_visit(logger_id: int, day: date, work: str, note: str | None) -> tuple[Visit, bool]:
    """The planned visit, and whether this call added it: an equal one may be planned already.

    Raises sqlite3.Error, as all functions here do, when the file cannot be used.
    """
    with _locked() as visits:
        planned = _select(
            visits,
            "WHERE logger_id = ? AND day = ? AND work = ? AND state = 'planned'",
            (logger_id, str(day), work),
        )
        if planned:
            return planned[0], False
        now = datetime.now(UTC).isoformat(timespec="seconds")
        added = visits.execute(
            "INSERT INTO visit (logger_id, day, work, note, created_at, state)"
            " VALUES (?, ?, ?, ?, ?, 'planned')",
            (logger_id, str(day), work, note, now),
        )
        return _select(visits, "WHERE number = ?", (added.lastrowid,))[0], True


def cancel_visit(number: int) -> tuple[Visit | None, bool]:
    """The visit, or None if there is none; and whether this call cancelled it."""
    with _locked() as visits:
        changed = visits.execute(
            "UPDATE visit SET state = 'cancelled' WHERE number = ? AND state = 'planned'", (number,)
        )
        visit = next(iter(_select(visits, "WHERE number = ?", (number,))), None)
        return visit, changed.rowcount == 1


def find_visits(
    logger_ids: Sequence[int], start: date, end: date, states: Sequence[str], limit: int
) -> tuple[Sequence[Visit], int]:
    """The first `limit` visits by date, and how many match in all; `start` and `end` included."""
    matching = (json.dumps(logger_ids), str(start), str(end), json.dumps(states))
    with _locked() as visits:
        [[count]] = visits.execute(f"SELECT COUNT(*) {_MATCHING}", matching)
        rows = visits.execute(
            f"SELECT {_COLUMNS} {_MATCHING} ORDER BY day, number LIMIT ?", (*matching, limit)
        )
        return [Visit(*row) for row in rows], count


def _select(
    visits: sqlite3.Connection, where: str, parameters: Sequence[str | int | None]
) -> list[Visit]:
    rows = visits.execute(f"SELECT {_COLUMNS} FROM visit {where}", parameters)
    return [Visit(*row) for row in rows]


@contextmanager
def _locked() -> Iterator[sqlite3.Connection]:
    """One transaction, with no other at the same time; an exception undoes it."""
    path = visits_file()
    with suppress(OSError):  # It exists, or SQLite says why it cannot.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    connecting = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    with closing(connecting) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for statement in _TABLES:
            connection.execute(statement)
        yield connection
        connection.execute("COMMIT")
