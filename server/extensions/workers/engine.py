"""Postgres databases, for workers and for commands; a worker shares logs and messages by Redis."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from turnstream.server.extensions.workers.leases import Leases
from turnstream.server.storage.findings import Finding
from turnstream.server.storage.interfaces import StorageError
from turnstream.server.storage.location import Location, PostgresUrl
from turnstream.server.storage.memory_logs import DEFAULT_MAX_BYTES
from turnstream.server.storage.opened import ServerStore, Storage, StorageEngine
from turnstream.server.storage.workers import Workers

if TYPE_CHECKING:
    from limits.aio.storage import Storage as Counters


@dataclass(frozen=True, slots=True)
class Postgres(StorageEngine):
    """`redis_url` None: a database is opened for this process alone."""

    connections: int = 10
    lease_seconds: float = 30.0
    redis_url: str | None = None
    max_log_bytes: int = DEFAULT_MAX_BYTES
    """Bytes of the logs that are held in this process."""

    @asynccontextmanager
    async def open(self, location: Location, busy_seconds: float) -> AsyncIterator[Storage]:
        with _needs_the_extra():
            from turnstream.server.extensions.workers.postgres.opened import open_postgres
        async with AsyncExitStack() as stack:
            opened = await stack.enter_async_context(
                open_postgres(_url(location), busy_seconds, self.connections, self.lease_seconds)
            )
            url = self.redis_url
            workers = await stack.enter_async_context(self._sharing(opened.leases))
            yield Storage(
                store=opened.store,
                checkpointer=opened.checkpointer,
                database=opened,
                open_graph_store=lambda _index: opened.open_graph_store(),
                usable=opened.usable,
                workers=workers,
                open_counters=partial(_counters, url) if url else nullcontext,
            )

    @asynccontextmanager
    async def open_store(
        self, location: Location, busy_seconds: float
    ) -> AsyncIterator[ServerStore]:
        with _needs_the_extra():
            from turnstream.server.extensions.workers.postgres.opened import open_postgres_store
        async with open_postgres_store(_url(location), busy_seconds) as store:
            yield store

    async def migrate(self, location: Location, *, checks: bool = False) -> bool:
        with _needs_the_extra():
            from turnstream.server.extensions.workers.postgres.opened import migrate
        return await migrate(_url(location), checks=checks)

    async def examine(self, location: Location, busy_seconds: float) -> Sequence[Finding]:
        del busy_seconds
        with _needs_the_extra():
            from turnstream.server.extensions.workers.examination import examine
        return await examine(_url(location), self.connections, self.redis_url)

    @asynccontextmanager
    async def _sharing(self, leases: Leases) -> AsyncIterator[Workers | None]:
        """Raises StorageError."""
        if self.redis_url is None:
            yield None
            return
        with _needs_the_extra():
            from turnstream.server.extensions.workers.other_workers import Shared, join
            from turnstream.server.extensions.workers.redis.opening import open_redis
        most, worker = self.max_log_bytes, leases.worker
        async with open_redis(self.redis_url, worker, max_bytes=most) as opened:
            shared = Shared(leases, opened.inbox, opened.logs, self.lease_seconds)
            yield Workers(worker, opened.logs, partial(join, shared))


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
