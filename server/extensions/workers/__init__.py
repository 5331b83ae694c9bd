"""Several workers on one Postgres database, which share logs and messages through Redis."""

from typing import TYPE_CHECKING

from turnstream.server.extensions.base import EXTENSION_API, Extension
from turnstream.server.storage.location import Location, PostgresUrl

if TYPE_CHECKING:
    from turnstream.server.settings import Settings
    from turnstream.server.storage.opened import StorageEngine


class WorkersExtension(Extension):
    name = "workers"
    api = EXTENSION_API

    @staticmethod
    def is_on(settings: "Settings") -> bool:
        return isinstance(settings.database, PostgresUrl)

    @classmethod
    def engine(cls, location: Location) -> "StorageEngine | None":
        if not isinstance(location, PostgresUrl):
            return None
        from turnstream.server.extensions.workers.engine import Postgres

        return Postgres()
