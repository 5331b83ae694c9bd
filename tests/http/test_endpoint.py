"""The endpoint that other tests run against plays what it is told, over HTTP."""

import asyncio
import gc
import json
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import openai
import pytest
from langchain_core.messages import AIMessageChunk, HumanMessage
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk
from pydantic import SecretStr

from tests.support.endpoint import (
    Args,
    Body,
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
    call_reply,
    failures,
    reply,
    text_reply,
)
from tests.support.endpoint.paces import tool_then_words, words
from tests.support.endpoint.posted import (
    CALCULATOR,
    USER,
    body,
    call,
    calling,
    function,
    offering,
    result,
)
from tests.support.endpoint.sample_args import sample
from tests.support.serving import http_client
from tests.support.waiting import WAIT_SECONDS

ANSWERED = (USER, calling(call("a")), result("a"))


@pytest.fixture
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    async with StrictEndpoint() as running:
        yield running


@pytest.fixture
async def client(endpoint: StrictEndpoint) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=endpoint.base_url, api_key="test", max_retries=0) as opened:
        yield opened


async def stream(client: AsyncOpenAI, **options: Any) -> AsyncIterator[ChatCompletionChunk]:
    body: Any = {"model": "any", "messages": [USER], **options}
    async with (
        asyncio.timeout(WAIT_SECONDS),
        await client.chat.completions.create(**body, stream=True) as got,
    ):
        async for chunk in got:
            yield chunk


async def deltas(client: AsyncOpenAI) -> list[dict[str, Any]]:
    """The deltas of a reply, without the opening one and the empty one of the finish."""
    chunks = [chunk async for chunk in stream(client)]
    assert chunks[0].choices[0].delta.role == "assistant"
    return [chunk.choices[0].delta.to_dict() for chunk in chunks[1:-1]]


async def collect(source: AsyncIterator[bytes], into: bytearray) -> None:
    async for data in source:
        into += data


async def said(chunks: AsyncIterator[ChatCompletionChunk], into: list[str]) -> None:
    async for chunk in chunks:
        into += [choice.delta.content for choice in chunk.choices if choice.delta.content]


async def test_a_refused_request_gets_400_in_the_shape_of_openai(
    endpoint: StrictEndpoint, client: AsyncOpenAI
) -> None:
    endpoint.script(text_reply("Never said."))
    with pytest.raises(openai.BadRequestError) as caught:
        await client.chat.completions.create(model="any", messages=[])
    [refused] = endpoint.refused
    assert caught.value.body == refused.body()["error"]
    assert caught.value.type == "invalid_request_error"
    assert caught.value.param == "messages"
    assert caught.value.code == "empty_array"
    assert (await endpoint.closed(1)).refusal == refused
    assert endpoint.unplayed == 1


async def test_bytes_that_are_no_json_get_400(endpoint: StrictEndpoint) -> None:
    async with http_client(endpoint.base_url) as http:
        response = await http.post("/chat/completions", content=b"{bad")
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert endpoint.refused
    assert endpoint.requests == [{}]


async def test_turns_are_played_in_order_and_then_the_default(
    endpoint: StrictEndpoint, client: AsyncOpenAI
) -> None:
    endpoint.script(text_reply("one"), lambda body: text_reply(body["model"]))
    endpoint.default = text_reply("default")
    heard: list[str] = []
    for _ in range(4):
        await said(stream(client), heard)
    assert heard == ["one", "any", "default", "default"]
    assert [request["messages"] for request in endpoint.requests] == [[USER]] * 4
    assert endpoint.unplayed == 0


async def test_a_callable_default_answers_threads_side_by_side(
    endpoint: StrictEndpoint, client: AsyncOpenAI
) -> None:
    endpoint.default = lambda body: text_reply("re:" + body["messages"][0]["content"])

    async def ask(question: str) -> str:
        heard: list[str] = []
        await said(stream(client, messages=[{"role": "user", "content": question}]), heard)
        return "".join(heard)

    questions = [f"q{n}" for n in range(5)]
    answers = await asyncio.gather(*map(ask, questions))
    assert answers == [f"re:{question}" for question in questions]


