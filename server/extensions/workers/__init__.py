"""Several workers on one Postgres database, which share logs and messages through Redis."""

from typing import TYPE_CHECKING, cast

from pydantic import Field, PositiveInt, SecretStr, model_validator
from pydantic_settings import BaseSettings

from turnstream.server.extensions.base import EXTENSION_API, Extension
from turnstream.server.storage.location import PostgresUrl

if TYPE_CHECKING:
    from turnstream.server.settings import Settings
    from turnstream.server.storage.opened import StorageEngine


class WorkerSettings(BaseSettings):
    database_connections: PositiveInt = Field(
        10,
        description="connections of a worker to its Postgres database, at most; one more renews "
        "its leases",
    )
    redis: SecretStr | None = Field(
        None, description="redis:// URL that the workers on a Postgres database share"
    )
    lease_seconds: float = Field(
        30.0,
        ge=1,
        description="seconds after which other workers take over the threads of a worker that "
        "is gone",
    )

    @model_validator(mode="after")
    def _check_sharing(self) -> "WorkerSettings":
        is_shared = isinstance(cast("AllSettings", self).database, PostgresUrl)
        if is_shared and self.redis is None:
            raise ValueError(
                "TURNSTREAM_REDIS is not set: a server on a Postgres database is one of several "
                "workers, which share the streams of runs through Redis. Set it to redis://HOST, "
                "or set TURNSTREAM_DATABASE to a file for one process alone"
            )
        if self.redis is not None and not is_shared:
            raise ValueError(
                "TURNSTREAM_REDIS is for several workers, and a SQLite file is for one process "
                "alone: set TURNSTREAM_DATABASE to postgresql://USER@HOST/NAME, or leave "
                "TURNSTREAM_REDIS out"
            )
        return self


if TYPE_CHECKING:  # A model of so many fields takes time to make.

    class AllSettings(Settings, WorkerSettings):
        """The settings that the extension reads."""


class WorkersExtension(Extension):
    name = "workers"
    api = EXTENSION_API
    settings = WorkerSettings

    @staticmethod
    def is_on(settings: "Settings") -> bool:
        return isinstance(settings.database, PostgresUrl)

    @classmethod
    def engine(cls, settings: "AllSettings") -> "StorageEngine | None":
        if not isinstance(settings.database, PostgresUrl):
            return None
        from turnstream.server.extensions.workers.engine import Postgres

        return Postgres(
            settings.database_connections,
            settings.lease_seconds,
            settings.redis.get_secret_value() if settings.redis else None,
            settings.max_retained_bytes,
        )
