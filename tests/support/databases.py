"""A database of either kind, opened as the server opens it."""

from contextlib import AbstractAsyncContextManager

from turnstream.server.extensions.built_in import BUILT_IN
from turnstream.server.extensions.loading import engine_of
from turnstream.server.storage.location import Location
from turnstream.server.storage.opened import ServerStore, Storage, StorageOptions


def open_storage(location: Location) -> AbstractAsyncContextManager[Storage]:
    return engine_of(BUILT_IN, location).open(location, StorageOptions())


def open_command_store(location: Location) -> AbstractAsyncContextManager[ServerStore]:
    return engine_of(BUILT_IN, location).open_store(location, StorageOptions())
