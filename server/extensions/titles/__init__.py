"""Short titles of threads, which a model makes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from turnstream.graphs.models import OFFLINE, ModelName
from turnstream.server.extensions.base import (
    EXTENSION_API,
    Extension,
    Opened,
    Watch,
    WatchedRun,
)
from turnstream.server.model_settings import ModelSettings

if TYPE_CHECKING:
    from turnstream.server.extensions.titles.titles import Titles


class TitleSettings(ModelSettings):
    title_model: str | None = Field(
        None,
        min_length=1,
        description="a model that gives threads short titles after their first turn; unset: their "
        "first words are their titles",
    )

    @model_validator(mode="after")
    def _check_title_model(self) -> "TitleSettings":
        if self.title_model == OFFLINE:
            raise ValueError(
                "TURNSTREAM_TITLE_MODEL: the offline model makes no titles; leave it out, and "
                "threads have their first words as titles"
            )
        if self.title_model and (fault := ModelName.parse(self.title_model).fault(self.access)):
            raise ValueError(f"TURNSTREAM_TITLE_MODEL: {fault}")
        return self


class TitlesExtension(Extension):
    name = "titles"
    api = EXTENSION_API
    settings = TitleSettings

    def __init__(self, settings: TitleSettings) -> None:
        assert settings.title_model
        self._model_name = settings.title_model
        self._titles: Titles | None = None
        """None: not open yet."""

    @staticmethod
    def is_on(settings: TitleSettings) -> bool:
        return settings.title_model is not None

    @asynccontextmanager
    async def open(self, opened: Opened) -> AsyncIterator[None]:
        from turnstream.server.extensions.titles.titles import Titles

        async with opened.open_model(self._model_name) as model, Titles(model, opened) as titles:
            self._titles = titles
            yield

    def watch(self, run: WatchedRun) -> Watch | None:
        return self._titles.watch(run) if self._titles else None
