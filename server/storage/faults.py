"""Errors of SQLite, as the faults that the rest of the server knows."""

import math
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from turnstream.server.storage.interfaces import StorageFault, StorageUnavailable

STEP_MS = 50

_CODES: dict[int, StorageFault] = {
    sqlite3.SQLITE_BUSY: "storage_busy",
    sqlite3.SQLITE_LOCKED: "storage_busy",
    sqlite3.SQLITE_FULL: "storage_full",
    sqlite3.SQLITE_IOERR: "storage_failed",
    sqlite3.SQLITE_READONLY: "storage_failed",
    sqlite3.SQLITE_CANTOPEN: "storage_failed",
    sqlite3.SQLITE_CORRUPT: "storage_failed",
    sqlite3.SQLITE_NOTADB: "storage_failed",
}
"""Faults by SQLite's primary result code. Other codes are mistakes of the caller."""


def fault(error: BaseException) -> StorageFault | None:
    """The fault of the database that an exception stands for. None: it stands for another error."""
    if isinstance(error, DBAPIError):
        return fault(error.orig) if error.orig else None
    extended = getattr(error, "sqlite_errorcode", None)
    return None if extended is None else _CODES.get(extended & 0xFF)


@contextmanager
def faults_named() -> Iterator[None]:
    """Raise StorageUnavailable in place of what the driver raises for a fault of the database."""
    try:
        yield
    except (sqlite3.Error, DBAPIError) as error:
        code = fault(error)
        if code is None:
            raise
        cause = error.orig if isinstance(error, DBAPIError) else error
        state = getattr(cause, "sqlite_errorname", None)
        raise StorageUnavailable(code, cause, store="sqlite", state=state) from error


class LockTimeout:
    """The time for which the statements of a connection wait for locks."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._steps = 0

    def wait_until(self, deadline: float) -> None:
        """Let the next statements wait as long as is left until a time of `time.monotonic`, rounded
        up to 50 ms: most transactions need no statement for it. Raises StorageUnavailable if
        nothing is left."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise StorageUnavailable("storage_busy", store="sqlite")
        steps = math.ceil(left * 1000 / STEP_MS)
        if steps != self._steps:
            self._connection.execute(f"PRAGMA busy_timeout = {steps * STEP_MS}")
            self._steps = steps
