"""Threads that were used long ago, as far as their database knows."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path


def age(database: Path, days: float, *threads: str) -> None:
    """Move the last activity of threads back."""
    when = datetime.now(UTC) - timedelta(days=days)
    rows = [(when.isoformat(timespec="milliseconds"), thread) for thread in threads]
    with closing(sqlite3.connect(database)) as connection:
        connection.executemany("UPDATE threads SET updated_at = ? WHERE id = ?", rows)
        connection.commit()
