"""A database of either kind, opened as the server opens it."""

from contextlib import AbstractAsyncContextManager

from turnstream.server.extensions.workers.engine import Postgres
from turnstream.server.storage.location import Location, PostgresUrl
from turnstream.server.storage.opened import Files, ServerStore, Storage, StorageEngine

BUSY_SECONDS = 5.0


def open_storage(location: Location) -> AbstractAsyncContextManager[Storage]:
    return _engine(location).open(location, BUSY_SECONDS)


def open_command_store(location: Location) -> AbstractAsyncContextManager[ServerStore]:
    return _engine(location).open_store(location, BUSY_SECONDS)


def _engine(location: Location) -> StorageEngine:
    return Postgres() if isinstance(location, PostgresUrl) else Files()
