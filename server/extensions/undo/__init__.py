"""Deleted threads can be brought back for a while: `POST /threads/{id}/restore`."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from pydantic import Field, NonNegativeFloat
from pydantic_settings import BaseSettings
from starlette.routing import Route

from turnstream.server.extensions.base import EXTENSION_API, Extension, Opened, Threads


class UndoSettings(BaseSettings):
    undo_seconds: NonNegativeFloat = Field(
        30,
        description="seconds in which a deleted thread can be brought back; 0: it is deleted "
        "at once",
    )


class UndoExtension(Extension):
    """A deleted thread is hidden, and forgotten when its time is over, by the core: so a server
    where this is off by now forgets it too."""

    name = "undo"
    api = EXTENSION_API
    settings = UndoSettings

    def __init__(self, settings: UndoSettings) -> None:
        self.restorable_seconds = settings.undo_seconds
        self._threads: Threads | None = None
        """None: not open yet."""

    @staticmethod
    def is_on(settings: UndoSettings) -> bool:
        return settings.undo_seconds > 0

    @asynccontextmanager
    async def open(self, opened: Opened) -> AsyncIterator[None]:
        self._threads = opened.threads
        yield

    def routes(self) -> Sequence[Route]:
        from turnstream.server.extensions.undo.endpoint import endpoint

        return [Route("/threads/{thread_id}/restore", endpoint(lambda: self.threads))]

    @property
    def threads(self) -> Threads:
        assert self._threads, "requests come when the server is open"
        return self._threads
