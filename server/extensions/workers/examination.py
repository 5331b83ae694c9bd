"""Checks of `turnstream doctor` on a Postgres database and a Redis."""

import asyncio
from contextlib import closing

import psycopg
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from turnstream.server.extensions.workers.postgres.opened import migrate
from turnstream.server.extensions.workers.redis.scripts import PREFIX
from turnstream.server.storage.findings import Finding
from turnstream.server.storage.interfaces import StorageError
from turnstream.server.storage.location import PostgresUrl
from turnstream.tools.threads import in_thread

ANSWER_SECONDS = 5
OLDEST_REDIS = (7, 0)
_STATE = """
SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool,
    current_setting('max_connections')::int
        - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
    pg_size_pretty(pg_database_size(current_database()))
"""


async def examine(url: PostgresUrl, connections: int, redis_url: str | None) -> list[Finding]:
    return [*await _postgres(url, connections), *await _redis(redis_url)]


async def _postgres(url: PostgresUrl, connections: int) -> list[Finding]:
    try:
        is_due = await migrate(url, checks=True)
        is_standby, free, size = await in_thread(lambda: _state(url))
    except StorageError as error:
        return [Finding("fault", "database", str(error))]
    except psycopg.Error as error:
        text = f"{url} does not say how it is ({type(error).__name__}): look into its log"
        return [Finding("fault", "database", text)]
    if is_standby:
        return [Finding("fault", "database", f"{url} takes no writes: name the primary")]
    found = []
    if is_due:
        text = (
            f"{url} is to be migrated: the next worker that starts does it, or turnstream migrate"
        )
        found.append(Finding("warning", "database", text))
    if free < connections + 2:
        text = (
            f"{url} has {free} connections left, and a worker takes {connections + 2}: raise "
            "max_connections, or set TURNSTREAM_DATABASE_CONNECTIONS to less"
        )
        found.append(Finding("warning", "database", text))
    text = f"{url} answers and takes writes; it has {size}, and {free} connections left"
    return found or [Finding("ok", "database", text)]


def _state(url: PostgresUrl) -> tuple[bool, int, str]:
    with closing(psycopg.connect(url.secret, connect_timeout=ANSWER_SECONDS)) as connection:
        row = connection.execute(_STATE).fetchone()
    assert row is not None, "a SELECT without a table has one row"
    return bool(row[0]), int(row[1]), str(row[2])


async def _redis(url: str | None) -> list[Finding]:
    assert url, "the settings ask for one beside a Postgres database"
    try:
        faults, warnings = await asyncio.to_thread(_examine_redis, url)
    except (redis.RedisError, OSError, ValueError) as error:
        text = f"it cannot be used ({type(error).__name__}): start it, or correct TURNSTREAM_REDIS"
        return [Finding("fault", "redis", text)]
    return [
        *(Finding("fault", "redis", text) for text in faults),
        *(Finding("warning", "redis", text) for text in warnings),
    ] or [Finding("ok", "redis", "answers and takes writes")]


def _examine_redis(url: str) -> tuple[list[str], list[str]]:
    retry, seconds = Retry(NoBackoff(), 0), ANSWER_SECONDS
    with redis.Redis.from_url(
        url, socket_timeout=seconds, socket_connect_timeout=seconds, retry=retry, protocol=2
    ) as client:
        client.set(f"{PREFIX}doctor", "", ex=1)
        state = client.info()
    faults, warnings = [], []
    if state.get("cluster_enabled"):
        faults.append("it is a Redis Cluster: name one server, or one address of the primary")
    version = str(state.get("redis_version", ""))
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers and numbers < OLDEST_REDIS:
        warnings.append(f"its version is {version}: 7.0 is the oldest that is supported")
    if state.get("maxmemory") and state.get("maxmemory_policy") != "noeviction":
        warnings.append("it drops live streams when it is full: set maxmemory-policy noeviction")
    return faults, warnings
