"""The time for which statements of SQLite wait for locks."""

import sqlite3
import time
from contextlib import closing

import pytest

from turnstream.server.storage.faults import LockTimeout
from turnstream.server.storage.interfaces import StorageUnavailable


def test_statements_wait_as_long_as_is_left_and_none_begins_when_nothing_is() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        timeout = LockTimeout(connection)
        waits: list[int] = []
        statements: list[str] = []
        connection.set_trace_callback(statements.append)
        for seconds in (5.0, 4.999, 1.0, 4.998):
            timeout.wait_until(time.monotonic() + seconds)
            if statements:
                waits.append(*connection.execute("PRAGMA busy_timeout").fetchone())
                statements.clear()
        with pytest.raises(StorageUnavailable):
            timeout.wait_until(time.monotonic())
    assert waits == [5_000, 1_000, 5_000]
