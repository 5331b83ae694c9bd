"""Well-formed streams with odd fields, read by LangChain's ChatOpenAI and by ours."""

import asyncio
import json
import warnings
from collections.abc import Sequence
from typing import Any

import httpx2
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from turnstream.graphs.model_options import ModelOptions
from turnstream.graphs.model_wire import model_clients
from turnstream.graphs.openai_model import openai_model

SERVER = "http://model.test/v1"
MODEL = openai_model("a-model", ModelOptions())
Json = dict[str, Any]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
TEXTS = st.text("ab 42.\n", min_size=1, max_size=6)
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("xyz", max_size=2), inner),
    max_leaves=4,
)
KEYS = {
    "chunk": (
        "id",
        "object",
        "created",
        "model",
        "system_fingerprint",
        "service_tier",
        "citations",
    ),
    "choice": ("index", "logprobs", "stop_reason", "token_ids", "extra"),
    "delta": (
        *("role", "refusal", "reasoning_content", "reasoning", "reasoning_details", "extra"),
        *("annotations", "images"),
    ),
    "call": ("type", "extra_content", "extra"),
    "function": ("strict", "extra"),
    "usage": ("total_tokens", "prompt_tokens_details", "completion_tokens_details", "cost"),
}
"""Fields that no turn needs, by the object that has them."""


@st.composite
def with_odd_fields(draw: st.DrawFn, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    added = draw(st.dictionaries(st.sampled_from(KEYS[kind]), ODD, max_size=2))
    return {**added, **value} if draw(st.booleans()) else {**value, **added}


@st.composite
def call_pieces(draw: st.DrawFn, index: int) -> list[dict[str, Any]]:
    args = json.dumps(draw(st.dictionaries(st.text("ab", max_size=2), st.integers(0, 9))))
    cut = draw(st.integers(0, len(args)))
    head = function_of(draw, {"name": "f", "arguments": args[:cut]})
    tail = function_of(draw, {"arguments": args[cut:]})
    calls = [
        {"index": index, "id": f"call_{index}", "type": "function", "function": head},
        {"index": index, "function": tail},
    ]
    return [{"tool_calls": [draw(with_odd_fields("call", call))]} for call in calls]


def function_of(draw: st.DrawFn, function: dict[str, Any]) -> dict[str, Any]:
    return draw(with_odd_fields("function", function))


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """A message of text and calls, with its end and usage, as server-sent events."""
    deltas: list[dict[str, Any]] = [{"content": text} for text in draw(st.lists(TEXTS, max_size=3))]
    calls = draw(st.integers(0 if deltas else 1, 2))
    for index in range(calls):
        deltas += draw(call_pieces(index))
    ends: dict[str, Any] = {"delta": {}, "finish_reason": "tool_calls" if calls else "stop"}
    choices = [{"delta": draw(with_odd_fields("delta", delta))} for delta in deltas]
    chunks: list[dict[str, Any]] = [
        {"choices": [draw(with_odd_fields("choice", choice))]} for choice in [*choices, ends]
    ]
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    chunks.append({"choices": [], "usage": draw(with_odd_fields("usage", usage))})
    events = [json.dumps(draw(with_odd_fields("chunk", chunk))) for chunk in chunks]
    return "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode()


def playing(stream: bytes) -> httpx2.MockTransport:
    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=stream)

    return httpx2.MockTransport(answer)


async def said_to_langchain(stream: bytes) -> AIMessageChunk:
    async with httpx2.AsyncClient(transport=playing(stream)) as client:
        model = ChatOpenAI(
            model="m",
            base_url=SERVER,
            api_key=SecretStr("test"),
            http_async_client=client,
            stream_usage=True,
            use_responses_api=False,
            stream_chunk_timeout=0,
        )
        return await whole(model)


async def said_to_us(stream: bytes) -> AIMessageChunk:
    clients = model_clients(1_000_000)
    clients.asynchronous._transport = playing(stream)
    clients.asynchronous._mounts = {}
    with clients.sync:
        async with clients.asynchronous:
            return await whole(openai_model("m", ModelOptions("test", SERVER), clients))


async def whole(model: ChatOpenAI) -> AIMessageChunk:
    chunks: list[Any] = [chunk async for chunk in model.bind_tools([TOOL]).astream("Hi")]
    message = add_ai_message_chunks(*chunks)
    assert isinstance(message, AIMessageChunk)
    return message


def calls_of(message: AIMessageChunk) -> Sequence[Any]:
    return [(call["id"], call["name"], call["args"]) for call in message.tool_calls]


@given(streams())
def test_what_langchain_finishes_is_finished_with_the_same_words_and_calls(stream: bytes) -> None:
    ours = asyncio.run(said_to_us(stream))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = asyncio.run(said_to_langchain(stream))
    except Exception:  # noqa: BLE001  it takes fewer streams, with any exception
        return
    assert ours.text == theirs.text
    assert calls_of(ours) == calls_of(theirs)
    reasons = [each.response_metadata.get("finish_reason") for each in (ours, theirs)]
    assert reasons[0] == reasons[1]


@given(st.sampled_from([{}, {"role": "assistant"}, {"role": "user"}]), st.text(max_size=5))
def test_a_chunk_of_text_alone_is_what_langchain_makes_of_it(role: Json, text: str) -> None:
    delta = {**role, "content": text}
    chunk = {"id": "c1", "model": "a-model", "choices": [{"index": 0, "delta": delta}]}
    ours = MODEL._convert_chunk_to_generation_chunk(chunk, AIMessageChunk, None)
    bare = {**chunk, "choices": [{"delta": {"content": text}}]}
    theirs = ChatOpenAI._convert_chunk_to_generation_chunk(MODEL, bare, AIMessageChunk, None)
    assert ours is not None
    assert theirs is not None
    assert ours.model_dump() == theirs.model_dump()
