"""Every way to leave a turn with every provider's model, and the message after it: each endpoint
refuses what the real one refuses.

`tests/http/test_providers.py` has a turn of each provider over HTTP.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from tests.support.backend import Backend, backend, chunks_of, chunks_until, message
from tests.support.endpoint import Pause, Say, StrictEndpoint, reply, text_reply
from tests.support.providers import NAMES, WHOLE_CALLS, models_at, thoughtful
from tests.support.run_chunks import RunChunks, send_message
from tests.support.ways import HELLO, WAYS
from turnstream.graphs.limits import Limits
from turnstream.graphs.model_options import ModelSetupError, Reasoning
from turnstream.server.turns.chunks import Error, TextDelta
from turnstream.server.turns.messages import AssistantTurn, Text, ToolCall
from turnstream.server.turns.requests import ImageContent, TextContent, TurnRequest, UserMessage


@pytest.fixture
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    async with StrictEndpoint() as endpoint:
        yield endpoint
        assert endpoint.refused == []


@asynccontextmanager
async def served(
    folder: Path,
    endpoint: StrictEndpoint,
    provider: str,
    reasoning: Reasoning = "on",
    **values: Any,
) -> AsyncIterator[Backend]:
    """The server without HTTP on a provider's model; `values` are limits of a run."""
    seconds = values.pop("max_run_seconds", 60)
    limits = replace(Limits(), **values)
    async with (
        models_at(endpoint, provider, reasoning=reasoning) as models,
        backend(
            folder / "t.db", models[provider], limits=limits, max_run_seconds=seconds
        ) as inside,
    ):
        yield inside


FILTERED = (
    "a prompt that is filtered",
    "content that is filtered",
    "content that is filtered at once",
)
TRIED_AGAIN = ("an error before the first word", "an error after a tool")
"""OpenAI's and Anthropic's clients are told not to; Ollama's never does."""
MALFORMED = ("malformed arguments", "truncated arguments")


def ending(provider: str, name: str) -> tuple[str, str | None]:
    """The finish reason and the error of a turn, where a provider has other means."""
    way = WAYS[name]
    if provider in WHOLE_CALLS and name in MALFORMED:
        return "error", "model_unavailable"
    if provider == "ollama" and name == "malformed arguments beside a question":
        return "error", "model_unavailable"
    if provider == "ollama" and name in FILTERED:
        if way.error:
            return "error", "model_error"
        return ("other" if name == FILTERED[2] else "stop"), None
    if provider == "ollama" and name == "a context that is too long":
        return "error", "model_error"
    if provider == "google_genai" and name == FILTERED[0]:
        return "content-filter", None
    if provider == "google_genai" and name in TRIED_AGAIN:
        return "stop", None
    return way.finish, way.error


def errors(run: RunChunks) -> list[str]:
    return [chunk.code for chunk in run.chunks if isinstance(chunk, Error)]


ALIKE = {
    "an ignored question",
    "a component",
    "a question beside a tool",
    "arguments that do not fit",
    "a tool that refuses",
    "a tool that takes too long",
    "a tool that is not there",
    "an error after a question",
    "a rate limit",
    "too many steps",
    "too many identical calls",
    "too much time",
}
"""Ways in which every provider's model says what it says in another way too, and the rest is ours:
with a second provider they are repeats."""
FIRST, *_ = NAMES


def paired(name: str, provider: str) -> ParameterSet:
    marks = [pytest.mark.full] if name in ALIKE and provider != FIRST else []
    return pytest.param(name, provider, marks=marks)


@pytest.mark.parametrize(("name", "provider"), [paired(*pair) for pair in product(WAYS, NAMES)])
async def test_however_a_turn_ends_with_a_provider_the_next_message_works(
    tmp_path: Path, endpoint: StrictEndpoint, name: str, provider: str
) -> None:
    endpoint.script(*map(thoughtful, WAYS[name].script))
    async with served(tmp_path, endpoint, provider, **WAYS[name].settings) as inside:
        run = await send_message(inside, "Go")
        endpoint.forget_script()
        finish, error = ending(provider, name)
        assert (run.reason, errors(run)) == (finish, [error] if error else [])
        following = await send_message(inside, "And now?")
        assert (following.text, following.reason) == (HELLO, "stop")
        _, assistant, *_ = await inside.turns()
        assert isinstance(assistant, AssistantTurn)
        parts = [part for step in assistant.steps for part in step.parts]
        kept = "".join(part.text for part in parts if isinstance(part, Text))
        assert kept == run.text, "what was streamed is what is kept"
        assert all(part.end for part in parts if isinstance(part, ToolCall))


@pytest.mark.parametrize("provider", NAMES)
async def test_reasoning_that_is_off_is_not_shown(
    tmp_path: Path, endpoint: StrictEndpoint, provider: str
) -> None:
    endpoint.script(text_reply("Done."))
    async with served(tmp_path, endpoint, provider, reasoning="off") as inside:
        assert (await send_message(inside, "Go")).text == "Done."
    assert "thinking" not in endpoint.requests[0]


@pytest.mark.parametrize("provider", NAMES)
async def test_a_stop_closes_the_request_to_the_provider(
    tmp_path: Path, endpoint: StrictEndpoint, provider: str
) -> None:
    endpoint.script(reply(Say("Well, "), Pause(asyncio.Event())))
    async with served(tmp_path, endpoint, provider) as inside:
        run = await inside.start(message("Go"))
        await chunks_until(run, lambda chunks: isinstance(chunks[-1], TextDelta))
        await inside.stop()
        await chunks_of(run)
        exchange = await endpoint.closed(1)
        assert not exchange.completed, "the client has left"
        again = RunChunks(await inside.turn(TurnRequest(continue_=True)))
        assert again.text == HELLO


def picture(image: str) -> TurnRequest:
    return TurnRequest(message=UserMessage((TextContent("What is this?"), ImageContent(image))))


@pytest.mark.parametrize("provider", NAMES)
async def test_a_provider_gets_an_image_in_its_own_form(
    tmp_path: Path, endpoint: StrictEndpoint, provider: str
) -> None:
    async with served(tmp_path, endpoint, provider) as inside:
        assert RunChunks(await inside.turn(picture(IMAGE))).text == HELLO
    assert IMAGE.partition(",")[2] in json.dumps(endpoint.requests[0])


@pytest.mark.parametrize("provider", ["google_genai", "ollama"])
async def test_the_server_opens_no_address_of_an_image_for_a_provider(
    tmp_path: Path, endpoint: StrictEndpoint, provider: str
) -> None:
    address = f"{endpoint.root_url}/image.png"
    async with served(tmp_path, endpoint, provider) as inside:
        assert RunChunks(await inside.turn(picture(address))).text == HELLO
    (request,) = endpoint.requests
    assert f"an image at {address}, which cannot be opened" in json.dumps(request)


IMAGE = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()


async def test_a_model_that_ollama_does_not_have_is_named_with_the_command_that_pulls_it(
    endpoint: StrictEndpoint,
) -> None:
    endpoint.ollama_models = ("llama3",)
    with pytest.raises(ModelSetupError, match="no model 'qwen3': ollama pull qwen3"):
        async with models_at(endpoint, "ollama"):
            pass


async def test_a_model_that_cannot_reason_is_not_asked_to_and_the_log_says_so(
    tmp_path: Path, endpoint: StrictEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.ollama_capabilities = ["completion", "tools"]
    async with served(tmp_path, endpoint, "ollama") as inside:
        assert (await send_message(inside, "Go")).text == HELLO
    assert endpoint.requests[0]["think"] is False
    assert "which qwen3 cannot do" in caplog.text
