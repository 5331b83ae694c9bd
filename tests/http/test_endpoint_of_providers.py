"""The endpoint in the wires of Anthropic, Gemini and Ollama, asked by LangChain's own classes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

import httpx
import pytest
from anthropic import APIStatusError
from google.genai.errors import APIError
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_ollama import ChatOllama
from ollama import ResponseError
from pydantic import SecretStr

from tests.support.endpoint import (
    Args,
    Break,
    Call,
    CloseClean,
    Cut,
    Delay,
    Fail,
    Finish,
    Nothing,
    Pause,
    Reply,
    Say,
    StrictEndpoint,
    Think,
    Together,
    Usage,
    failures,
    reply,
    text_reply,
)
from tests.support.endpoint.wires.gemini.rules import SKIP
from tests.support.serving import http_client
from tests.support.waiting import WAIT_SECONDS
from turnstream.graphs.replay import SIGNATURES

KEY = SecretStr("x")
CLOCK = {
    "type": "function",
    "function": {
        "name": "clock",
        "description": "Tell the time.",
        "parameters": {
            "type": "object",
            "properties": {"zone": {"type": "string"}},
            "required": ["zone"],
        },
    },
}
QUESTION: list[AnyMessage] = [
    SystemMessage("Be brief."),
    HumanMessage("What time is it in x and in y?"),
]
STEP = reply(
    Think("Hm, "),
    Think("two."),
    Say("Let me "),
    Say("see."),
    Call(0, None, "clock", '{"zone":'),
    Together((Args(0, ' "x"}'), Call(1, None, "clock", '{"zo'))),
    Nothing(),
    Args(1, 'ne": "y"}'),
    Finish(usage=Usage(100, 40, cached_tokens=60, reasoning_tokens=25)),
)


def anthropic(endpoint: StrictEndpoint) -> BaseChatModel:
    return ChatAnthropic(
        model_name="claude-haiku-4-5",
        base_url=endpoint.root_url,
        api_key=KEY,
        max_tokens_to_sample=4096,
        thinking={"type": "enabled", "budget_tokens": 1024},
        max_retries=0,
        timeout=None,
        stop=None,
    )


def gemini(endpoint: StrictEndpoint) -> BaseChatModel:
    return ChatGoogleGenerativeAI(
        model="gemini-3.5-flash",
        base_url=endpoint.root_url,
        api_key=KEY,
        include_thoughts=True,
        retries=1,
    )


def ollama(endpoint: StrictEndpoint) -> BaseChatModel:
    return ChatOllama(model="qwen3", base_url=endpoint.root_url, reasoning=True)


Opened = Callable[[StrictEndpoint], BaseChatModel]
MODELS: dict[str, Opened] = {"anthropic": anthropic, "gemini": gemini, "ollama": ollama}
ERRORS = (APIStatusError, APIError, ResponseError)


@pytest.fixture
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    async with StrictEndpoint() as running:
        yield running


@pytest.fixture(params=MODELS)
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def answer(
    endpoint: StrictEndpoint, provider: str, messages: Sequence[AnyMessage]
) -> AIMessageChunk:
    """All chunks in one, asked with a tool."""
    model = MODELS[provider](endpoint).bind_tools([CLOCK])
    async with asyncio.timeout(WAIT_SECONDS):
        chunks = [chunk async for chunk in model.astream(list(messages))]
    whole = reduce(add, chunks)
    assert isinstance(whole, AIMessageChunk)
    return whole


def thought(message: AIMessage) -> str:
    if "reasoning_content" in message.additional_kwargs:
        return str(message.additional_kwargs["reasoning_content"])
    blocks = [block for block in message.content if isinstance(block, dict)]
    return "".join(block.get("thinking", "") for block in blocks)


def answered(step: AIMessage) -> list[AnyMessage]:
    """The history of a step whose calls were answered."""
    results = [ToolMessage("noon", tool_call_id=c["id"], name=c["name"]) for c in step.tool_calls]
    return [*QUESTION, step, *results]


async def test_the_same_script_is_played_in_every_wire(
    endpoint: StrictEndpoint, provider: str
) -> None:
    endpoint.script(STEP)
    step = await answer(endpoint, provider, QUESTION)
    assert thought(step) == "Hm, two."
    assert step.text == "Let me see."
    called = [(call["name"], call["args"]) for call in step.tool_calls]
    assert called == [("clock", {"zone": "x"}), ("clock", {"zone": "y"})]
    assert endpoint.refused == []
    assert (await endpoint.closed(1)).completed


DETAILS: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "anthropic": ({"cache_read": 60, "cache_creation": 0}, {"reasoning": 25}),
    "gemini": ({"cache_read": 60}, {"reasoning": 25}),
    "ollama": ({}, {}),
}


async def test_usage_is_told_with_what_the_wire_has_a_place_for(
    endpoint: StrictEndpoint, provider: str
) -> None:
    endpoint.script(STEP)
    usage = (await answer(endpoint, provider, QUESTION)).usage_metadata
    assert usage is not None
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (100, 40, 140)
    details = (usage.get("input_token_details", {}), usage.get("output_token_details", {}))
    assert details == DETAILS[provider]


async def test_usage_that_is_not_told_is_counted(endpoint: StrictEndpoint, provider: str) -> None:
    endpoint.script(text_reply("one two three"))
    usage = (await answer(endpoint, provider, QUESTION)).usage_metadata
    assert usage is not None
    assert usage["output_tokens"] == 3
    assert usage["input_tokens"] > 0


REASONS = {
    "stop": ("end_turn", "STOP", "stop"),
    "length": ("max_tokens", "MAX_TOKENS", "length"),
    "content_filter": ("refusal", "SAFETY", "stop"),
    "tool_calls": ("tool_use", "STOP", "stop"),
}
ENDS = {"anthropic": "stop_reason", "gemini": "finish_reason", "ollama": "done_reason"}


@pytest.mark.parametrize("reason", REASONS)
async def test_a_reply_ends_with_the_wires_own_reason(
    endpoint: StrictEndpoint, provider: str, reason: Any
) -> None:
    steps = STEP.steps[:-1] if reason == "tool_calls" else (Say("x"),)
    endpoint.script(Reply((*steps, Finish(reason))))
    whole = await answer(endpoint, provider, QUESTION)
    expected = REASONS[reason][list(MODELS).index(provider)]
    assert whole.response_metadata[ENDS[provider]] == expected


async def test_a_step_that_goes_back_as_it_came_is_taken(
    endpoint: StrictEndpoint, provider: str
) -> None:
    endpoint.script(STEP, STEP, text_reply("Noon in both."))
    first = await answer(endpoint, provider, QUESTION)
    second = await answer(endpoint, provider, answered(first))
    history = [*answered(first), *answered(second)[len(QUESTION) :]]
    assert (await answer(endpoint, provider, history)).text == "Noon in both."
    assert endpoint.refused == []
    assert SKIP not in json.dumps(endpoint.requests)


def unsigned(step: AIMessage) -> list[AnyMessage]:
    """Of Anthropic's thought the signature is gone, of Gemini's call it is another's."""
    content = [
        {**block, "signature": "QUJD"}
        if isinstance(block, dict) and block["type"] == "thinking"
        else block
        for block in step.content
    ]
    signed = {call["id"]: "QUJD" for call in step.tool_calls[:1]}
    extras = {**step.additional_kwargs, SIGNATURES: signed}
    return answered(step.model_copy(update={"content": content, "additional_kwargs": extras}))


