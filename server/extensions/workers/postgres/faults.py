"""Errors of Postgres, its driver and the pool, as the faults that the rest of the server knows."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from turnstream.server.storage.interfaces import StorageFault, StorageUnavailable

REPEATABLE = ("40001", "40P01")
"""Serialization failure and deadlock: the transaction was undone, and may be done again."""
_FAULTS: dict[str, StorageFault] = {
    "25006": "storage_failed",  # read only, as a standby is
    "25P03": "storage_busy",  # idle in a transaction for too long
    "40": "storage_busy",
    "42501": "storage_failed",  # no permission
    "42P05": "storage_failed",  # a prepared statement of another client of a pooler
    "53100": "storage_full",
    "53": "storage_busy",  # too many connections, out of memory
    "55P03": "storage_busy",  # a lock
    "57014": "storage_busy",  # statement_timeout
    "57": "storage_unreachable",  # it shuts down, starts, or has cut the connection
    "08": "storage_unreachable",
    "26000": "storage_failed",  # an unknown prepared statement: a pooler between transactions
    "28": "storage_unreachable",  # who we are is not believed
    "3D000": "storage_unreachable",  # there is no such database
    "58": "storage_failed",
    "XX": "storage_failed",
}
"""Faults by SQLSTATE, or by its class. Other errors are mistakes of the caller."""


def driver_error(error: BaseException) -> psycopg.Error | None:
    if isinstance(error, DBAPIError):
        error = error.orig or error
    return error if isinstance(error, psycopg.Error) else None


def is_cut(error: BaseException) -> bool:
    """Check that the connection is gone: it was cut, or the server went down."""
    cause = driver_error(error)
    if cause is None:
        return False
    state = cause.sqlstate
    if state is None:
        return isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError)
    return state.startswith(("08", "57P")) or state == "25P03"


def is_repeatable(error: BaseException) -> bool:
    cause = driver_error(error)
    return cause is not None and cause.sqlstate in REPEATABLE


def fault(error: BaseException) -> StorageFault | None:
    """The fault of the database that an exception stands for. None: it stands for another error."""
    if isinstance(error, PoolTimeout):
        return "storage_busy"
    cause = driver_error(error)
    if cause is None:
        return None
    if cause.sqlstate is None:
        return "storage_unreachable" if is_cut(cause) else None
    return _FAULTS.get(cause.sqlstate) or _FAULTS.get(cause.sqlstate[:2])


@contextmanager
def faults_named() -> Iterator[None]:
    """Raise StorageUnavailable in place of what the driver raises for a fault of the database."""
    try:
        yield
    except (psycopg.Error, DBAPIError, PoolTimeout) as error:
        code = fault(error)
        if code is None:
            raise
        cause = driver_error(error)
        raise StorageUnavailable(
            code,
            _on_one_line(cause or error),
            store="postgres",
            state=cause.sqlstate if cause else None,
        ) from error


def _on_one_line(error: BaseException) -> str:
    """Return Postgres' sentence without the place in a statement. libpq names hosts, and no
    password."""
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        return error.diag.message_primary
    return " ".join(str(error).split())
