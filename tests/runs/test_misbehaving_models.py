"""A model's server as the attacker: a run ends in order, and the thread takes the next message."""

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from pydantic import AfterValidator

from tests.support.backend import Backend, backend, chunks_of, message
from tests.support.counting_tools import CountingTools
from tests.support.raw_model import (
    DONE,
    EVENT_STREAM,
    FINE,
    Answer,
    RawModel,
    call,
    chunk,
    endless,
    event,
    finish,
    held_open,
    raw_model,
    say,
    stream,
)
from tests.support.samples import repeat, sample
from tests.support.scripted_model import ScriptedModel
from tests.support.scripted_model import call as scripted_call
from tests.support.scripted_model import text as scripted_text
from tests.support.waiting import WAIT_SECONDS
from turnstream.graphs.limits import Limits
from turnstream.graphs.model_options import ModelOptions
from turnstream.graphs.model_output import MAX_PARTS
from turnstream.graphs.openai_model import open_model
from turnstream.server.turns.accumulate import accumulate
from turnstream.server.turns.chunks import (
    Chunk,
    Error,
    MessageFinish,
    Result,
    RunEnded,
    TextDelta,
    Usage,
)
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool

MEGABYTE = "x" * 1_000_000
NO_TOOLS = Catalogue((), ())
HTML = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>Not here</html>"
)
PACKED = gzip.compress(say("y" * 100_000) + finish())
GZIP = EVENT_STREAM[:-2] + b"Content-Encoding: gzip\r\n\r\n" + PACKED


@asynccontextmanager
async def served(
    *answers: Answer, max_message_bytes: int = 1_000_000, **values: Any
) -> AsyncIterator[tuple[RawModel, Backend]]:
    """The server without HTTP on a model's server that answers so."""
    path: Path = values.pop("path")
    limits = Limits(max_message_bytes=max_message_bytes)
    async with (
        raw_model(answers) as raw,
        open_model(
            "raw", ModelOptions("secret-key", raw.url, max_message_bytes=max_message_bytes)
        ) as model,
        backend(path / "t.db", model, limits=limits, **values) as inside,
    ):
        yield raw, inside


async def goes_on(inside: Backend) -> None:
    """The thread takes the next message, and a model that behaves is understood."""
    chunks = await inside.turn(message("Go on."))
    assert text_of(chunks) == "Fine."
    assert finish_of(chunks) == "stop"


