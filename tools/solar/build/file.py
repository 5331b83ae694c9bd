"""The SQLite file, the same bytes from the same rows.

Rows go in by rising key in one transaction, into pages of one size; `VACUUM` packs them. SQLite
then notes its own version and a count of changes in the header (bytes 24, 92 and 96): these are
set to constants, as nothing reads them in a file that is never written again.
"""

import hashlib
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from turnstream.tools.solar.schema import EPOCH_SLOT, ROLLUP, SLOT_SECONDS, SLOTS_PER_KEY, TABLES

_PAGE_BYTES = 4096
_HEADER = ((24, 1), (92, 1), (96, 3_040_000))  # offset, big-endian 32-bit value

Rows = Iterable[tuple[Any, ...]]


def slots(index: pd.DatetimeIndex) -> list[int]:
    """Slot numbers of slot starts in UTC."""
    seconds = (index - pd.Timestamp(0, tz="UTC")) // pd.Timedelta(seconds=1)
    return [int(one) // SLOT_SECONDS - EPOCH_SLOT for one in seconds]


def keyed(owner: int, frame: pd.DataFrame) -> Rows:
    """(key, columns as integers...) of a frame indexed by slot starts."""
    numbers = slots(pd.DatetimeIndex(frame.index))
    columns = [frame[name].astype(int).tolist() for name in frame.columns]
    return zip((owner * SLOTS_PER_KEY + slot for slot in numbers), *columns, strict=True)


def write(path: Path, tables: dict[str, list[tuple[Any, ...]]]) -> None:
    """Make the file anew. `tables`: rows by table; the rollup is computed here."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        connection.execute("PRAGMA journal_mode = OFF")
        connection.executescript(TABLES)
        connection.execute("BEGIN")
        for name, rows in tables.items():
            ordered = sorted(rows, key=lambda row: row[:2])
            marks = ", ".join("?" * len(ordered[0]))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", ordered)
        connection.execute(ROLLUP)
        connection.execute("COMMIT")
        connection.execute("VACUUM")
    _fix_header(path)


def _fix_header(path: Path) -> None:
    with path.open("r+b") as file:
        for offset, value in _HEADER:
            file.seek(offset)
            file.write(value.to_bytes(4, "big"))


def content_hash(path: Path) -> str:
    """SHA-256 over every row of every table, whatever the pages look like."""
    digest = hashlib.sha256()
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        names = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
            )
        ]
        for name in names:
            digest.update(f"{name}\n".encode())
            for row in connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2"):
                digest.update(f"{row!r}\n".encode())
    return digest.hexdigest()
