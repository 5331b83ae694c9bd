"""Statements of extensions, executed in the transactions of the store."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Executable, text
from sqlalchemy.exc import DBAPIError, InternalError, OperationalError

from turnstream.server.storage.also import Also
from turnstream.server.storage.faults import fault

logger = logging.getLogger(__name__)


Statement = Executable | tuple[Executable, Any]
"""Alone, or with its parameters."""


def tolerated(source: str, statements: Sequence[Statement]) -> Also:
    """Return what executes the statements of an extension, all or none. A mistake in one of them is
    logged, and does not undo the transaction; a fault of the database does."""
    return [partial(_execute, source, statements)] if statements else ()


def required(statements: Sequence[Statement]) -> Also:
    """Return what executes the statements of an extension. A mistake in one of them undoes the
    transaction."""
    return [partial(_execute_all, statements)] if statements else ()


def _execute_all(statements: Sequence[Statement], connection: Connection) -> None:
    for statement in statements:
        connection.execute(*(statement if isinstance(statement, tuple) else (statement,)))


def _execute(source: str, statements: Sequence[Statement], connection: Connection) -> None:
    try:
        with connection.begin_nested():
            _execute_all(statements, connection)
            if connection.dialect.name == "postgresql":
                # Otherwise a deferred constraint would undo the whole transaction at its end.
                connection.execute(text("SET CONSTRAINTS ALL IMMEDIATE"))
    except Exception as error:
        if _is_fault(error):
            raise
        named = {"source": source, "error": error}
        logger.error("%(source)s: its writes are left out: %(error)s", named)


def _is_fault(error: Exception) -> bool:
    """Check for a fault of the database; anything else is a mistake of the extension."""
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated or fault(error) is not None:
        return True
    if hasattr(error.orig, "sqlite_errorcode") or not isinstance(
        error, OperationalError | InternalError
    ):
        return False
    # In Postgres class 54 is a value beyond its limits.
    return not str(getattr(error.orig, "sqlstate", None) or "").startswith("54")
