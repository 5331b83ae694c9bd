"""Finds a pooler in transaction mode between a worker and Postgres.

Such a pooler hands the server's session to another client after each transaction. A worker needs
one of its own: for limits on its waits, prepared statements, pipelines and advisory locks.
"""

import asyncio
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from typing import Any

import psycopg

from turnstream.server.storage.interfaces import StorageError
from turnstream.server.storage.location import PostgresUrl
from turnstream.tools.threads import in_thread

Connect = Callable[[], psycopg.Connection[Any]]
Session = tuple[int, str]
CHECK_SECONDS = 10.0


async def check_sessions(url: PostgresUrl, connect: Connect) -> None:
    """Raises StorageError if sessions of the server are shared, and psycopg.Error. Says nothing of
    a pool that has no session left for the check."""
    with suppress(TimeoutError):
        async with asyncio.timeout(CHECK_SECONDS):
            await in_thread(partial(_check, url, connect))


def _check(url: PostgresUrl, connect: Connect) -> None:
    with closing(connect()) as one:
        first = _session(one)
        one.commit()
        # A pooler makes up the id that it gives a client.
        if first[0] != one.info.backend_pid and _is_shared(one, first, connect):
            raise StorageError(
                f"{url} is behind a pooler in transaction mode, which gives a session of Postgres "
                "to others after each transaction. Connect to Postgres directly, or set the pool "
                "to session mode (pool_mode = session in PgBouncer)."
            )


def _is_shared(one: psycopg.Connection[Any], first: Session, connect: Connect) -> bool:
    """Return True if another client gets the session of `one` between its transactions, or if
    `one` gets another session for its next."""
    with closing(connect()) as other:
        held = _session(other)  # Its transaction stays open.
        return held == first or _session(one) != first


def _session(connection: psycopg.Connection[Any]) -> Session:
    """The id of the server's process, and when that server began, in a transaction that is left
    open: servers in containers have the same ids."""
    query = "SELECT pg_backend_pid(), pg_postmaster_start_time()::text"
    row = connection.execute(query, prepare=False).fetchone()
    assert row is not None, "a SELECT without a table has one row"
    return int(row[0]), str(row[1])
