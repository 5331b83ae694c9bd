"""The versions of messages: an edit, and an answer made anew, leave a branch that can be looked at
and gone on from."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pydantic import Field
from pydantic_settings import BaseSettings, CliImplicitFlag

from turnstream.server.extensions.base import (
    EXTENSION_API,
    Extension,
    Opened,
    RunSpec,
    ThreadVersions,
    Write,
)
from turnstream.server.extensions.versions.tables import metadata
from turnstream.server.turns.header import ThreadKey

if TYPE_CHECKING:
    from turnstream.server.extensions.versions.kept import KeptVersions


class VersionsSettings(BaseSettings):
    versions: CliImplicitFlag[bool] = Field(
        True, description="keep what an edit or a regenerated answer replaces as a version"
    )


class VersionsExtension(Extension):
    name = "versions"
    api = EXTENSION_API
    settings = VersionsSettings
    tables = metadata

    def __init__(self, _settings: VersionsSettings) -> None:
        self._kept: KeptVersions | None = None
        """None: not open yet."""

    @staticmethod
    def is_on(settings: VersionsSettings) -> bool:
        return settings.versions

    @asynccontextmanager
    async def open(self, opened: Opened) -> AsyncIterator[None]:
        from turnstream.server.extensions.versions.kept import KeptVersions

        self._kept = KeptVersions(opened.database)
        yield

    async def versions(self, key: ThreadKey) -> ThreadVersions:
        return await self.kept.of_thread(key)

    async def run_begins(self, spec: RunSpec) -> Sequence[Write]:
        return await self.kept.follow(spec)

    @property
    def kept(self) -> "KeptVersions":
        assert self._kept, "requests come when the server is open"
        return self._kept
