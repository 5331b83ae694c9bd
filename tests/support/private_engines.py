"""A Postgres and a Redis of their own for what breaks or measures them."""

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import TupleRow

from tests.support.redis_server import RedisServer
from tests.support.serving import PROJECT

START_SECONDS = 60

APPLICATION = "turnstream "
"""What stands ahead of a worker's id in the name of its connections."""
OURS = f"application_name LIKE '{APPLICATION}%'"


class PrivateEngines:
    """What the workers share."""

    def __init__(self, postgres_url: str, redis: RedisServer) -> None:
        self.postgres_url = postgres_url
        self.redis = redis
        self._redis_is_there = asyncio.Lock()
        self._postgres_is_there = asyncio.Lock()
        """Held while nobody may be on a connection of their own."""

    @property
    def settings(self) -> dict[str, str]:
        return {"DATABASE": self.postgres_url, "REDIS": self.redis.url}

    async def restart_redis(self, gone_seconds: float) -> None:
        """With nothing in it, after a while."""
        async with self._redis_is_there:
            await asyncio.to_thread(self.redis.stop)
            await asyncio.sleep(gone_seconds)
            await asyncio.to_thread(self.redis.start)

    async def flush_redis(self) -> None:
        def flush() -> None:
            with self.redis.client() as client:
                client.flushall()

        async with self._redis_is_there:
            await asyncio.to_thread(flush)

    async def take_postgres_away(self, seconds: float) -> None:
        """Let nobody in for a while, and end all connections."""
        async with self._postgres_is_there, await self._beside() as beside:
            name = self.postgres_url.rpartition("/")[2]
            await beside.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
            try:
                others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
                await beside.execute(others, [name])
                await asyncio.sleep(seconds)
            finally:
                await beside.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())

    async def _beside(self) -> psycopg.AsyncConnection[TupleRow]:
        """A connection to another database of the server."""
        server = self.postgres_url.rpartition("/")[0]
        return await psycopg.AsyncConnection.connect(f"{server}/template1", autocommit=True)

    async def lock(self, table: str, seconds: float) -> None:
        """Others can read the table, and not write it."""
        async with (
            self._postgres_is_there,
            await psycopg.AsyncConnection.connect(self.postgres_url) as other,
        ):
            await other.execute(f"LOCK TABLE {table} IN SHARE MODE".encode())
            await asyncio.sleep(seconds)

    async def fill_disk(self, table: str, seconds: float) -> None:
        """No row can be added to the table: Postgres says what it says of a full disk."""
        async with self._postgres_is_there:
            await self._run(
                "CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = 'no room'; END $$",
                f"CREATE TRIGGER full_disk BEFORE INSERT ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION full_disk()",
            )
            try:
                await asyncio.sleep(seconds)
            finally:
                await self._run(f"DROP TRIGGER full_disk ON {table}")

    async def _run(self, *statements: str) -> None:
        async with await psycopg.AsyncConnection.connect(
            self.postgres_url, autocommit=True
        ) as connection:
            for statement in statements:
                await connection.execute(statement.encode())

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
        async with (
            self._postgres_is_there,
            await psycopg.AsyncConnection.connect(self.postgres_url, autocommit=True) as connection,
        ):
            cursor = await connection.execute(statement, values or None)
            return await cursor.fetchall() if cursor.description else []


@asynccontextmanager
async def private_engines(folder: Path, *settings: str) -> AsyncIterator[PrivateEngines]:
    """Gone afterwards. `settings` are further ones of Postgres, `name=value`."""
    (folder / "redis").mkdir(exist_ok=True)
    redis = RedisServer(folder / "redis")
    with _postgres(settings) as url:
        redis.start()
        try:
            yield PrivateEngines(url, redis)
        finally:
            redis.stop()


@contextmanager
def _postgres(settings: Sequence[str]) -> Iterator[str]:
    """Ends with this process, too, however that ends: `cat` reads from it."""
    folder = Path(tempfile.mkdtemp(prefix="turnstream-postgres-"))
    folder.chmod(0o711)  # the server has another user
    owner = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    module = "tests.support.postgres_server"
    command = [sys.executable, "-m", module, str(folder), str(owner.pid), *settings]
    server = subprocess.Popen(command, cwd=PROJECT)
    try:
        yield _url(folder / "url", server)
    finally:
        owner.communicate()
        server.wait(START_SECONDS)


def _url(file: Path, server: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + START_SECONDS
    while not file.exists():
        assert server.poll() is None, "the private Postgres does not start"
        assert time.monotonic() < deadline, "the private Postgres does not answer"
        time.sleep(0.05)
    return file.read_text()
