"""Postgres databases, for workers and for commands; a worker shares logs and messages by Redis."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from turnstream.server.storage.interfaces import StorageError
from turnstream.server.storage.location import Location, PostgresUrl
from turnstream.server.storage.opened import ServerStore, Storage, StorageEngine, StorageOptions
from turnstream.server.storage.workers import Leases, Workers

if TYPE_CHECKING:
    from limits.aio.storage import Storage as Counters


class Postgres(StorageEngine):
    @asynccontextmanager
    async def open(self, location: Location, options: StorageOptions) -> AsyncIterator[Storage]:
        with _needs_the_extra():
            from turnstream.server.extensions.workers.postgres.opened import open_postgres
        url, redis_url = _url(location), options.redis_url
        async with AsyncExitStack() as stack:
            opened = await stack.enter_async_context(
                open_postgres(url, options.busy_seconds, options.connections, options.lease_seconds)
            )
            workers = await stack.enter_async_context(_sharing(opened.leases, options))
            yield Storage(
                store=opened.store,
                checkpointer=opened.checkpointer,
                database=opened,
                open_graph_store=lambda _index: opened.open_graph_store(),
                usable=opened.usable,
                workers=workers,
                open_counters=partial(_counters, redis_url) if redis_url else nullcontext,
            )

    @asynccontextmanager
    async def open_store(
        self, location: Location, options: StorageOptions
    ) -> AsyncIterator[ServerStore]:
        with _needs_the_extra():
            from turnstream.server.extensions.workers.postgres.opened import open_postgres_store
        async with open_postgres_store(_url(location), options.busy_seconds) as store:
            yield store

    async def migrate(self, location: Location, *, checks: bool = False) -> bool:
        with _needs_the_extra():
            from turnstream.server.extensions.workers.postgres.opened import migrate
        return await migrate(_url(location), checks=checks)


@asynccontextmanager
async def _sharing(leases: Leases, options: StorageOptions) -> AsyncIterator[Workers | None]:
    """Raises StorageError."""
    if options.redis_url is None:
        yield None
        return
    with _needs_the_extra():
        from turnstream.server.extensions.workers.other_workers import join
        from turnstream.server.extensions.workers.redis.opening import open_redis
    most = options.max_log_bytes
    async with open_redis(options.redis_url, leases.worker, max_bytes=most) as shares:
        yield Workers(leases, shares.inbox, shares.logs, options.lease_seconds, join)


@asynccontextmanager
async def _counters(redis_url: str) -> "AsyncIterator[Counters]":
    with _needs_the_extra():
        from turnstream.server.extensions.workers.redis.counters import open_counters
    async with open_counters(redis_url) as counters:
        yield counters


def _url(location: Location) -> PostgresUrl:
    assert isinstance(location, PostgresUrl), "the engine is chosen by the location"
    return location


@contextmanager
def _needs_the_extra() -> Iterator[None]:
    """Around the import of what is installed with the extra `workers`. Raises StorageError."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise StorageError(
            f"several workers need the module {error.name}: pip install "
            "'/path/to/turnstream[workers]', or set TURNSTREAM_DATABASE to a file for one process "
            "alone"
        ) from None