def thoughtless(step: AIMessage) -> list[AnyMessage]:
    content = [block for block in step.content if block["type"] != "thinking"]  # type: ignore[index]
    return answered(step.model_copy(update={"content": content}))


def orphaned(step: AIMessage) -> list[AnyMessage]:
    return [*answered(step), ToolMessage("late", tool_call_id="zzz")]


def unanswered(step: AIMessage) -> list[AnyMessage]:
    return [*answered(step)[:-1], HumanMessage("Well?")]


# Gemini's class sends no result that follows no call.
BROKEN: dict[str, tuple[str, Callable[[AIMessage], list[AnyMessage]], str]] = {
    "anthropic, another signature": ("anthropic", unsigned, "Invalid `signature` in `thinking`"),
    "anthropic, no thought": ("anthropic", thoughtless, "Expected `thinking`"),
    "anthropic, an orphan": ("anthropic", orphaned, "unexpected `tool_use_id`"),
    "anthropic, a call unanswered": ("anthropic", unanswered, "without `tool_result` blocks"),
    "gemini, another signature": ("gemini", unsigned, "Corrupted thought signature"),
    "gemini, a call unanswered": ("gemini", unanswered, "number of function response parts"),
    "ollama, an orphan": ("ollama", orphaned, "a tool message answers no call"),
    "ollama, a call unanswered": ("ollama", unanswered, "tool calls have no answer"),
}


@pytest.mark.parametrize(("asked", "broken", "sentence"), BROKEN.values(), ids=BROKEN.keys())
async def test_a_broken_history_is_refused(
    endpoint: StrictEndpoint,
    asked: str,
    broken: Callable[[AIMessage], list[AnyMessage]],
    sentence: str,
) -> None:
    endpoint.script(STEP)
    step = await answer(endpoint, asked, QUESTION)
    with pytest.raises(Exception, match=sentence):
        await answer(endpoint, asked, broken(step))
    [refused] = endpoint.refused
    assert sentence in refused.message


