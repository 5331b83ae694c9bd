"""Gemini, by langchain-google-genai. Read in its version 4.4.2 and in google-genai 2.34."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import httpx
from langchain_core.outputs import ChatGenerationChunk
from langchain_google_genai import ChatGoogleGenerativeAI

from turnstream.graphs.answer_bounds import PLAIN, bounding_hook
from turnstream.graphs.model_options import ModelOptions, Reasoning, possible_reasoning
from turnstream.graphs.providers.bounded import BoundedChat
from turnstream.graphs.streamed_generation import Room, StreamedGeneration

BUDGETS: Mapping[Reasoning, int] = {"low": 1024, "medium": 8192, "high": 24_576}
"""Tokens of thinking, of the models that take a budget."""
RETRIES = 3
"""Attempts in all; the package's own number is 6, with growing pauses."""
_TAKES_BUDGET = re.compile(r"(models/)?gemini-2\.5")
"""Later models take a level."""


class BoundedChatGoogle(BoundedChat, ChatGoogleGenerativeAI):
    provider: ClassVar[str] = "google_genai"

    def _bounded(self, chunk: ChatGenerationChunk, room: Room) -> StreamedGeneration:
        """The package reports a prompt that was blocked as an empty answer without an end."""
        made = super()._bounded(chunk, room)
        feedback = made.message.response_metadata.pop("prompt_feedback", None)
        if feedback and feedback.get("block_reason"):
            made.generation_info = {"finish_reason": "SAFETY"}
        return made


@asynccontextmanager
async def open_model(name: str, options: ModelOptions) -> AsyncIterator[BoundedChatGoogle]:
    hook = bounding_hook(httpx.AsyncByteStream, options.max_message_bytes)
    model = BoundedChatGoogle(
        model=name,
        max_message_bytes=options.max_message_bytes,
        retries=RETRIES,
        client_args={
            "follow_redirects": False,
            "headers": PLAIN,
            "event_hooks": {"response": [hook]},
            # With one of its own the client does not turn to aiohttp, which knows no hooks.
            "transport": ClosableTransport(),
        },
    )
    wanted = possible_reasoning(model, name, options.reasoning)
    for field, value in reasoning(name, wanted).items():
        setattr(model, field, value)
    try:
        yield model
    finally:
        await model.aclose()


class ClosableTransport(httpx.AsyncHTTPTransport):
    """The package gives it to a synchronous client too, which nobody asks and which it closes."""

    def close(self) -> None:
        pass


def reasoning(name: str, wanted: Reasoning) -> dict[str, Any]:
    """The fields of ChatGoogleGenerativeAI that ask for it."""
    if wanted == "off":
        return {}
    if wanted == "on":
        return {"include_thoughts": True}
    if _TAKES_BUDGET.match(name):
        return {"include_thoughts": True, "thinking_budget": BUDGETS[wanted]}
    return {"include_thoughts": True, "reasoning_effort": wanted}
