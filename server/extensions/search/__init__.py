"""The search over titles and texts of threads: `GET /threads?q=`."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pydantic import Field
from pydantic_settings import BaseSettings, CliImplicitFlag

from turnstream.server.extensions.base import (
    EXTENSION_API,
    Extension,
    Opened,
    WatchedRun,
    Write,
)
from turnstream.server.extensions.search.tables import metadata
from turnstream.server.storage.search import Search
from turnstream.server.turns.chunks import Chunk
from turnstream.server.turns.header import ThreadKey

if TYPE_CHECKING:
    from turnstream.server.extensions.search.index import SearchIndex


class SearchSettings(BaseSettings):
    search: CliImplicitFlag[bool] = Field(
        True, description="find threads by the words of their titles and texts"
    )


class SearchExtension(Extension):
    """The index follows each run in the transaction that stores the run's end. What it misses, such
    as the end of a run whose process died, is made up for later (`catching_up`)."""

    name = "search"
    api = EXTENSION_API
    settings = SearchSettings
    tables = metadata

    def __init__(self, _settings: SearchSettings) -> None:
        self._index: SearchIndex | None = None
        """None: the server is not open yet."""

    @staticmethod
    def is_on(settings: SearchSettings) -> bool:
        return settings.search

    @asynccontextmanager
    async def open(self, opened: Opened) -> AsyncIterator[None]:
        from turnstream.server.extensions.search.catching_up import open_catching_up
        from turnstream.server.extensions.search.index import open_index

        self._index = await open_index(opened.database)
        async with open_catching_up(self._index, opened.threads):
            yield

    def search(self, text: str) -> Search:
        from turnstream.server.extensions.search.matching import WordSearch
        from turnstream.server.extensions.search.words import wanted

        return WordSearch(wanted(text), has_texts=bool(self._index and self._index.has_texts))

    async def after_run(self, run: WatchedRun, _chunks: Sequence[Chunk]) -> Sequence[Write]:
        return await self._index.follow(run) if self._index else ()

    def thread_titled(self, key: ThreadKey, title: str) -> Sequence[Write]:
        return self._index.titled(key, title) if self._index else ()
