"""The settings of the database, and of what several workers share."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, PlainValidator, PositiveFloat, PositiveInt, SecretStr, model_validator
from pydantic_settings import BaseSettings

from turnstream.server.storage.location import Location, PostgresUrl, location


class StorageSettings(BaseSettings):
    database: Annotated[Location, PlainValidator(location)] = Field(
        Path("turnstream.db"),
        description="SQLite file of all threads; or postgresql://USER@HOST/NAME, for several "
        "workers",
    )
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
    busy_seconds: PositiveFloat = Field(
        5.0, description="seconds that a write waits while another program has the database locked"
    )

    @model_validator(mode="after")
    def _check_sharing(self) -> "StorageSettings":
        if isinstance(self.database, PostgresUrl) and self.redis is None:
            raise ValueError(
                "TURNSTREAM_REDIS is not set: a server on a Postgres database is one of several "
                "workers, which share the streams of runs through Redis. Set it to redis://HOST, "
                "or set TURNSTREAM_DATABASE to a file for one process alone"
            )
        if self.redis is not None and not isinstance(self.database, PostgresUrl):
            raise ValueError(
                "TURNSTREAM_REDIS is for several workers, and a SQLite file is for one process "
                "alone: set TURNSTREAM_DATABASE to postgresql://USER@HOST/NAME, or leave "
                "TURNSTREAM_REDIS out"
            )
        return self

    @property
    def redis_url(self) -> str | None:
        return self.redis.get_secret_value() if self.redis else None
