"""The storage that a setting names: a SQLite file, or a Postgres database of several workers."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from langgraph.store.base import BaseStore, IndexConfig

from turnstream.server.storage.checkpointer import open_checkpointer
from turnstream.server.storage.database_file import usable
from turnstream.server.storage.deletions import DeletionStore
from turnstream.server.storage.extension_tables import ExtensionTables
from turnstream.server.storage.interfaces import StorageError
from turnstream.server.storage.location import Location, PostgresUrl
from turnstream.server.storage.retention import RetentionStore
from turnstream.server.storage.sql_store import SqlTransactions, Titled
from turnstream.server.storage.store import open_store
from turnstream.server.storage.thread_writes import WatchedSaver
from turnstream.server.storage.unavailable import Database
from turnstream.server.storage.workers import Leases
from turnstream.server.storage.write_meter import WriteMeter


class ServerStore(DeletionStore, RetentionStore, SqlTransactions, Protocol):
    """The store of threads, with what else is stored in the same database."""

    @property
    def meter(self) -> WriteMeter: ...

    def follow_titles(self, titled: Titled) -> None: ...

    async def open_extensions(
        self, declared: Sequence[ExtensionTables], *, is_shared: bool
    ) -> None:
        """Raises StorageError, StorageUnavailable."""


@dataclass(frozen=True, slots=True)
class Storage:
    store: ServerStore
    checkpointer: WatchedSaver
    database: Database
    leases: Leases | None
    """None: this process has the database to itself."""
    open_graph_store: Callable[[IndexConfig | None], AbstractAsyncContextManager[BaseStore]]
    """LangGraph's store, for graphs that keep items, with a vector index of a file. Raises
    StorageError."""
    usable: Callable[[], AbstractContextManager[None]]
    """Around what is done before the first request: raises StorageError, in words for who starts
    the server, in place of StorageUnavailable."""


@dataclass(frozen=True, slots=True)
class StorageOptions:
    busy_seconds: float = 5.0
    """Seconds that a write waits for others."""
    connections: int = 10
    """Connections of one worker to a Postgres database, beside those for its leases."""
    lease_seconds: float = 30.0


@asynccontextmanager
async def open_storage(
    location: Location, options: StorageOptions = StorageOptions()
) -> AsyncIterator[Storage]:
    """Open the database, which is made or migrated if need be. Raises StorageError."""
    if isinstance(location, PostgresUrl):
        async with _postgres(location, options) as storage:
            yield storage
        return
    busy_ms = round(options.busy_seconds * 1000)
    async with (
        open_checkpointer(location, busy_ms) as checkpointer,
        open_store(location, busy_ms, checkpointer.file.require) as store,
    ):
        yield Storage(
            store=store,
            checkpointer=checkpointer,
            database=checkpointer.file,
            leases=None,
            open_graph_store=partial(
                _sqlite_graph_store, location, busy_ms, checkpointer.file.require
            ),
            usable=partial(usable, location),
        )


@asynccontextmanager
async def open_command_store(
    location: Location, options: StorageOptions = StorageOptions()
) -> AsyncIterator[ServerStore]:
    """The store for a command, beside servers that may run. Raises StorageError."""
    if isinstance(location, PostgresUrl):
        with needs_the_extra():
            from turnstream.server.storage.postgres.opened import open_postgres_store
        async with open_postgres_store(location, options.busy_seconds) as postgres_store:
            yield postgres_store
        return
    async with open_store(location, round(options.busy_seconds * 1000)) as store:
        yield store


async def migrate(location: Location, *, checks: bool = False) -> bool:
    """Migrate the database, or with `checks` only look. Returns True if there was something to
    migrate. Raises StorageError."""
    if not isinstance(location, PostgresUrl):
        raise StorageError(f"{location} is a file: the server that opens it migrates it")
    with needs_the_extra():
        from turnstream.server.storage.postgres.opened import migrate as migrate_postgres
    return await migrate_postgres(location, checks=checks)


def _sqlite_graph_store(
    path: Path, busy_ms: int, require: Callable[[], None], index: IndexConfig | None
) -> AbstractAsyncContextManager[BaseStore]:
    from turnstream.server.storage.graph_store import open_graph_store

    return open_graph_store(path, busy_ms, require, index)


@asynccontextmanager
async def _postgres(url: PostgresUrl, options: StorageOptions) -> AsyncIterator[Storage]:
    with needs_the_extra():
        from turnstream.server.storage.postgres.opened import open_postgres
    async with open_postgres(
        url, options.busy_seconds, options.connections, options.lease_seconds
    ) as opened:
        yield Storage(
            store=opened.store,
            checkpointer=opened.checkpointer,
            database=opened,
            leases=opened.leases,
            open_graph_store=lambda _index: opened.open_graph_store(),
            usable=opened.usable,
        )


@contextmanager
def needs_the_extra() -> Iterator[None]:
    """Around the import of what is installed with the extra `workers`. Raises StorageError."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise StorageError(
            f"several workers need the module {error.name}: pip install "
            "'/path/to/turnstream[workers]', or set TURNSTREAM_DATABASE to a file for one process "
            "alone"
        ) from None
