"""Statements of extensions, executed in the transactions of the store."""

import logging
from collections.abc import Sequence
from functools import partial

from sqlalchemy import Connection, Executable
from sqlalchemy.exc import DBAPIError, OperationalError, StatementError

from turnstream.server.storage.also import Also
from turnstream.server.storage.faults import fault

logger = logging.getLogger(__name__)


def tolerated(source: str, statements: Sequence[Executable]) -> Also:
    """Return what executes the statements of an extension, all or none. A mistake in one of them is
    logged, and does not undo the transaction; a fault of the database does."""
    return [partial(_execute, source, statements)] if statements else ()


def _execute(source: str, statements: Sequence[Executable], connection: Connection) -> None:
    try:
        with connection.begin_nested():
            for statement in statements:
                connection.execute(statement)
    except StatementError as error:
        if not _is_mistake(error):
            raise
        named = {"source": source, "error": error}
        logger.error("%(source)s: its writes are left out: %(error)s", named)


def _is_mistake(error: StatementError) -> bool:
    if not isinstance(error, OperationalError):
        return not isinstance(error, DBAPIError) or not error.connection_invalidated
    # SQLite has one class for a missing table and for a full disk.
    return hasattr(error.orig, "sqlite_errorcode") and fault(error) is None
