"""The parts of a worker that it shares with others: leases in the database, logs and messages in
Redis."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from turnstream.server.storage.opened import needs_the_extra
from turnstream.server.storage.workers import Leases, Workers

if TYPE_CHECKING:
    from limits.aio.storage import Storage


@asynccontextmanager
async def open_sharing(
    leases: Leases | None, redis_url: str | None, lease_seconds: float, max_bytes: int
) -> AsyncIterator[Workers | None]:
    """None: the process has its database to itself. `max_bytes` is for the logs that are held in
    this process. Raises StorageError."""
    if leases is None or redis_url is None:
        yield None
        return
    with needs_the_extra():
        from turnstream.server.storage.redis.opening import open_redis
    async with open_redis(redis_url, leases.worker, max_bytes=max_bytes) as shares:
        yield Workers(leases, shares.inbox, shares.logs, lease_seconds)


@asynccontextmanager
async def open_shared_counters(redis_url: str | None) -> "AsyncIterator[Storage | None]":
    """Open the storage in which all workers count what callers use up. None: they share none."""
    if redis_url is None:
        yield None
        return
    with needs_the_extra():
        from turnstream.server.storage.redis.counters import open_counters
    async with open_counters(redis_url) as counters:
        yield counters
