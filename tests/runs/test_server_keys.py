"""Keys that only the server of a model understands: it gets them back as they were."""

import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.backend import Backend, backend
from tests.support.endpoint import Call, Raw, Refusal, Reply, StrictEndpoint, reply, text_reply
from tests.support.endpoint.refusal import Body
from tests.support.endpoint.script import Scripted
from tests.support.keeping_servers import SECRET, KeepingServer, LiteLLM, OpenRouter, of_model
from tests.support.providers import of_this_loop
from tests.support.run_chunks import send_message
from tests.support.ways import HELLO, WAYS
from turnstream.graphs.limits import Limits
from turnstream.graphs.model_options import ModelOptions
from turnstream.graphs.openai_model import openai_model
from turnstream.graphs.server_keys import NO_SIGNATURE

ARGS = '{"expression":"6 * 7"}'


def calling(id: str = "call_1", **keys: Any) -> Raw:
    function = {"name": "calculator", "arguments": ARGS}
    call = {"index": 0, "id": id, "type": "function", "function": function, **keys}
    return Raw({"tool_calls": [call]})


def deepseek(body: Body) -> Refusal | None:
    """https://api-docs.deepseek.com/guides/thinking_mode"""
    if all("reasoning_content" in message for message in of_model(body)):
        return None
    return Refusal("The `reasoning_content` in the thinking mode must be passed back to the API.")


def gemini(body: Body) -> Refusal | None:
    """https://ai.google.dev/gemini-api/docs/thought-signatures"""
    for message in of_model(body):
        for call in (message.get("tool_calls") or ())[:1]:
            google = (call.get("extra_content") or {}).get("google") or {}
            if google.get("thought_signature") not in (SECRET, NO_SIGNATURE):
                return Refusal("Function call is missing a thought_signature.")
    return None


def kept_by(server: KeepingServer) -> tuple[Callable[[Body], Refusal | None], Scripted, Scripted]:
    calls = server.played(reply(Call(0, "call_1", "calculator", ARGS)))
    return server.refusal, calls, server.played(text_reply("42"))


PLAYED: dict[str, tuple[Callable[[Body], Refusal | None], Scripted, Scripted]] = {
    "DeepSeek": (
        deepseek,
        reply(Raw({"reasoning_content": SECRET}), Raw({"reasoning_content": "!"}), calling()),
        reply(Raw({"reasoning_content": SECRET}), Raw({"content": "42"})),
    ),
    "Gemini's compatible endpoint": (
        gemini,
        reply(calling(extra_content={"google": {"thought_signature": SECRET}})),
        text_reply("42"),
    ),
    "OpenRouter": kept_by(OpenRouter()),
    "LiteLLM": kept_by(LiteLLM()),
}


@asynccontextmanager
async def served(
    folder: Path, endpoint: StrictEndpoint, model: str = "some-model", **values: Any
) -> AsyncIterator[Backend]:
    seconds = values.pop("max_run_seconds", 60)
    limits = replace(Limits(), **values)
    opened = openai_model(model, ModelOptions("test", endpoint.base_url))
    async with backend(folder / "t.db", opened, limits=limits, max_run_seconds=seconds) as inside:
        yield inside


@pytest.mark.parametrize("server", PLAYED)
async def test_a_server_gets_back_what_it_sent_and_nobody_is_shown_it(
    tmp_path: Path, server: str
) -> None:
    refuses, calls, answers = PLAYED[server]
    async with StrictEndpoint(further=refuses, has_own_keys=True) as endpoint:
        endpoint.script(calls, answers)
        async with served(tmp_path, endpoint) as inside:
            told = await send_message(inside, "What is 6 * 7?")
            assert (told.text, told.reason) == ("42", "stop")
            assert "42" in str(told.results)
        # After a restart too: it is in the thread.
        async with served(tmp_path, endpoint) as inside:
            following = await send_message(inside, "Thanks")
            assert following.reason == "stop"
            shown = f"{told.chunks}{following.chunks}{await inside.turns()}"
            assert SECRET not in shown
        assert endpoint.refused == []


