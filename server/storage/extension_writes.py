"""Statements of extensions, executed in the transactions of the store."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Executable
from sqlalchemy.exc import DBAPIError

from turnstream.server.storage.also import Also
from turnstream.server.storage.engine_statements import Spoiled, statements_of

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
    engine = statements_of(connection)
    try:
        with engine.apart(connection):
            _execute_all(statements, connection)
    except Spoiled:
        raise
    except Exception as error:
        if isinstance(error, DBAPIError) and engine.is_fault(error):
            raise
        named = {"source": source, "error": error}
        logger.error("%(source)s: its writes are left out: %(error)s", named)
