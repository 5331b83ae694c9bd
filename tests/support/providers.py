"""The models of every provider on the strict endpoint, each in its own wire."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from unittest.mock import patch

from langchain_core.language_models import BaseChatModel

from tests.support.endpoint import Pause, Reply, StrictEndpoint, Think
from tests.support.endpoint.script import Scripted
from turnstream.graphs.limits import MAX_MESSAGE_BYTES
from turnstream.graphs.model_options import ModelOptions, Reasoning
from turnstream.graphs.models import open_models
from turnstream.graphs.providers import openai_responses

NAMES = {
    "openai": "some-model",
    "responses": "gpt-5",
    "anthropic": "anthropic:claude-haiku-4-5",
    "adaptive": "anthropic:claude-opus-5",
    "google_genai": "google_genai:gemini-3.5-flash",
    "ollama": "ollama:qwen3",
}
"""The names of models to the providers' own words; `adaptive` is Anthropic's later kind."""
THOUGHT = "Hm, let me think."
WHOLE_CALLS = ("google_genai", "ollama")
"""Providers that send a call in one piece, or not at all."""


@asynccontextmanager
async def models_at(
    endpoint: StrictEndpoint,
    *providers: str,
    reasoning: Reasoning = "on",
    max_message_bytes: int = MAX_MESSAGE_BYTES,
) -> AsyncIterator[dict[str, BaseChatModel]]:
    """By provider."""
    options = ModelOptions("test", endpoint.base_url, reasoning, max_message_bytes)
    named = {provider: NAMES[provider] for provider in providers if provider != "responses"}
    with patch.dict(os.environ, environment(endpoint)):
        async with AsyncExitStack() as stack:
            opened = await stack.enter_async_context(open_models([*named.values()], options))
            models = {provider: opened[name] for provider, name in named.items()}
            if "responses" in providers:
                asked = openai_responses.open_model("gpt-5", options)
                models["responses"] = await stack.enter_async_context(asked)
            yield models


def environment(endpoint: StrictEndpoint) -> dict[str, str]:
    """Where the providers' packages find the endpoint."""
    return {
        "ANTHROPIC_BASE_URL": endpoint.root_url,
        "ANTHROPIC_API_KEY": "test",
        "GOOGLE_GEMINI_BASE_URL": endpoint.root_url,
        "GOOGLE_API_KEY": "test",
        "OLLAMA_HOST": endpoint.root_url,
    }


def of_this_loop(turn: Scripted) -> Scripted:
    """The same reply with pauses of this test's own loop: an event is bound to the first that
    waits for it."""
    if not isinstance(turn, Reply):
        return turn
    return Reply(tuple(Pause(asyncio.Event()) if isinstance(s, Pause) else s for s in turn.steps))


def thoughtful(turn: Scripted) -> Scripted:
    """The same reply behind a thought."""
    own = of_this_loop(turn)
    return Reply((Think(THOUGHT), *own.steps)) if isinstance(own, Reply) else own