async def test_an_unsigned_call_is_not_gemini_s_own(endpoint: StrictEndpoint) -> None:
    """The class puts Google's way out in the place of a signature that was lost: it is taken, so
    who tests that signatures are kept looks for it."""
    endpoint.script(STEP)
    step = await answer(endpoint, "gemini", QUESTION)
    await answer(endpoint, "gemini", answered(step.model_copy(update={"additional_kwargs": {}})))
    assert endpoint.refused == []
    assert SKIP in json.dumps(endpoint.requests[1])


ADDRESSES = {
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse",
    "ollama": "/api/chat",
}
ASKED: dict[str, dict[str, Any]] = {
    "anthropic": {"model": "claude", "max_tokens": 9, "stream": True, "messages": []},
    "gemini": {"contents": []},
    "ollama": {"model": "qwen3", "messages": []},
}
MESSAGE: dict[str, Callable[[Any], dict[str, Any]]] = {
    "anthropic": lambda block: {"messages": [{"role": "user", "content": [block]}]},
    "gemini": lambda block: {"contents": [{"role": "user", "parts": [block]}]},
    "ollama": lambda block: {"messages": [{"role": "user", "content": [block]}]},
}


async def posted(endpoint: StrictEndpoint, provider: str, body: Any) -> httpx.Response:
    async with http_client(endpoint.root_url) as http:
        return await http.post(ADDRESSES[provider], json=body)


@pytest.mark.parametrize("block", ["Hi", {"text": ""}, {"type": "text", "text": ""}])
async def test_a_bare_string_and_an_empty_text_are_refused_in_the_wires_own_shape(
    endpoint: StrictEndpoint, provider: str, block: Any
) -> None:
    response = await posted(endpoint, provider, {**ASKED[provider], **MESSAGE[provider](block)})
    assert response.status_code == 400
    assert_error(provider, response.json(), 400)
    assert len(endpoint.refused) == 1


TYPES = {
    400: ("invalid_request_error", "INVALID_ARGUMENT"),
    401: ("authentication_error", "UNAUTHENTICATED"),
    404: ("not_found_error", "NOT_FOUND"),
    429: ("rate_limit_error", "RESOURCE_EXHAUSTED"),
    500: ("api_error", "INTERNAL"),
    503: ("", "UNAVAILABLE"),
    529: ("overloaded_error", ""),
}


def assert_error(provider: str, body: Any, status: int) -> str:
    """It has the provider's own shape; the message."""
    match provider, body:
        case "anthropic", {"type": "error", "error": {"type": kind, "message": str(message)}}:
            assert kind == TYPES[status][0]
        case "gemini", {"error": {"code": code, "message": str(message), "status": name}}:
            assert (code, name) == (status, TYPES[status][1])
        case "ollama", {"error": str(message)}:
            assert body.keys() == {"error"}
        case _:
            raise AssertionError(f"not an error of {provider}: {body}")
    return message


FAILURES: dict[str, tuple[Fail, dict[str, int]]] = {
    "rate limited": (failures.rate_limited(), dict.fromkeys(MODELS, 429)),
    "unauthorized": (failures.UNAUTHORIZED, {"anthropic": 401, "gemini": 400, "ollama": 401}),
    "not found": (failures.MODEL_NOT_FOUND, dict.fromkeys(MODELS, 404)),
    "an error": (failures.SERVER_ERROR, dict.fromkeys(MODELS, 500)),
    "overloaded": (failures.OVERLOADED, {"anthropic": 529, "gemini": 503, "ollama": 503}),
    "too long": (failures.CONTEXT_LENGTH_EXCEEDED, dict.fromkeys(MODELS, 400)),
}
TOO_LONG = {
    "anthropic": r"prompt is too long: \d+ tokens > \d+ maximum",
    "gemini": r"The input token count \(\d+\) exceeds the maximum number of tokens allowed",
    "ollama": "maximum context length",
}


@pytest.mark.parametrize(("failure", "statuses"), FAILURES.values(), ids=FAILURES.keys())
async def test_a_failure_has_the_providers_status_and_shape(
    endpoint: StrictEndpoint, provider: str, failure: Fail, statuses: dict[str, int]
) -> None:
    endpoint.script(failure, failure)
    hello = MESSAGE[provider]({"text": "Hi"} if provider == "gemini" else TEXT)
    if provider == "ollama":
        hello = {"messages": [{"role": "user", "content": "Hi"}]}
    response = await posted(endpoint, provider, {**ASKED[provider], **hello})
    assert response.status_code == statuses[provider]
    assert_error(provider, response.json(), statuses[provider])
    assert response.headers.get("retry-after") == failure.headers.get("retry-after")
    expected = TOO_LONG[provider] if failure == failures.CONTEXT_LENGTH_EXCEEDED else None
    with pytest.raises(Exception, match=expected):
        await answer(endpoint, provider, QUESTION)
    assert endpoint.refused == []
    assert len(endpoint.requests) == 2


