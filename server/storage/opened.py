"""Storage, and how it is opened: a SQLite file here, other databases by extensions."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    nullcontext,
)
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from langgraph.store.base import BaseStore, IndexConfig

from turnstream.server.storage.checkpointer import open_checkpointer
from turnstream.server.storage.database_file import examine, usable
from turnstream.server.storage.extension_tables import ExtensionTables
from turnstream.server.storage.findings import Finding
from turnstream.server.storage.interfaces import StorageError, ThreadStore
from turnstream.server.storage.location import Location
from turnstream.server.storage.sql_store import SqlTransactions, Titled
from turnstream.server.storage.store import open_store
from turnstream.server.storage.thread_writes import WatchedSaver
from turnstream.server.storage.unavailable import Database
from turnstream.server.storage.workers import Workers
from turnstream.server.storage.write_meter import WriteMeter

if TYPE_CHECKING:
    from limits.aio.storage import Storage as Counters


class ServerStore(ThreadStore, SqlTransactions, Protocol):
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
    open_graph_store: Callable[[IndexConfig | None], AbstractAsyncContextManager[BaseStore]]
    """LangGraph's store, for graphs that keep items, with a vector index of a file. Raises
    StorageError."""
    usable: Callable[[], AbstractContextManager[None]]
    """Around what is done before the first request: raises StorageError, in words for who starts
    the server, in place of StorageUnavailable."""
    workers: Workers | None = None
    """The part that several processes share. None: this process has the database to itself."""
    open_counters: Callable[[], AbstractAsyncContextManager["Counters | None"]] = nullcontext
    """Open the storage in which all workers count what callers use up. None: they share none."""


class StorageEngine(Protocol):
    """Opens the databases of one kind. What it does not open raises StorageError."""

    def open(self, location: Location, busy_seconds: float) -> AbstractAsyncContextManager[Storage]:
        """Open a database, which is made or migrated if need be. A write waits `busy_seconds` for
        others. Raises StorageError."""

    def open_store(
        self, location: Location, busy_seconds: float
    ) -> AbstractAsyncContextManager[ServerStore]:
        """Open the store for a command, beside servers that may run. Raises StorageError."""

    async def migrate(self, location: Location, *, checks: bool = False) -> bool:
        """Migrate a database, or with `checks` only look. Returns True if there was something to
        migrate. Raises StorageError."""

    async def examine(self, location: Location, busy_seconds: float) -> Sequence[Finding]:
        """Look for what keeps a server from using a database, beside servers that may run. Changes
        nothing. Raises StorageError."""


class Files(StorageEngine):
    """SQLite files, each for one process alone."""

    @asynccontextmanager
    async def open(self, location: Location, busy_seconds: float) -> AsyncIterator[Storage]:
        path, busy_ms = _file(location), round(busy_seconds * 1000)
        async with (
            open_checkpointer(path, busy_ms) as checkpointer,
            open_store(path, busy_ms, checkpointer.file.require) as store,
        ):
            yield Storage(
                store=store,
                checkpointer=checkpointer,
                database=checkpointer.file,
                open_graph_store=partial(
                    _sqlite_graph_store, path, busy_ms, checkpointer.file.require
                ),
                usable=partial(usable, path),
            )

    @asynccontextmanager
    async def open_store(
        self, location: Location, busy_seconds: float
    ) -> AsyncIterator[ServerStore]:
        async with open_store(_file(location), round(busy_seconds * 1000)) as store:
            yield store

    async def migrate(self, location: Location, *, checks: bool = False) -> bool:
        del checks
        raise StorageError(f"{_file(location)} is a file: the server that opens it migrates it")

    async def examine(self, location: Location, busy_seconds: float) -> Sequence[Finding]:
        return examine(_file(location), busy_seconds)


def _file(location: Location) -> Path:
    if isinstance(location, Path):
        return location
    raise StorageError(f"no extension opens the database {location}")


def _sqlite_graph_store(
    path: Path, busy_ms: int, require: Callable[[], None], index: IndexConfig | None
) -> AbstractAsyncContextManager[BaseStore]:
    from turnstream.server.storage.graph_store import open_graph_store

    return open_graph_store(path, busy_ms, require, index)
