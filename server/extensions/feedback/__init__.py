"""Thumbs with a reason, which users give to messages of the model."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator
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
links = Table(
    "feedback_links",
    metadata,
    Column("owner", String, primary_key=True),
    Column("thread_id", String, primary_key=True),
    Column("message_id", String, primary_key=True),
    Column("trace_id", String, nullable=False),
    Column("score_id", String, nullable=False),
    Column("linked_at", Float, nullable=False),
)
"""The trace of the run that made a message, and the id that its feedback has at the service.
`linked_at`: Unix time. Written while feedback is forwarded."""


class FeedbackSettings(BaseSettings):
    feedback: CliImplicitFlag[bool] = Field(
        False, description="let users give messages a thumb up or down, with a reason"
    )
    feedback_forward: Literal["langsmith", "langfuse"] | None = Field(
        None, description="the service that gets the feedback beside its traces; unset: none"
    )

    @model_validator(mode="after")
    def _check_feedback_forward(self) -> "FeedbackSettings":
        if self.feedback_forward and not self.feedback:
            raise ValueError("TURNSTREAM_FEEDBACK_FORWARD needs TURNSTREAM_FEEDBACK=true")
        return self


class FeedbackExtension(Extension):
    name = "feedback"
    api = EXTENSION_API
    settings = FeedbackSettings
    tables = metadata

    def __new__(cls, settings: FeedbackSettings) -> "FeedbackExtension":
        if settings.feedback_forward:
            from turnstream.server.extensions.feedback.forwarding import ForwardingFeedback

            return object.__new__(ForwardingFeedback)
        return object.__new__(cls)

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
