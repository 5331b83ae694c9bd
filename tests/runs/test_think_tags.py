"""`<think>` in a model's text is reasoning: not shown as text, and not sent back."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.backend import backend, chunks_of, message
from tests.support.endpoint import Say, StrictEndpoint, call_reply, reply, text_reply
from tests.support.providers import models_at
from tests.support.run_chunks import RunChunks
from turnstream.graphs.model_options import ModelOptions, Reasoning
from turnstream.graphs.openai_model import openai_model
from turnstream.server.turns.chunks import ReasoningPart, TextPart

TAGGED = "<think>\n6 * 7 is what they want.\n</think>\n\nIt is 42."
PROVIDERS = ("openai", "ollama")


@pytest.fixture
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    async with StrictEndpoint() as endpoint:
        yield endpoint
        assert endpoint.refused == []


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("reasoning", ["off", "on"])
async def test_thoughts_between_tags_are_reasoning_and_stay_here(
    tmp_path: Path, endpoint: StrictEndpoint, provider: str, reasoning: Reasoning
) -> None:
    endpoint.script(text_reply(TAGGED), text_reply("You are welcome."))
    async with (
        models_at(endpoint, provider, reasoning=reasoning) as models,
        backend(tmp_path / "t.db", models[provider]) as inside,
    ):
        run = RunChunks(await chunks_of(await inside.start(message("What is 6 * 7?"))))
        assert run.text == "It is 42."
        shown = [type(part) for part in run.parts]
        assert shown == ([TextPart] if reasoning == "off" else [ReasoningPart, TextPart])
        await chunks_of(await inside.start(message("Thanks")))
    sent = json.dumps(endpoint.requests[1]["messages"])
    assert "It is 42." in sent
    assert "<think>" not in sent
    if provider == "openai":
        assert "what they want" not in sent


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_call_behind_thoughts_is_made(
    tmp_path: Path, endpoint: StrictEndpoint, provider: str
) -> None:
    call = ("calculator", '{"expression": "6 * 7"}')
    endpoint.script(reply(Say("<think>I calculate.</think>"), *call_reply(call).steps))
    endpoint.script(text_reply("It is 42."))
    async with (
        models_at(endpoint, provider, reasoning="off") as models,
        backend(tmp_path / "t.db", models[provider]) as inside,
    ):
        run = RunChunks(await chunks_of(await inside.start(message("What is 6 * 7?"))))
    assert run.text == "It is 42."
    assert "I calculate" not in json.dumps(endpoint.requests[1]["messages"])


async def test_a_model_that_means_its_tags_shows_them(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply(TAGGED))
    options = ModelOptions("test", endpoint.base_url, think_tags="text")
    async with backend(tmp_path / "t.db", openai_model("some-model", options)) as inside:
        run = RunChunks(await chunks_of(await inside.start(message("What is 6 * 7?"))))
    assert run.text == TAGGED
