"""Several workers on one Postgres database, in one process; and how tests look into it."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

import psycopg
from langgraph.checkpoint.base import empty_checkpoint

from turnstream.server.extensions.workers.postgres.opened import PostgresStorage, open_postgres
from turnstream.server.storage.location import PostgresUrl
from turnstream.server.turns.header import ThreadKey


@asynccontextmanager
async def workers(
    url: PostgresUrl, count: int = 2, lease_seconds: float = 60, busy_seconds: float = 10
) -> AsyncIterator[Sequence[PostgresStorage]]:
    """None renews by itself before a test asks it to."""
    async with AsyncExitStack() as opened:
        yield [
            await opened.enter_async_context(open_postgres(url, busy_seconds, 5, lease_seconds))
            for _ in range(count)
        ]


def query(url: PostgresUrl, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """In a transaction of its own."""
    with psycopg.connect(url.secret, autocommit=True) as connection:
        rows = connection.execute(statement.encode(), values or None)
        return rows.fetchall() if rows.description else []


@contextmanager
def nobody_let_in(server: str, url: PostgresUrl) -> Iterator[None]:
    """The database is gone for everybody; `server` is the URL of another one beside it."""
    beside, name = PostgresUrl(server), url.secret.rpartition("/")[2]
    query(beside, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    query(beside, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", name)
    try:
        yield
    finally:
        query(beside, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


def let_lapse(url: PostgresUrl, run_id: str = "%") -> None:
    """The lease of a run's claim is over, or those of all."""
    over = "UPDATE claims SET lease_until = clock_timestamp() - interval '1 second'"
    query(url, f"{over} WHERE run_id LIKE %s", run_id)


def stop_noted(url: PostgresUrl, run_id: str) -> Any:
    [(stop,)] = query(url, "SELECT stop FROM claims WHERE run_id = %s", run_id)
    return stop and json.loads(stop)


async def put(worker: PostgresStorage, key: ThreadKey) -> str:
    """Save an empty checkpoint; its id."""
    checkpoint = empty_checkpoint()
    place: Any = {"configurable": {"thread_id": key.checkpoint_key, "checkpoint_ns": ""}}
    await worker.checkpointer.aput(place, checkpoint, {"source": "fork"}, {})
    return checkpoint["id"]


async def saved(worker: PostgresStorage, key: ThreadKey) -> list[str]:
    place: Any = {"configurable": {"thread_id": key.checkpoint_key}}
    return [one.checkpoint["id"] async for one in worker.checkpointer.alist(place)]
