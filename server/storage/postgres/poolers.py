"""Finds a pooler in transaction mode between a worker and Postgres.

Such a pooler hands the server's session to another client after each transaction. A worker needs
one of its own: for limits on its waits, prepared statements, pipelines and advisory locks.
"""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import psycopg

from server.storage.interfaces import StorageError
from server.storage.location import PostgresUrl

Connect = Callable[[], psycopg.Connection[Any]]


def check_sessions(url: PostgresUrl, connect: Connect) -> None:
    """Raises StorageError if sessions of the server are shared, and psycopg.Error."""
    with closing(connect()) as one:
        first = _session(one)
        one.commit()
        # A pooler makes up the id that it gives a client.
        if first != one.info.backend_pid and _is_shared(one, first, connect):
            raise StorageError(
                f"{url} is behind a pooler in transaction mode, which gives a session of Postgres "
                "to others after each transaction. Connect to Postgres directly, or set the pool "
                "to session mode (pool_mode = session in PgBouncer)."
            )


def _is_shared(one: psycopg.Connection[Any], first: int, connect: Connect) -> bool:
    """Return True if another client gets the session of `one` between its transactions, or if
    `one` gets another session for its next."""
    with closing(connect()) as other:
        held = _session(other)  # Its transaction stays open.
        return held == first or _session(one) != first


def _session(connection: psycopg.Connection[Any]) -> int:
    """The id of the server's process, in a transaction that is left open."""
    row = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    assert row is not None, "a SELECT without a table has one row"
    return int(row[0])