async def test_another_model_gets_none_of_the_keys(tmp_path: Path) -> None:
    async with StrictEndpoint(has_own_keys=True) as endpoint:
        _, calls, answers = PLAYED["DeepSeek"]
        endpoint.script(calls, answers)
        async with served(tmp_path, endpoint) as inside:
            await send_message(inside, "What is 6 * 7?")
        async with served(tmp_path, endpoint, "another-model") as inside:
            await send_message(inside, "Thanks")
        assert SECRET in json.dumps(endpoint.requests[1])
        assert SECRET not in json.dumps(endpoint.requests[2])


async def test_a_server_that_refuses_its_own_keys_gets_none_from_then_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def refuses(body: Body) -> Refusal | None:
        has_any = any("reasoning_content" in message for message in of_model(body))
        return Refusal("reasoning_content is not allowed") if has_any else None

    async with StrictEndpoint(further=refuses, has_own_keys=True) as endpoint:
        _, calls, answers = PLAYED["DeepSeek"]
        endpoint.script(calls, answers)
        async with served(tmp_path, endpoint) as inside:
            with caplog.at_level(logging.WARNING):
                for words in ("What is 6 * 7?", "Thanks", "Thanks again"):
                    assert (await send_message(inside, words)).reason == "stop"
        assert len(endpoint.refused) == 1
        assert caplog.text.count("refuses the keys that it sent") == 1


async def test_deepseek_takes_a_thread_that_another_model_has_begun(tmp_path: Path) -> None:
    async with StrictEndpoint(has_own_keys=True) as endpoint:
        endpoint.script(reply(Call(0, "call_1", "calculator", ARGS)), text_reply("42"))
        async with served(tmp_path, endpoint) as inside:
            await send_message(inside, "What is 6 * 7?")
    async with StrictEndpoint(further=deepseek, has_own_keys=True) as endpoint:
        async with served(tmp_path, endpoint, "deepseek-v4") as inside:
            for words in ("Thanks", "Thanks again"):
                assert (await send_message(inside, words)).reason == "stop"
        assert len(endpoint.refused) == 1


def thinking(given: Scripted) -> Scripted:
    """The reply as DeepSeek gives it."""
    if not isinstance(given, Reply):
        return given
    return Reply((Raw({"reasoning_content": SECRET}), *given.steps))


def signing(given: Scripted) -> Scripted:
    """The reply as Gemini gives it."""
    if not isinstance(given, Reply):
        return given
    return Reply(tuple(signed(step) if isinstance(step, Call) else step for step in given.steps))


def signed(call: Call) -> Raw:
    keys = {"extra_content": {"google": {"thought_signature": SECRET}}}
    function = {"name": call.name, "arguments": call.args}
    whole = {"index": call.index, "id": call.id, "type": "function", "function": function, **keys}
    return Raw({"tool_calls": [whole]})


DEMANDING: dict[str, tuple[Callable[[Body], Refusal | None], Callable[[Scripted], Scripted]]] = {
    "deepseek-v4": (deepseek, thinking),
    "gemini-3-pro": (gemini, signing),
}


@pytest.mark.full
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("model", DEMANDING)
async def test_however_a_turn_ends_the_next_messages_work(
    tmp_path: Path, model: str, name: str
) -> None:
    refuses, played = DEMANDING[model]
    async with StrictEndpoint(further=refuses, has_own_keys=True) as endpoint:
        endpoint.script(*(played(of_this_loop(each)) for each in WAYS[name].script))
        async with served(tmp_path, endpoint, model, **WAYS[name].settings) as inside:
            await send_message(inside, "Go")
            endpoint.forget_script()
            for words in ("And now?", "And then?"):
                following = await send_message(inside, words)
                assert (following.text, following.reason) == (HELLO, "stop")
        # What a cut message lacks is known after one refusal.
        assert len(endpoint.refused) <= 1


async def test_keys_beyond_the_limit_are_not_kept_and_fail_no_turn(tmp_path: Path) -> None:
    pieces = [Raw({"reasoning_content": "x" * 30_000})] * 40
    deep: Any = "bottom"
    for _ in range(60):
        deep = {"deeper": deep}
    async with StrictEndpoint(has_own_keys=True) as endpoint:
        endpoint.script(reply(*pieces, calling()), reply(Raw({"extra": deep, "content": "42"})))
        async with served(tmp_path, endpoint) as inside:
            assert (await send_message(inside, "What is 6 * 7?")).text == "42"
            await send_message(inside, "Thanks")
        assert all("reasoning_content" not in each for each in of_model(endpoint.requests[2]))
        assert "deeper" not in json.dumps(endpoint.requests[2])
