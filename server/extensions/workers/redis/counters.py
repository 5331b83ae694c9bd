"""The storage of the `limits` library that all workers share."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from limits.aio.storage import RedisStorage, Storage
from redis.asyncio import BlockingConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from turnstream.server.extensions.workers.redis.scripts import PREFIX

ANSWER_SECONDS = 1.0
CONNECTIONS = 8


@asynccontextmanager
async def open_counters(url: str, prefix: str = PREFIX) -> AsyncIterator[Storage]:
    """Connects when it is first used. What fails raises the library's StorageError."""
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=CONNECTIONS,
        timeout=ANSWER_SECONDS,
        socket_timeout=ANSWER_SECONDS,
        socket_connect_timeout=ANSWER_SECONDS,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
    )
    try:
        # The address is the pool's: the library reads the scheme alone.
        yield RedisStorage(
            "async+redis://",
            wrap_exceptions=True,
            implementation="redispy",
            key_prefix=f"{prefix}limits",
            connection_pool=pool,  # type: ignore[arg-type]
        )
    finally:
        await pool.aclose()