CALL_DELTAS: dict[str, tuple[Reply, list[dict[str, Any]]]] = {
    "text a word a delta": (
        text_reply("Hello big  world"),
        [{"content": "Hello "}, {"content": "big "}, {"content": " "}, {"content": "world"}],
    ),
    "empty deltas": (reply(Say(""), Nothing()), [{"content": ""}, {}]),
    "reasoning": (reply(Think("hm")), [{"reasoning_content": "hm"}]),
    "a call in fragments": (
        reply(Call(0, "a", "calculator"), Args(0, '{"exp'), Args(0, ""), Args(0, "{bad")),
        [
            {"tool_calls": [{"index": 0, **call("a", arguments="")}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": '{"exp'}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": ""}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": "{bad"}}]},
        ],
    ),
    "interleaved calls": (
        reply(Call(0, "a", "x"), Call(1, "b", "y"), Args(1, "{"), Args(0, "{}"), Args(1, "}")),
        [
            {"tool_calls": [{"index": 0, **call("a", "x", "")}]},
            {"tool_calls": [{"index": 1, **call("b", "y", "")}]},
            {"tool_calls": [{"index": 1, "function": {"arguments": "{"}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]},
            {"tool_calls": [{"index": 1, "function": {"arguments": "}"}}]},
        ],
    ),
    "a call with no id and no name": (
        reply(Call(0, None, None, "{}")),
        [{"tool_calls": [{"index": 0, "type": "function", "function": {"arguments": "{}"}}]}],
    ),
    "two calls in one delta": (
        reply(Together((Call(0, "a", "x", "{}"), Call(1, "a", "x", "{}")))),
        [{"tool_calls": [{"index": 0, **call("a", "x")}, {"index": 1, **call("a", "x")}]}],
    ),
    "whole calls": (
        call_reply(("x", "{}"), ("y", "[]"), ids=("a", "b")),
        [
            {"tool_calls": [{"index": 0, **call("a", "x")}]},
            {"tool_calls": [{"index": 1, **call("b", "y", "[]")}]},
        ],
    ),
}


@pytest.mark.parametrize(("scripted", "expected"), CALL_DELTAS.values(), ids=CALL_DELTAS.keys())
async def test_deltas_arrive_as_scripted(
    endpoint: StrictEndpoint,
    client: AsyncOpenAI,
    scripted: Reply,
    expected: list[dict[str, Any]],
) -> None:
    endpoint.script(scripted)
    assert await deltas(client) == expected


@pytest.mark.parametrize(
    ("scripted", "reason"),
    [
        (text_reply("x"), "stop"),
        (call_reply(("x", "{}")), "tool_calls"),
        (reply(Say("x"), Finish("length")), "length"),
        (reply(Finish("content_filter")), "content_filter"),
    ],
)
async def test_a_reply_finishes_with_its_reason(
    endpoint: StrictEndpoint, client: AsyncOpenAI, scripted: Reply, reason: str
) -> None:
    endpoint.script(scripted)
    chunks = [chunk async for chunk in stream(client)]
    assert [chunk.choices[0].finish_reason for chunk in chunks][-1] == reason
    assert {chunk.choices[0].finish_reason for chunk in chunks[:-1]} <= {None}


def test_calls_without_given_ids_never_share_one() -> None:
    steps = (*call_reply(("x", "{}"), ("y", "{}")).steps, *call_reply(("x", "{}")).steps)
    ids = [step.id for step in steps if isinstance(step, Call)]
    assert len(set(ids)) == 3


async def test_usage_comes_last_with_no_choices_when_asked_for(
    endpoint: StrictEndpoint, client: AsyncOpenAI
) -> None:
    endpoint.script(text_reply("one two three"), text_reply("one two three"))
    asked = [c async for c in stream(client, stream_options={"include_usage": True})]
    assert asked[-1].choices == []
    assert asked[-1].usage is not None
    assert asked[-1].usage.completion_tokens == 3
    assert asked[-1].usage.prompt_tokens > 0
    assert all(chunk.usage is None and chunk.choices for chunk in asked[:-1])
    unasked = [chunk async for chunk in stream(client)]
    assert all(chunk.usage is None and chunk.choices for chunk in unasked)


async def test_usage_can_be_told(endpoint: StrictEndpoint, client: AsyncOpenAI) -> None:
    endpoint.script(reply(Say("x"), Finish(usage=Usage(7, 5))))
    *_, last = [chunk async for chunk in stream(client, stream_options={"include_usage": True})]
    assert last.usage is not None
    assert (last.usage.prompt_tokens, last.usage.total_tokens) == (7, 12)


async def test_a_pause_holds_the_rest_until_its_event(
    endpoint: StrictEndpoint, client: AsyncOpenAI
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(reply(Say("before"), pause, Say("after")))
    heard = []
    async for chunk in stream(client):
        if chunk.choices[0].delta.content:
            heard.append((chunk.choices[0].delta.content, pause.event.is_set(), endpoint.open))
            await pause.reached.wait()
            pause.event.set()
    assert heard == [("before", False, 1), ("after", True, 0)]
    assert endpoint.open == 0
    assert (await endpoint.closed(1)).completed


async def test_a_leading_pause_holds_the_headers_too(
    endpoint: StrictEndpoint, client: AsyncOpenAI
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(reply(pause, Say("at last")))
    async with asyncio.timeout(WAIT_SECONDS):
        asking = asyncio.create_task(
            client.chat.completions.create(model="any", messages=[USER], stream=True)
        )
        await pause.reached.wait()
        await said(stream(client), [])  # time enough for headers, had they been sent
        assert not asking.done()
        pause.event.set()
        opened = await asking
        await opened.close()


async def test_delays_do_not_change_what_is_said(
    endpoint: StrictEndpoint, client: AsyncOpenAI
) -> None:
    endpoint.script(reply(Delay(0.001), Say("a"), Delay(0.001), Say("b")))
    heard: list[str] = []
    await said(stream(client), heard)
    assert heard == ["a", "b"]


async def test_a_client_that_leaves_a_paused_reply_is_noticed(
    endpoint: StrictEndpoint, client: AsyncOpenAI
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(reply(Say("x"), pause))
    listening = asyncio.create_task(said(stream(client), []))
    await endpoint.arrived(1)
    async with asyncio.timeout(WAIT_SECONDS):
        await pause.reached.wait()
    listening.cancel()
    exchange = await endpoint.closed(1)
    assert not exchange.completed
    assert endpoint.open == 0
    await asyncio.gather(listening, return_exceptions=True)


async def test_a_client_that_leaves_between_paced_deltas_is_noticed(
    endpoint: StrictEndpoint, client: AsyncOpenAI
) -> None:
    endpoint.script(words(100, delay=3600), words(100_000, delay=0.0001))
    for number in (1, 2):
        listening = asyncio.create_task(said(stream(client), []))
        await endpoint.arrived(number)
        listening.cancel()
        assert not (await endpoint.closed(number)).completed
        await asyncio.gather(listening, return_exceptions=True)


async def test_a_cut_breaks_the_stream_after_what_was_said(
    endpoint: StrictEndpoint, client: AsyncOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    much = "x" * 5_000_000
    endpoint.script(reply(Say("half"), Cut()), reply(Cut()), reply(Say(much), Cut()))
    heard: list[str] = []
    for _ in range(3):
        with pytest.raises(openai.APIConnectionError):
            await said(stream(client), heard)
    assert heard == ["half", much]
    assert (await endpoint.closed(1)).completed
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []


async def test_a_cut_after_the_finish_leaves_out_done(endpoint: StrictEndpoint) -> None:
    endpoint.script(reply(Say("all"), Finish(), Cut()))
    received = bytearray()
    async with http_client(endpoint.base_url) as http:
        asked = body(USER, stream=True)
        async with http.stream("POST", "/chat/completions", json=asked) as response:
            with pytest.raises(httpx.RemoteProtocolError):
                await collect(response.aiter_bytes(), received)
    assert b'"finish_reason":"stop"' in received
    assert b"[DONE]" not in received


@pytest.mark.parametrize("done", [True, False])
async def test_a_clean_close_names_no_finish_reason(endpoint: StrictEndpoint, done: bool) -> None:
    endpoint.script(reply(Say("half"), CloseClean(done=done)))
    async with http_client(endpoint.base_url) as http:
        response = await http.post("/chat/completions", json=body(USER, stream=True))
    *chunks, last = response.text.removesuffix("\n\n").split("\n\n")
    chunks = chunks if done else [*chunks, last]
    assert (last == "data: [DONE]") is done
    reasons = [json.loads(chunk[6:])["choices"][0]["finish_reason"] for chunk in chunks]
    assert reasons == [None, None]


async def test_an_error_in_mid_stream_reaches_the_client(
    endpoint: StrictEndpoint, client: AsyncOpenAI
) -> None:
    endpoint.script(reply(Say("half"), Break("Out of luck.", code="luck")))
    heard: list[str] = []
    with pytest.raises(openai.APIError, match="Out of luck") as caught:
        await said(stream(client), heard)
    assert heard == ["half"]
    assert caught.value.code == "luck"


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (failures.UNAUTHORIZED, openai.AuthenticationError),
        (failures.MODEL_NOT_FOUND, openai.NotFoundError),
        (failures.rate_limited(), openai.RateLimitError),
        (failures.SERVER_ERROR, openai.InternalServerError),
        (failures.OVERLOADED, openai.InternalServerError),
        (failures.CONTEXT_LENGTH_EXCEEDED, openai.BadRequestError),
        (failures.CONTENT_FILTERED, openai.BadRequestError),
    ],
)
@pytest.mark.parametrize("streaming", [True, False])
async def test_a_failure_is_its_status_and_its_code(
    endpoint: StrictEndpoint,
    client: AsyncOpenAI,
    failure: Fail,
    error: type[openai.APIStatusError],
    streaming: bool,
) -> None:
    endpoint.script(failure)
    with pytest.raises(error) as caught:
        await client.chat.completions.create(
            model="any",
            messages=[USER],
            stream=streaming,
        )
    assert caught.value.status_code == failure.status
    assert caught.value.code == failure.code
    assert endpoint.refused == []


async def test_a_client_that_tries_again_after_429_gets_the_next_turn(
    endpoint: StrictEndpoint, client: AsyncOpenAI
) -> None:
    endpoint.script(failures.rate_limited(0.001), failures.rate_limited(0.001), text_reply("x"))
    heard: list[str] = []
    await said(stream(client.with_options(max_retries=2)), heard)
    assert heard == ["x"]
    assert len(endpoint.requests) == 3


async def test_rate_limits_say_when_to_come_back(endpoint: StrictEndpoint) -> None:
    endpoint.script(failures.rate_limited(1.5))
    async with http_client(endpoint.base_url) as http:
        response = await http.post("/chat/completions", json=body(USER))
    assert response.headers["retry-after"] == "2"
    assert response.headers["retry-after-ms"] == "1500"


async def test_a_reply_in_one_piece_says_the_same_as_a_stream(
    endpoint: StrictEndpoint, client: AsyncOpenAI
) -> None:
    endpoint.script(
        reply(Say("Let me "), Think("hm"), Say("see."), Call(0, "a", "x"), Args(0, "{}"))
    )
    got = await client.chat.completions.create(model="any", messages=[USER])
    [choice] = got.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "Let me see."
    assert choice.message.to_dict()["tool_calls"] == [call("a", "x")]
    assert got.usage is not None
    assert got.usage.completion_tokens == 5


async def test_a_reply_in_one_piece_can_be_cut_or_broken(
    endpoint: StrictEndpoint, client: AsyncOpenAI
) -> None:
    endpoint.script(reply(Say("x"), Cut()), reply(Break()))
    for error in (openai.APIConnectionError, openai.InternalServerError):
        with pytest.raises(error):
            await client.chat.completions.create(model="any", messages=[USER])


@pytest.mark.parametrize(("options", "connection"), [({}, "close"), ({"keep_alive": True}, None)])
async def test_a_connection_serves_one_request_unless_kept_alive(
    options: dict[str, Any], connection: str | None
) -> None:
    async with (
        StrictEndpoint(**options) as endpoint,
        http_client(endpoint.base_url) as http,
    ):
        for _ in range(2):
            response = await http.post("/chat/completions", json=body(USER))
            assert response.headers.get("connection") == connection


async def test_chat_openai_streams_calls_and_leaves_nothing_open(endpoint: StrictEndpoint) -> None:
    endpoint.script(
        reply(Say("Hm. "), Call(0, "a", "calculator", '{"expression"'), Args(0, ': "1+1"}'))
    )
    model = ChatOpenAI(
        base_url=endpoint.base_url, api_key=SecretStr("test"), model="any", stream_usage=True
    ).bind_tools([CALCULATOR])
    async with asyncio.timeout(WAIT_SECONDS):
        chunks = [chunk async for chunk in model.astream([HumanMessage("1+1?")])]
    whole = sum((c for c in chunks if isinstance(c, AIMessageChunk)), AIMessageChunk(content=""))
    assert whole.content == "Hm. "
    assert [(c["name"], c["args"], c["id"]) for c in whole.tool_calls] == [
        ("calculator", {"expression": "1+1"}, "a")
    ]
    assert whole.usage_metadata is not None
    assert whole.response_metadata["finish_reason"] == "tool_calls"
    assert endpoint.refused == []
    del model
    gc.collect()


async def test_leaving_the_block_ends_paused_replies_and_tasks() -> None:
    before = asyncio.all_tasks()
    async with StrictEndpoint() as endpoint:
        endpoint.script(reply(Say("x"), Pause(asyncio.Event())), reply(Pause(asyncio.Event())))
        async with AsyncOpenAI(base_url=endpoint.base_url, api_key="test", max_retries=0) as client:
            listening = [asyncio.create_task(said(stream(client), [])) for _ in range(2)]
            await endpoint.arrived(2)
            assert endpoint.open == 2
            await endpoint.__aexit__(None, None, None)
            errors = await asyncio.gather(*listening, return_exceptions=True)
    assert [type(error) for error in errors] == [openai.APIConnectionError] * 2
    assert not (await endpoint.closed(1)).completed
    assert asyncio.all_tasks() == before


async def test_waiting_for_what_never_comes_ends_in_a_timeout(
    endpoint: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.support.endpoint.endpoint.WAIT_SECONDS", 0.01)
    with pytest.raises(TimeoutError):
        await endpoint.arrived(1)
    with pytest.raises(TimeoutError):
        await endpoint.closed(1)


def test_words_are_as_many_as_asked_for_and_paced_one_by_one() -> None:
    assert len(words(200).steps) == 200
    paced = words(3, delay=0.5).steps
    assert [type(step) for step in paced] == [Say, Delay, Say, Delay, Say]
    assert words(3) == words(3)


def test_a_tool_is_called_before_the_words() -> None:
    turn: Callable[[Body], Any] = tool_then_words(3)
    [called] = turn(offering(function(name="clock"), CALCULATOR)).steps
    assert (called.name, json.loads(called.args)) == ("calculator", {"expression": "1+1"})
    [other] = turn(offering(function(name="clock"))).steps
    assert other.name == "clock"
    assert turn(body(*ANSWERED, tools=[CALCULATOR])) == words(3)
    assert turn(body(USER)) == words(3)


def test_sample_arguments_fit_their_schema() -> None:
    schema = {
        "type": "object",
        "$defs": {"unit": {"enum": ["m", "ft"]}},
        "properties": {
            "unit": {"$ref": "#/$defs/unit"},
            "maybe": {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]},
            "rows": {"type": "array", "items": {"type": "boolean"}, "minItems": 2},
            "left_out": {"type": "string"},
        },
        "required": ["unit", "maybe", "rows"],
    }
    assert sample(schema) == {"unit": "m", "maybe": 3, "rows": [True, True]}


async def test_it_runs_alone_and_ends_when_told() -> None:
    options = ("--words", "3", "--tool-call")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.endpoint", *options, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(20):
        url = (await process.stdout.readline()).decode().strip()
        async with http_client(url) as http:
            first = await http.post("/chat/completions", json=offering(CALCULATOR))
            then = await http.post("/chat/completions", json=body(*ANSWERED, tools=[CALCULATOR]))
        process.terminate()
        rest = await process.stdout.read()
        assert await process.wait() == 0
    called = first.json()["choices"][0]["message"]["tool_calls"][0]["function"]
    assert called == {"name": "calculator", "arguments": '{"expression": "1+1"}'}
    assert then.json()["choices"][0]["message"]["content"] == "solar panels turn "
    assert rest == b""
