"""The search over titles and texts of threads: `GET /threads?q=`."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, CliImplicitFlag

from turnstream.server.extensions.base import (
    EXTENSION_API,
    Extension,
    Opened,
    Threads,
    WatchedRun,
    Write,
)
from turnstream.server.extensions.search.tables import metadata
from turnstream.server.storage.search import Search
from turnstream.server.turns.chunks import Chunk
from turnstream.server.turns.header import ThreadKey

if TYPE_CHECKING:
    from turnstream.server.extensions.search.index import SearchIndex


NOTHING_TO_SEARCH = (
    "TURNSTREAM_SEARCH_SUBSTEPS has no effect: what subagents say is hidden. "
    "TURNSTREAM_SUBSTEPS=show shows it."
)

logger = logging.getLogger(__name__)


class SearchSettings(BaseSettings):
    search: CliImplicitFlag[bool] = Field(
        True, description="find threads by the words of their titles and texts"
    )
    search_substeps: CliImplicitFlag[bool] = Field(
        False, description="find threads also by what subagents have said in them under tool calls"
    )

    @model_validator(mode="after")
    def _check_search_substeps(self) -> "SearchSettings":
        if self.search_substeps and not self.search:
            raise ValueError("TURNSTREAM_SEARCH_SUBSTEPS needs TURNSTREAM_SEARCH")
        return self


class SearchExtension(Extension):
    """The index follows each run in the transaction that stores the run's end. What it misses, such
    as the end of a run whose process died, is made up for later (`catching_up`)."""

    name = "search"
    api = EXTENSION_API
    settings = SearchSettings
    tables = metadata

    def __init__(self, settings: SearchSettings) -> None:
        # 0: what subagents say is hidden, and not kept.
        has_substeps = bool(getattr(settings, "substeps_bytes", True))
        self._with_substeps = settings.search_substeps and has_substeps
        self._is_in_vain = settings.search_substeps and not has_substeps
        self._threads: Threads | None = None
        self._index: SearchIndex | None = None
        """None: the server is not open yet."""

    @staticmethod
    def is_on(settings: SearchSettings) -> bool:
        return settings.search

    @asynccontextmanager
    async def open(self, opened: Opened) -> AsyncIterator[None]:
        from turnstream.server.extensions.search.catching_up import open_catching_up
        from turnstream.server.extensions.search.index import open_index

        if self._is_in_vain:
            logger.warning(NOTHING_TO_SEARCH)
        self._index, self._threads = await open_index(opened.database), opened.threads
        if not self._with_substeps:
            await self._index.forget_substeps()
        texts = partial(opened.threads.texts, with_substeps=self._with_substeps)
        async with open_catching_up(self._index, texts, with_substeps=self._with_substeps):
            yield

    def search(self, text: str) -> Search:
        from turnstream.server.extensions.search.matching import WordSearch
        from turnstream.server.extensions.search.words import wanted

        return WordSearch(wanted(text), has_texts=bool(self._index and self._index.has_texts))

    async def after_run(self, run: WatchedRun, _chunks: Sequence[Chunk]) -> Sequence[Write]:
        if self._index is None or self._threads is None:
            return ()
        whole = partial(self._threads.texts, run.spec.key, with_substeps=True)
        return await self._index.follow(run, whole if self._with_substeps else None)

    def thread_titled(self, key: ThreadKey, title: str) -> Sequence[Write]:
        return self._index.titled(key, title) if self._index else ()