def text_of(chunks: Sequence[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


def finish_of(chunks: Sequence[Chunk]) -> str:
    return next(chunk.reason for chunk in chunks if isinstance(chunk, MessageFinish))


def error_of(chunks: Sequence[Chunk]) -> str | None:
    return next((chunk.code for chunk in chunks if isinstance(chunk, Error)), None)


async def kept(inside: Backend) -> AIMessage:
    return next(m for m in reversed(await inside.messages()) if isinstance(m, AIMessage))


MALFORMED: dict[str, bytes] = {
    "no JSON": b"data: {nonsense\n\n",
    "JSON nested too deep": b"data: " + b"[" * 200_000 + b"\n\n",
    "JSON that is no object": event([1]),
    "a number": event(1),
    "choices of a wrong type": event({"choices": {"0": {}}}),
    "a choice of a wrong type": event({"choices": ["text"]}),
    "a delta of a wrong type": event(chunk("text")),
    "content of a wrong type": event(chunk({"content": 5})),
    "content of blocks of a wrong type": event(chunk({"content": [{"text": 5}]})),
    "calls of a wrong type": event(chunk({"tool_calls": "calls"})),
    "a call of a wrong type": event(chunk({"tool_calls": ["call"]})),
    "a function of a wrong type": event(chunk({"tool_calls": [{"index": 0, "function": "f"}]})),
    "arguments of a wrong type": event(
        chunk({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": [1]}}]})
    ),
    "too many values": event(chunk({"content": "x"}, x=[0] * 10_001)),
    "a number of too many digits": b'data: {"choices": [], "x": ' + b"9" * 401 + b"}\n\n",
    "a name of 1 MB": call("{}", MEGABYTE, "c1"),
    "a finish reason of 1 MB": event(chunk({"content": "x"}, MEGABYTE)),
    "a finish reason of a wrong type": event(chunk({"content": "x"}, ["stop"])),
    "a NUL byte": b'data: {"choices": [{"index": 0, "delta": {"content": "\0"}}]}\n\n',
    "NaN": b'data: {"choices": [{"index": NaN, "delta": {"content": "x"}}]}\n\n',
    "no UTF-8": b'data: {"choices": [{"index": 0, "delta": {"content": "\xff"}}]}\n\n',
}


@pytest.mark.parametrize(
    "said_before", [repeat(b"", "at once"), pytest.param(say("Half "), id="in mid-stream")]
)
@pytest.mark.parametrize("wrong", MALFORMED.values(), ids=MALFORMED.keys())
async def test_a_malformed_event_is_an_error_of_the_model(
    tmp_path: Path, wrong: bytes, said_before: bytes
) -> None:
    answer = stream(said_before, wrong, finish())
    async with served(answer, path=tmp_path) as (_, inside):
        run = await inside.start(message("Hello"))
        chunks = await chunks_of(run)
        assert (error_of(chunks), finish_of(chunks)) == ("model_error", "error")
        assert (await inside.turns())[-1] == accumulate(chunks, run.header.message_id)
        await goes_on(inside)


def counted(**usage: Any) -> bytes:
    return event(chunk({"content": "x"}, usage=usage))


UNNEEDED: dict[str, bytes] = {
    "no choices": event({"id": "x"}),
    "choices null": event({"choices": None}),
    "a choice null": event({"choices": [None]}),
    "many choices": event({"choices": chunk({"content": "x"})["choices"] * 17}),
    "a second choice of a wrong type": event(
        {"choices": [*chunk({"content": "x"})["choices"], "second"]}
    ),
    "a delta null": event(chunk(None)),
    "no delta": event({"choices": [{"index": 0, "finish_reason": None}]}),
    "a block of another kind": event(
        chunk({"content": [{"type": "thinking", "thinking": [{"text": "Hm"}]}, None, "x"]})
    ),
    "calls null": event(chunk({"content": "x", "tool_calls": None})),
    "a call null": event(chunk({"content": "x", "tool_calls": [None]})),
    "a chunk's id that is a number": event(chunk({"content": "x"}) | {"id": 7}),
    "a model of a wrong type": event(chunk({"content": "x"}, model={"a": 1})),
    "a model of 1 MB": event(chunk({"content": "x"}, model=MEGABYTE)),
    "a role of a wrong type": event(chunk({"content": "x", "role": ["assistant"]})),
    "an id of a wrong type in a delta": event(chunk({"content": "x", "id": 3})),
    "usage that is text": event(chunk({"content": "x"}, usage="many")),
    "usage that is a list": event(chunk({"content": "x"}, usage=[1])),
    "text inside usage": counted(prompt_tokens=1, search_context_size="low"),
    "a count that is text": counted(prompt_tokens="many"),
    "a count that is true": counted(prompt_tokens=True),
    "a negative count": counted(completion_tokens=-1),
    "a count beyond 32 bits": counted(prompt_tokens=1, cost_in_usd_ticks=2**40),
    "a count that no number holds": counted(prompt_tokens=10**40),
    "a count with a fraction": counted(prompt_tokens=1.5, cost=0.0003),
    "details that are a list": counted(prompt_tokens_details=[1]),
    "details of wrong types": counted(prompt_tokens_details={"cached_tokens": "none", "x": [1]}),
}


@pytest.mark.parametrize("odd", UNNEEDED.values(), ids=UNNEEDED.keys())
async def test_a_field_that_nobody_needs_fails_no_turn(tmp_path: Path, odd: bytes) -> None:
    async with served(stream(say("Said. "), odd, finish()), path=tmp_path) as (_, inside):
        run = await inside.start(message("Hello"))
        chunks = await chunks_of(run)
        assert (error_of(chunks), finish_of(chunks)) == (None, "stop")
        assert text_of(chunks).removesuffix("x") == "Said. "
        assert (await inside.turns())[-1] == accumulate(chunks, run.header.message_id)
        await goes_on(inside)


async def test_counts_that_can_be_read_are_counted_beside_those_that_cannot(
    tmp_path: Path,
) -> None:
    usage = {
        "prompt_tokens": 7,
        "completion_tokens": 5.0,
        "total_tokens": "twelve",
        "prompt_tokens_details": {"cached_tokens": 3, "audio_tokens": "none"},
        "search_context_size": "low",
    }
    answer = stream(say("Said."), event({"choices": [], "usage": usage}), finish())
    async with served(answer, path=tmp_path) as (_, inside):
        chunks = await inside.turn(message("Hello"))
        finished = next(chunk for chunk in chunks if isinstance(chunk, MessageFinish))
        assert finished.usage == Usage(7, 5, cached_tokens=3)


def head(**fields: Any) -> dict[str, Any]:
    function = {"name": "echo", "arguments": '{"word": "tea"}'}
    return {"index": 0, "id": "c1", "function": function} | fields


CALLS: dict[str, Any] = {
    "an index that is text": [head(index="0")],
    "an index that is true": [head(index=True)],
    "an index with a fraction": [head(index=0.5)],
    "a negative index": [head(index=-1)],
    "a huge index": [head(index=10**30)],
    "no index": [{"id": "c1", "function": head()["function"]}],
    "an id that is a number": [head(id=12)],
    "an id that is null": [head(id=None)],
    "an id of a wrong type": [head(id=["c1"])],
    "an id of 1 MB": [head(id=MEGABYTE)],
    "an object in the place of the list": head(),
    "an object in the place of the text": [
        head(function={"name": "echo", "arguments": {"word": "tea"}})
    ],
    "a null beside it": [None, head()],
    "a type of a wrong type": [head(type=5)],
}


@pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("reason", [finish("tool_calls"), DONE], ids=["a reason", "none"])
async def test_a_call_that_can_be_read_is_run(tmp_path: Path, calls: Any, reason: bytes) -> None:
    """Some servers send `[DONE]` behind a whole call, and no finish reason."""
    tools = CountingTools()
    answer = stream(event(chunk({"tool_calls": calls})), reason)
    async with served(answer, path=tmp_path, catalogue=tools.catalogue) as (_, inside):
        chunks = await inside.turn(message("Hello"))
        assert (error_of(chunks), finish_of(chunks)) == (None, "stop")
        assert tools.calls == {"tea": 1}
        assert text_of(chunks).endswith("}Fine.")


@pytest.mark.parametrize(
    "answer",
    [
        stream(call('{"word": "t', "echo", "c1"), DONE),
        stream(call('{"word": "tea"}', "echo", "c1")),
        stream(say("Half "), b'data: {"choices": [{"delta": {"content": "a"'),
        stream(DONE),
        stream(say("Half "), finish("error")),
        stream(call('{"word": "tea"}', "echo", "c1"), finish("error")),
    ],
    ids=[
        "arguments that are cut off",
        "a socket that closes behind a whole call",
        "an event that is cut off",
        "nothing",
        "an error as the finish reason",
        "an error behind a whole call",
    ],
)
async def test_a_message_that_has_no_end_is_not_taken_for_whole(
    tmp_path: Path, answer: Answer
) -> None:
    tools = CountingTools()
    async with served(answer, answer, answer, path=tmp_path, catalogue=tools.catalogue) as (
        raw,
        inside,
    ):
        chunks = await inside.turn(message("Hello"))
        assert (error_of(chunks), finish_of(chunks)) == ("model_unavailable", "error")
        assert not tools.calls
        raw.answers.clear()
        await goes_on(inside)


@pytest.mark.parametrize(
    "end",
    [
        event(chunk({"content": "all."}, "stop"))[:-1],
        event(chunk({"content": "all."}, "stop"))[:-2],
        event(chunk({"content": "all."}))[:-1] + b"\n" + DONE[:-2],
    ],
    ids=["without its blank line", "without its line's end", "an end mark without a reason"],
)
async def test_the_last_event_is_read_without_its_blank_line(tmp_path: Path, end: bytes) -> None:
    async with served(stream(say("That is "), end), path=tmp_path) as (_, inside):
        chunks = await inside.turn(message("Hello"))
        assert (error_of(chunks), finish_of(chunks)) == (None, "stop")
        assert text_of(chunks) == "That is all."


async def test_a_character_whose_halves_come_in_two_events_is_whole(tmp_path: Path) -> None:
    tools = CountingTools()
    first = stream(call('{"word": "\ud83d', "echo", "c1"), call('\ude00"}'), finish("tool_calls"))
    then = stream(say("One \ud83d"), say("\ude00 and \ud83d"), say("no half."), finish())
    async with served(first, then, path=tmp_path, catalogue=tools.catalogue) as (_, inside):
        chunks = await inside.turn(message("Hello"))
        assert tools.calls == {"\U0001f600": 1}
        assert text_of(chunks).endswith("}One \U0001f600 and \ufffdno half.")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (HTML, "model_error"),
        (GZIP, "model_error"),
        (endless(b"x" * 10_000, b"HTTP/1.1 400 No\r\n\r\n"), "model_error"),
        (stream(say("Half ")), "model_unavailable"),
        (EVENT_STREAM[:-2] + b"Content-Length: 999\r\n\r\n" + say("Half "), "model_unavailable"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "model_unavailable"),
        (endless(b"x" * 10_000), "model_error"),
        (endless(b"data: x\n" * 100), "model_error"),
    ],
    ids=[
        "a page",
        "a packed answer",
        "an endless error",
        "no finish reason",
        "a cut",
        "no HTTP",
        "an endless line",
        "an event without an end",
    ],
)
async def test_an_answer_that_is_no_stream_of_events_has_its_code(
    tmp_path: Path, answer: Answer, code: str
) -> None:
    answers = [answer] * (3 if code == "model_unavailable" else 1)
    async with served(*answers, path=tmp_path, max_message_bytes=1000) as (raw, inside):
        chunks = await inside.turn(message("Hello"))
        assert (error_of(chunks), finish_of(chunks)) == (code, "error")
        raw.answers.clear()
        await goes_on(inside)


async def test_whatever_a_model_raises_is_an_error_of_the_model(tmp_path: Path) -> None:
    model = ScriptedModel.of([scripted_text("Half "), KeyError("choices")])
    async with backend(tmp_path / "t.db", model) as inside:
        assert error_of(await inside.turn(message("Hello"))) == "model_error"


def _breaks(_word: str) -> str:
    raise RuntimeError("our own fault")


@real_tool(client_fields=["*"])
def strict(word: Annotated[str, AfterValidator(_breaks)]) -> dict[str, Any]:
    """Take a word.

    Args:
        word: The word.
    """
    return {"word": word}


async def test_what_our_own_code_raises_beside_the_model_is_not_the_models(tmp_path: Path) -> None:
    model = ScriptedModel.of([scripted_call('{"word": "tea"}', name="strict", id="c1")])
    async with backend(tmp_path / "t.db", model, catalogue=Catalogue((strict,), ())) as inside:
        assert error_of(await inside.turn(message("Hello"))) == "internal_error"


@pytest.mark.parametrize(
    "piece",
    [b":\n\n", b":\n", event({"choices": [], "usage": None}), event(chunk({}))],
    ids=["comments", "lines of comments", "no choices", "empty deltas"],
)
async def test_a_stream_that_says_nothing_for_ever_is_cut_off(tmp_path: Path, piece: bytes) -> None:
    answer = endless(piece * 100)
    async with served(answer, path=tmp_path, max_message_bytes=999) as (raw, inside):
        chunks = await inside.turn(message("Hello"))
        assert (error_of(chunks), finish_of(chunks)) == ("model_error", "error")
        async with asyncio.timeout(WAIT_SECONDS):
            await raw.left.wait()
        await goes_on(inside)


@pytest.mark.parametrize("in_one_delta", [False, True])
async def test_a_message_of_too_many_calls_ends_as_one_that_is_too_long(
    tmp_path: Path, in_one_delta: bool
) -> None:
    function = {"name": "look", "arguments": "{}"}
    calls = [{"index": n, "id": f"c{n}", "function": function} for n in range(3 * MAX_PARTS)]
    deltas = [calls] if in_one_delta else [[call] for call in calls]
    answer = EVENT_STREAM + b"".join(event(chunk({"tool_calls": delta})) for delta in deltas)
    async with served(answer, path=tmp_path) as (_, inside):
        chunks = await inside.turn(message("Hello"))
        assert (error_of(chunks), finish_of(chunks)) == (None, "length")
        await goes_on(inside)


@pytest.mark.parametrize("size", [1, 7, 5000])
async def test_a_message_ends_at_its_limit_and_its_connection_is_closed(
    tmp_path: Path, size: int
) -> None:
    piece = say("\u00e9" * size)
    async with served(endless(piece), path=tmp_path, max_message_bytes=999, catalogue=NO_TOOLS) as (
        raw,
        inside,
    ):
        run = await inside.start(message("Hello"))
        chunks = await chunks_of(run)
        assert RunEnded("limit", "max_message_bytes", 999) in chunks
        assert finish_of(chunks) == "length"
        assert text_of(chunks) == "\u00e9" * 499
        assert (await inside.turns())[-1] == accumulate(chunks, run.header.message_id)
        assert (await kept(inside)).response_metadata["finish_reason"] == "length"
        async with asyncio.timeout(WAIT_SECONDS):
            await raw.left.wait()
        assert len(raw.requests) == 1
        await goes_on(inside)


async def test_a_message_of_just_its_limit_is_whole(tmp_path: Path) -> None:
    answer = stream(say("x" * 500), say("y" * 499), finish())
    async with served(answer, path=tmp_path, max_message_bytes=999) as (_, inside):
        chunks = await inside.turn(message("Hello"))
        assert (finish_of(chunks), len(text_of(chunks))) == ("stop", 999)


async def test_no_call_of_a_message_that_was_cut_off_is_run(tmp_path: Path) -> None:
    tools = CountingTools()
    whole = call(json.dumps({"word": "tea"}), "echo", "c1", index=0)
    begun = call('{"word": "', "echo", "c2", index=1) + call("x" * 2000, index=1)
    async with served(
        stream(whole, begun), path=tmp_path, max_message_bytes=999, catalogue=tools.catalogue
    ) as (raw, inside):
        chunks = await inside.turn(message("Hello"))
        assert finish_of(chunks) == "length"
        assert [c.end for c in chunks if isinstance(c, Result)] == ["cancelled", "cancelled"]
        assert not tools.calls
        assert len(raw.requests) == 1
        await goes_on(inside)


async def test_a_message_of_too_many_calls_is_cut_off(tmp_path: Path) -> None:
    calls = [call("{}", "echo", f"c{n}", index=n % 7) for n in range(1000)]
    async with served(stream(*calls, finish("tool_calls")), path=tmp_path) as (raw, inside):
        chunks = await inside.turn(message("Hello"))
        assert finish_of(chunks) == "length"
        assert sum(isinstance(c, Result) for c in chunks) < 1000
        assert len(raw.requests) == 1
        await goes_on(inside)


async def test_a_message_of_too_many_values_in_its_arguments_is_cut_off(tmp_path: Path) -> None:
    args = json.dumps({"values": [0] * 30_000})
    calls = [call(args, "echo", f"c{n}", index=n) for n in range(3)]
    async with served(stream(*calls, finish("tool_calls")), path=tmp_path) as (raw, inside):
        chunks = await inside.turn(message("Hello"))
        assert finish_of(chunks) == "length"
        assert len(raw.requests) == 1
        await goes_on(inside)


async def test_a_run_ends_when_its_log_is_full(tmp_path: Path) -> None:
    piece = say("x" * 100)
    async with served(endless(piece), path=tmp_path, max_run_bytes=10_000) as (raw, inside):
        run = await inside.start(message("Hello"))
        chunks = await chunks_of(run)
        assert RunEnded("limit", "max_run_bytes", 10_000) in chunks
        assert finish_of(chunks) == "other"
        assert 10_000 < len(text_of(chunks)) < 100_000
        assert (await inside.turns())[-1] == accumulate(chunks, run.header.message_id)
        async with asyncio.timeout(WAIT_SECONDS):
            await raw.left.wait()
        await goes_on(inside)


def refusing(said: str, status: int = 400) -> bytes:
    body = json.dumps({"error": {"message": said, "type": "invalid_request_error"}}).encode()
    head = b"HTTP/1.1 %d No\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % (status, len(body)) + body


@pytest.mark.parametrize("status", [400, 422])
async def test_an_option_that_the_server_refuses_is_left_out_from_then_on(
    tmp_path: Path, status: int
) -> None:
    refusal = refusing("Unknown parameter: 'stream_options'.", status)
    async with served(refusal, FINE, path=tmp_path) as (raw, inside):
        await goes_on(inside)
        await goes_on(inside)
        assert ["stream_options" in json.loads(body) for body in raw.bodies] == [True, False, False]


async def test_an_option_that_the_settings_omit_is_never_sent(tmp_path: Path) -> None:
    options = ModelOptions("secret-key", "", omitted=("stream_options",))
    async with raw_model([]) as raw:
        options = replace(options, openai_base_url=raw.url)
        async with open_model("raw", options) as model, backend(tmp_path / "t.db", model) as inside:
            await goes_on(inside)
            assert "stream_options" not in json.loads(raw.bodies[0])


@pytest.mark.parametrize(
    "said", ["The prompt is too rude.", "Unknown parameter: 'tools'."], ids=["no name", "a need"]
)
async def test_another_refusal_is_made_once(tmp_path: Path, said: str) -> None:
    async with served(refusing(said), path=tmp_path) as (raw, inside):
        assert error_of(await inside.turn(message("Hello"))) == "model_error"
        assert len(raw.requests) == 1
        await goes_on(inside)


async def test_an_option_that_is_refused_although_it_was_left_out_fails_the_turn(
    tmp_path: Path,
) -> None:
    refusal = refusing("stream_options")
    async with served(refusal, refusal, path=tmp_path) as (raw, inside):
        assert error_of(await inside.turn(message("Hello"))) == "model_error"
        assert len(raw.requests) == 2
        await goes_on(inside)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_an_error_and_is_not_followed(tmp_path: Path, status: int) -> None:
    async with raw_model([FINE]) as elsewhere:
        location = f"Location: {elsewhere.url}/chat/completions\r\n".encode()
        answer = b"HTTP/1.1 %d Go\r\n%sContent-Length: 0\r\n\r\n" % (status, location)
        async with served(answer, path=tmp_path) as (raw, inside):
            chunks = await inside.turn(message("Hello"))
            assert error_of(chunks) == "model_error"
            assert b"secret-key" in raw.requests[0]
            assert elsewhere.requests == []
            await goes_on(inside)


async def test_a_connection_that_stays_open_behind_the_last_event_ends_the_answer_all_the_same(
    tmp_path: Path,
) -> None:
    async with served(held_open(say("Said."), finish()), path=tmp_path) as (_, inside):
        chunks = await inside.turn(message("Hello"))
        assert (text_of(chunks), finish_of(chunks)) == ("Said.", "stop")
        await goes_on(inside)


async def test_neither_client_of_the_model_follows_a_redirect_or_outlives_the_server() -> None:
    async with open_model(
        "raw", ModelOptions(None, "http://127.0.0.1:1", max_message_bytes=1000)
    ) as model:
        clients: list[Any] = [model.http_client, model.http_async_client]
        assert [client.follow_redirects for client in clients] == [False, False]
    assert [client.is_closed for client in clients] == [True, True]


def fragments(args: str, size: int, **head: str) -> bytes:
    pieces = [args[start : start + size] for start in range(0, len(args), size)]
    rest = (call(piece, **(head if head.get("name") else {})) for piece in pieces)
    return stream(call("", "echo", "c1"), *rest, finish("tool_calls"))


ATTACKS = {
    "one fragment": lambda n: fragments('{"a": "' + "x" * n + '"}', 10 * n),
    "one fragment, cut off": lambda n: fragments('{"a": 1, ' + "z" * n, 10 * n),
    "fragments of 10 bytes": lambda n: fragments('{"a": "' + "x" * n + '"}', 10),
    "fragments of 1 byte": lambda n: fragments('{"a": "' + "x" * (n // 4) + '"}', 1),
    "the head with every fragment": lambda n: fragments(
        '{"a": "' + "x" * n + '"}', 20, name="echo", id="c1"
    ),
    "braces that close nothing": lambda n: fragments('{"a": "' + "}" * n, 20, name="echo", id="c1"),
    "deep nesting": lambda n: fragments("[" * n, 10),
    "many small values": lambda n: fragments('{"a": [' + "[]," * (n // 3), 100),
    "text": lambda n: stream(*[say("word ")] * (n // 10), finish()),
}


@pytest.mark.long
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
async def test_what_a_model_says_takes_time_in_proportion_and_holds_nobody_up(
    tmp_path: Path, attack: Any
) -> None:
    async with served(path=tmp_path, catalogue=NO_TOOLS) as (raw, inside):
        await inside.turn(message("Warm up."))
        size = sample(10_000, 3_000)
        small, _ = await measured(raw, inside, attack(size))
        large, gap = await measured(raw, inside, attack(4 * size))
        assert large < 4 * 3 * max(small, 0.05)
        assert gap < 0.25


async def measured(raw: RawModel, inside: Backend, answer: bytes) -> tuple[float, float]:
    """This thread's seconds for a turn in which the model says this, and the longest in which
    nobody else had a turn: of three, the best."""
    results = []
    for number in range(3):
        raw.answers = [answer]
        watchdog = asyncio.create_task(longest_gap(gaps := [0.0]))
        start = time.thread_time()
        await inside.turn(message("Go"), f"thread-{len(answer)}-{number}")
        results.append((time.thread_time() - start, gaps[0]))
        watchdog.cancel()
    return min(seconds for seconds, _ in results), min(gap for _, gap in results)


async def longest_gap(gaps: list[float]) -> None:
    last = time.thread_time()
    while True:
        await asyncio.sleep(0)
        now = time.thread_time()
        gaps[0], last = max(gaps[0], now - last), now
