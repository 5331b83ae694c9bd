"""Every way to leave a turn with a server as strict as Mistral's, and the message after it."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.backend import Backend, backend
from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.endpoint.mistral_rules import mistral_refusal
from tests.support.providers import of_this_loop
from tests.support.run_chunks import ALERT, COMPONENT, send_message
from tests.support.ways import CALCULATION, HELLO, WAYS
from turnstream.graphs.limits import Limits
from turnstream.graphs.model_options import ModelOptions
from turnstream.graphs.openai_model import openai_model


@pytest.fixture
async def mistral() -> AsyncIterator[StrictEndpoint]:
    async with StrictEndpoint(further=mistral_refusal) as endpoint:
        yield endpoint


@asynccontextmanager
async def served(
    folder: Path, endpoint: StrictEndpoint, model: str, **values: Any
) -> AsyncIterator[Backend]:
    seconds = values.pop("max_run_seconds", 60)
    limits = replace(Limits(), **values)
    opened = openai_model(model, ModelOptions("test", endpoint.base_url))
    async with backend(folder / "t.db", opened, limits=limits, max_run_seconds=seconds) as inside:
        yield inside


@pytest.mark.full
@pytest.mark.parametrize("name", WAYS)
async def test_however_a_turn_ends_the_next_messages_work(
    tmp_path: Path, mistral: StrictEndpoint, name: str
) -> None:
    mistral.script(*map(of_this_loop, WAYS[name].script))
    async with served(tmp_path, mistral, "mistral-small-latest", **WAYS[name].settings) as inside:
        await send_message(inside, "Go")
        mistral.forget_script()
        for words in ("And now?", "And then?"):
            following = await send_message(inside, words)
            assert (following.text, following.reason) == (HELLO, "stop")
    assert mistral.refused == []


async def test_an_unknown_server_that_refuses_the_order_is_asked_in_a_stricter_one_from_then_on(
    tmp_path: Path, mistral: StrictEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    mistral.script(call_reply((COMPONENT, ALERT)))
    async with served(tmp_path, mistral, "some-model") as inside:
        await send_message(inside, "Draw it")
        with caplog.at_level(logging.WARNING):
            for words in ("And now?", "And then?"):
                assert (await send_message(inside, words)).text == HELLO
    assert len(mistral.refused) == 1
    assert caplog.text.count("strictest order") == 1


async def test_a_request_that_no_order_mends_fails_by_its_first_refusal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def nothing(body: Any) -> Any:
        return mistral_refusal({"messages": [*body["messages"], {"role": "assistant"}]})

    async with (
        StrictEndpoint(further=nothing) as endpoint,
        served(tmp_path, endpoint, "some-model") as inside,
    ):
        run = await send_message(inside, "Hi")
        assert run.reason == "error"
        assert len(endpoint.refused) == 1
    assert "strictest order" not in caplog.text


async def test_calls_have_the_same_short_ids_in_every_request(
    tmp_path: Path, mistral: StrictEndpoint
) -> None:
    mistral.script(call_reply(CALCULATION), text_reply("391"))
    async with served(tmp_path, mistral, "mistral-small-latest") as inside:
        await send_message(inside, "What is 17 * 23?")
        await send_message(inside, "Thanks")
    first, second = (
        [call["id"] for each in request["messages"] for call in each.get("tool_calls") or ()]
        for request in mistral.requests[1:]
    )
    assert first == second
    assert len(first) == 1
