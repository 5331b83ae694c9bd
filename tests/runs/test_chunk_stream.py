"""The stream between a model's server and ChatOpenAI."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest
from langchain_core.messages import AIMessageChunk
from langchain_core.runnables import Runnable

from tests.support.raw_model import (
    Answer,
    RawModel,
    call,
    cut,
    event,
    finish,
    raw_model,
    say,
    sized,
    stream,
)
from turnstream.graphs.model_options import ModelOptions
from turnstream.graphs.openai_model import BoundedChatOpenAI, open_model

TOOL = {
    "type": "function",
    "function": {
        "name": "echo",
        "parameters": {"type": "object", "properties": {"b": {}, "a": {"const": None}}},
    },
}


@asynccontextmanager
async def model_of(*answers: Answer) -> AsyncIterator[tuple[RawModel, BoundedChatOpenAI]]:
    async with (
        raw_model(answers) as raw,
        open_model("raw", ModelOptions(openai_base_url=raw.url, max_message_bytes=1000)) as model,
    ):
        assert isinstance(model, BoundedChatOpenAI)
        yield raw, model


async def said_by(model: Runnable[Any, Any]) -> AIMessageChunk:
    chunks = [chunk async for chunk in model.astream("Hello")]
    return chunks[0] + chunks[1:]  # type: ignore[no-any-return]


async def test_text_and_calls_come_as_they_were_sent() -> None:
    said = (say("Let "), say("me see."), call('{"a"', "echo", "c1"), call(":1}"), finish())
    async with model_of(stream(*said)) as (_, model):
        message = await said_by(model)
        assert message.content == "Let me see."
        assert [(c["id"], c["args"]) for c in message.tool_calls] == [("c1", {"a": 1})]


async def test_an_answer_that_is_not_streamed_is_understood_too() -> None:
    whole = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Fine."}}]}
    body = json.dumps(whole).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    async with model_of(head % len(body) + body) as (raw, model):
        assert (await model.ainvoke("Hello")).content == "Fine."
        assert not json.loads(raw.bodies[0]).get("stream")


async def test_tools_go_out_as_they_are_given() -> None:
    async with model_of() as (raw, model):
        await said_by(model.bind_tools([TOOL]))
        assert json.loads(raw.bodies[0])["tools"] == [TOOL]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ({"message": "Overloaded."}, "Overloaded."),
        ("Overloaded.", "error occurred"),
        (7, "error occurred"),
        ({"message": 7}, "error occurred"),
    ],
)
async def test_an_error_in_a_chunks_place_is_raised(error: Any, told: str) -> None:
    async with model_of(stream(say("Half "), event({"error": error}))) as (_, model):
        chunks = aiter(model.astream("Hello"))
        assert (await anext(chunks)).content == "Half "
        with pytest.raises(openai.APIError, match=told):
            await anext(chunks)


async def test_a_connection_that_breaks_is_an_error_of_the_connection() -> None:
    async with model_of(cut(sized(say("Half "), finish())[:-20])) as (_, model):
        with pytest.raises(openai.APIConnectionError):
            await said_by(model)


async def test_a_connection_serves_the_next_request_too() -> None:
    answer = sized(say("Fine."), finish())
    async with model_of(answer, answer) as (raw, model):
        for _ in range(2):
            await said_by(model)
        assert (len(raw.requests), raw.connections) == (2, 1)


async def test_options_of_the_client_stay_its_own() -> None:
    async with model_of() as (raw, model):
        options = {"extra_body": {"top_k": 3}, "extra_headers": {"X-A": "1"}, "timeout": 5}
        assert (await said_by(model.bind(**options))).content == "Fine."
        body = json.loads(raw.bodies[0])
        assert body["top_k"] == 3
        assert not {"extra_body", "extra_headers", "timeout"} & body.keys()
        assert b"x-a: 1" in raw.requests[0].lower()