TEXT = {"type": "text", "text": "Hi"}


async def test_a_filtered_prompt_is_an_answer_of_gemini_without_words(
    endpoint: StrictEndpoint,
) -> None:
    endpoint.script(failures.CONTENT_FILTERED)
    whole = await answer(endpoint, "gemini", QUESTION)
    assert whole.content in ("", [])
    assert whole.response_metadata["prompt_feedback"]["block_reason"] == "SAFETY"


@pytest.mark.parametrize("args", ['{"zone": ', "[]", '"x"', "null"])
async def test_arguments_that_are_no_object_end_a_wire_of_whole_calls(
    endpoint: StrictEndpoint, args: str
) -> None:
    broken = reply(Say("Hm."), Call(0, "a", "clock", args), Say("Never said to Ollama."))
    endpoint.script(broken, broken, broken)
    whole = await answer(endpoint, "gemini", QUESTION)
    assert whole.tool_calls == []
    assert whole.response_metadata["finish_reason"] == "MALFORMED_FUNCTION_CALL"
    with pytest.raises(ResponseError, match="error parsing tool call"):
        await answer(endpoint, "ollama", QUESTION)
    streamed = await answer(endpoint, "anthropic", QUESTION)
    assert [chunk["args"] for chunk in streamed.tool_call_chunks] == [args]


async def test_a_break_is_an_error_in_mid_stream(endpoint: StrictEndpoint, provider: str) -> None:
    endpoint.script(reply(Say("half"), Break("Out of luck.")))
    heard: list[str] = []
    with pytest.raises(ERRORS, match=r"Out of luck\."):
        await listen(MODELS[provider](endpoint), heard)
    assert heard == ["half"]
    assert (await endpoint.closed(1)).completed


async def test_a_cut_is_a_lost_connection(endpoint: StrictEndpoint, provider: str) -> None:
    endpoint.script(reply(Say("half"), Cut()))
    heard: list[str] = []
    with pytest.raises(Exception, match=r"(?i)peer closed|incomplete|connection|payload"):
        await listen(MODELS[provider](endpoint), heard)
    assert "".join(heard) == "half"


async def test_a_clean_close_names_no_reason(endpoint: StrictEndpoint, provider: str) -> None:
    endpoint.script(reply(Say("half"), CloseClean()))
    chunks = [chunk async for chunk in MODELS[provider](endpoint).astream(QUESTION)]
    assert [chunk.text for chunk in chunks if chunk.text] == ["half"]
    assert all(ENDS[provider] not in chunk.response_metadata for chunk in chunks)


async def listen(model: BaseChatModel, heard: list[str]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        async for chunk in model.astream(QUESTION):
            heard += [chunk.text] if chunk.text else []


async def test_a_pause_holds_the_rest(endpoint: StrictEndpoint, provider: str) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(reply(Say("before"), pause, Delay(0.001), Say("after")))
    heard = []
    async with asyncio.timeout(WAIT_SECONDS):
        async for chunk in MODELS[provider](endpoint).astream(QUESTION):
            if chunk.text:
                heard.append((chunk.text, pause.event.is_set()))
                await pause.reached.wait()
                pause.event.set()
    assert heard == [("before", False), ("after", True)]


@pytest.mark.parametrize(
    "ahead", [(), (Say("x"),), (Think("Hm."),)], ids=["", "words", "a thought"]
)
async def test_a_client_that_leaves_is_noticed(
    endpoint: StrictEndpoint, provider: str, ahead: tuple[Say | Think, ...]
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(reply(*ahead, pause))
    listening = asyncio.create_task(listen(MODELS[provider](endpoint), []))
    await endpoint.arrived(1)
    async with asyncio.timeout(WAIT_SECONDS):
        await pause.reached.wait()
    listening.cancel()
    exchange = await endpoint.closed(1)
    assert not exchange.completed
    assert endpoint.open == 0
    await asyncio.gather(listening, return_exceptions=True)


async def test_a_model_that_ollama_has_not_is_404(endpoint: StrictEndpoint) -> None:
    endpoint.ollama_models = ("llama3",)
    with pytest.raises(ResponseError, match="model 'qwen3' not found") as caught:
        await answer(endpoint, "ollama", QUESTION)
    assert caught.value.status_code == 404


@pytest.mark.parametrize("method", ["generateContent", "countTokens"])
async def test_gemini_streams_and_does_nothing_else(endpoint: StrictEndpoint, method: str) -> None:
    async with http_client(endpoint.root_url) as http:
        response = await http.post(f"/v1beta/models/gemini-3.5-flash:{method}", json={})
    assert response.status_code == 404
