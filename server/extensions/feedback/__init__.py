"""Thumbs with a reason, which users give to messages of the model."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pydantic import Field
from pydantic_settings import BaseSettings, CliImplicitFlag
from sqlalchemy import Column, Float, MetaData, String, Table
from starlette.routing import Route

from turnstream.server.extensions.base import EXTENSION_API, Extension, Opened
from turnstream.server.turns.header import ThreadKey

if TYPE_CHECKING:
    from turnstream.server.extensions.feedback.given import GivenFeedback

metadata = MetaData()
feedback = Table(
    "feedback",
    metadata,
    Column("owner", String, primary_key=True),
    Column("thread_id", String, primary_key=True),
    Column("message_id", String, primary_key=True),
    Column("value", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("given_at", Float, nullable=False),
)
"""`value`: `up` or `down`. `given_at`: Unix time."""


class FeedbackSettings(BaseSettings):
    feedback: CliImplicitFlag[bool] = Field(
        False, description="let users give messages a thumb up or down, with a reason"
    )


class FeedbackExtension(Extension):
    name = "feedback"
    api = EXTENSION_API
    settings = FeedbackSettings
    tables = metadata

    def __init__(self, settings: FeedbackSettings) -> None:  # noqa: ARG002
        self._given: GivenFeedback | None = None
        """None: not open yet."""

    @staticmethod
    def is_on(settings: FeedbackSettings) -> bool:
        return settings.feedback

    def routes(self) -> Sequence[Route]:
        from turnstream.server.extensions.feedback.endpoint import endpoint

        return [Route("/threads/{thread_id}/feedback", endpoint(lambda: self.given))]

    @asynccontextmanager
    async def open(self, opened: Opened) -> AsyncIterator[None]:
        from turnstream.server.extensions.feedback.given import GivenFeedback

        self._given = GivenFeedback(opened)
        yield

    async def exported(self, key: ThreadKey) -> Any:
        return await self.given.of_thread(key) or None

    @property
    def given(self) -> "GivenFeedback":
        assert self._given, "requests come when the server is open"
        return self._given
