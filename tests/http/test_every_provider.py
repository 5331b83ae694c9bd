"""Every way to leave a turn with every provider's model, and the message after it: each endpoint
refuses what the real one refuses."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from graphs.model_options import ModelSetupError, Reasoning
from tests.http.test_chat_turns import (
    CALCULATION,
    HELLO,
    SYSTEM_PROMPT,
    WAYS,
    hydrated,
    results,
    said,
    turn,
)
from tests.support.endpoint import (
    Pause,
    Reply,
    Say,
    StrictEndpoint,
    Think,
    call_reply,
    reply,
    text_reply,
)
from tests.support.endpoint.script import Scripted
from tests.support.endpoint.wires.gemini.rules import SKIP
from tests.support.providers import NAMES, WHOLE_CALLS, models_at
from tests.support.serving import Client, serving, settings

THOUGHT = "Hm, let me think."


@asynccontextmanager
async def served(
    folder: Path,
    endpoint: StrictEndpoint,
    provider: str,
    reasoning: Reasoning = "on",
    **values: Any,
) -> AsyncIterator[Client]:
    async with models_at(endpoint, provider, reasoning=reasoning) as models:
        made = settings(folder / "t.db", system_prompt=SYSTEM_PROMPT, **values)
        async with serving(made, model=models[provider]) as client:
            yield client


def thoughtful(turn: Scripted) -> Scripted:
    """The same reply behind a thought, with pauses of this test's own loop."""
    if not isinstance(turn, Reply):
        return turn
    steps = (Pause(asyncio.Event()) if isinstance(s, Pause) else s for s in turn.steps)
    return Reply((Think(THOUGHT), *steps))


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
        return ("error", "model_error") if way.error else ("stop", None)
    if provider == "ollama" and name == "a context that is too long":
        return "error", "model_error"
    if provider == "google_genai" and name == FILTERED[0]:
        return "content-filter", None
    if provider == "google_genai" and name in TRIED_AGAIN:
        return "stop", None
    return way.finish, way.error


@pytest.mark.parametrize("provider", NAMES)
@pytest.mark.parametrize("name", WAYS)
async def test_however_a_turn_ends_with_a_provider_the_next_message_works(
    tmp_path: Path, endpoint: StrictEndpoint, name: str, provider: str
) -> None:
    endpoint.script(*map(thoughtful, WAYS[name].script))
    async with served(tmp_path, endpoint, provider, **WAYS[name].settings) as client:
        events = await turn(client, {"message": "Go"})
        endpoint.forget_script()
        errors = [event.data["code"] for event in events if event.type == "error"]
        finish, error = ending(provider, name)
        assert (events[-2].data["finishReason"], errors) == (finish, [error] if error else [])
        following = await turn(client, {"message": "And now?"})
        assert said(following) == HELLO
        assert following[-2].data["finishReason"] == "stop"
        _, assistant, *_ = await hydrated(client)
        parts = "".join(p["text"] for p in assistant["parts"] if p["type"] == "text")
        assert parts == said(events), "what was streamed is what is kept"
        assert not [p for p in assistant["parts"] if p.get("state") == "pending"]


@pytest.mark.parametrize("provider", NAMES)
async def test_a_provider_gets_back_what_it_signed_in_each_step_of_a_turn(
    tmp_path: Path, endpoint: StrictEndpoint, provider: str
) -> None:
    steps = [thoughtful(call_reply(CALCULATION)), thoughtful(call_reply(("multiply", PRODUCT)))]
    endpoint.script(*steps, thoughtful(text_reply("Done.")))
    async with served(tmp_path, endpoint, provider) as client:
        events = await turn(client, {"message": "Go"})
        assert results(events) == [{"expression": "17 * 23", "value": 391}, {"product": 42}]
        assert said(events) == "Done."
        await turn(client, {"message": "And now?"})
        parts = (await hydrated(client))[1]["parts"]
    shown = [part["text"] for part in parts if part["type"] == "reasoning"]
    assert shown == [THOUGHT] * 3
    asked = json.dumps(endpoint.requests[1])
    assert SKIP not in json.dumps(endpoint.requests), "signatures are kept, not gone around"
    assert (THOUGHT in asked) == (provider in ("anthropic", "adaptive", "ollama", "responses"))


@pytest.mark.parametrize("provider", NAMES)
async def test_reasoning_that_is_off_is_not_shown(
    tmp_path: Path, endpoint: StrictEndpoint, provider: str
) -> None:
    endpoint.script(text_reply("Done."))
    async with served(tmp_path, endpoint, provider, reasoning="off") as client:
        events = await turn(client, {"message": "Go"})
    assert said(events) == "Done."
    assert "thinking" not in endpoint.requests[0]


@pytest.mark.parametrize("provider", NAMES)
async def test_a_stop_closes_the_request_to_the_provider(
    tmp_path: Path, endpoint: StrictEndpoint, provider: str
) -> None:
    endpoint.script(reply(Say("Well, "), Pause(asyncio.Event())))
    async with served(tmp_path, endpoint, provider) as client:
        async with client.chat({"thread_id": "t1", "message": "Go"}) as stream:
            await stream.until("text-delta")
            await client.http.post("/chat/t1/stop", json={})
            await stream.rest()
        exchange = await endpoint.closed(1)
        assert not exchange.completed, "the client has left"
        assert said(await turn(client, {"continue": True})) == HELLO


@pytest.mark.parametrize("provider", NAMES)
async def test_a_provider_gets_an_image_in_its_own_form(
    tmp_path: Path, endpoint: StrictEndpoint, provider: str
) -> None:
    content = [{"type": "text", "text": "What is this?"}, {"type": "image", "image": IMAGE}]
    async with served(tmp_path, endpoint, provider) as client:
        assert said(await turn(client, {"message": {"parts": content}})) == HELLO
    assert IMAGE.partition(",")[2] in json.dumps(endpoint.requests[0])


@pytest.mark.parametrize("provider", ["google_genai", "ollama"])
async def test_the_server_opens_no_address_of_an_image_for_a_provider(
    tmp_path: Path, endpoint: StrictEndpoint, provider: str
) -> None:
    address = f"{endpoint.root_url}/image.png"
    content = [{"type": "text", "text": "What is this?"}, {"type": "image", "image": address}]
    async with served(tmp_path, endpoint, provider) as client:
        assert said(await turn(client, {"message": {"parts": content}})) == HELLO
    (request,) = endpoint.requests
    assert f"an image at {address}, which cannot be opened" in json.dumps(request)


PRODUCT = '{"a": 6, "b": 7}'
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
    async with served(tmp_path, endpoint, "ollama") as client:
        assert said(await turn(client, {"message": "Go"})) == HELLO
    assert endpoint.requests[0]["think"] is False
    assert "which qwen3 cannot do" in caplog.text
