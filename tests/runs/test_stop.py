"""Stopping a run: from anywhere, at any moment, as often as one likes; what was said is kept."""

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from tests.support.backend import THREAD, Backend, backend, chunks_of, chunks_until, message
from tests.support.counting_tools import CountingTools
from tests.support.endpoint import (
    Args,
    Body,
    Call,
    Delay,
    Pause,
    Reply,
    Say,
    StrictEndpoint,
    call_reply,
    text_reply,
)
from tests.support.endpoint.script import Step
from tests.support.samples import sample
from tests.support.waiting import WAIT_SECONDS, HeldMethod, eventually, until
from turnstream.graphs.model_options import ModelOptions
from turnstream.graphs.openai_model import openai_model
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.storage.checkpointer import SqliteCheckpointer
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.storage.memory_logs import MemoryLog
from turnstream.server.storage.thread_writes import ThreadWrites
from turnstream.server.turns.accumulate import accumulate
from turnstream.server.turns.chunks import (
    Chunk,
    Done,
    MessageFinish,
    PartFinish,
    PartStart,
    Result,
    RunEnded,
    StepWithdrawn,
    TextDelta,
)
from turnstream.server.turns.messages import AssistantTurn, Text, ToolCall, UserTurn
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool

STOPPED = RunEnded("stopped")


@pytest.fixture
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    async with StrictEndpoint() as endpoint:
        yield endpoint
        assert endpoint.refused == []


@pytest.fixture
def counting_tools() -> CountingTools:
    return CountingTools()


@pytest.fixture
async def inside(
    tmp_path: Path, endpoint: StrictEndpoint, counting_tools: CountingTools
) -> AsyncIterator[Backend]:
    """The server without HTTP, its model the endpoint, its tools those that count."""
    async with backend(
        tmp_path / "t.db", model_of(endpoint), catalogue=counting_tools.catalogue
    ) as inside:
        yield inside


def model_of(endpoint: StrictEndpoint) -> Any:
    return openai_model(
        "scripted", ModelOptions(openai_api_key="test", openai_base_url=endpoint.base_url)
    )


def held(*steps: Step) -> tuple[Reply, Pause]:
    """A reply that stands still behind these steps."""
    pause = Pause(asyncio.Event())
    return Reply((*steps, pause, Say("Never said."))), pause


async def first_chunks(run: LoggedRun, number: int) -> list[Chunk]:
    """What the run says until it has said so much, or all."""
    return await chunks_until(run, lambda said: len(said) >= number) if number else []


async def stop(inside: Backend, thread: str = THREAD) -> ThreadEntry:
    async with asyncio.timeout(WAIT_SECONDS):
        entry = await inside.stop(thread)
    assert entry is not None
    return entry


async def settled(inside: Backend, run: LoggedRun, thread: str = THREAD) -> AssistantTurn:
    """The stopped run's message, after what holds of every stopped run was checked."""
    chunks = await chunks_of(run)
    entry = await inside.entry(thread)
    assert entry is not None
    assert (entry.run_id, entry.run_state) == (run.header.run_id, "stopped")
    assert chunks[-3] == STOPPED
    assert isinstance(chunks[-2], MessageFinish)
    assert (chunks[-2].reason, chunks[-1]) == ("other", Done())
    told = accumulate(chunks, run.header.message_id)
    kept = (await inside.turns(thread))[-1]
    assert kept == told
    assert isinstance(kept, AssistantTurn)
    assert kept.ended == STOPPED
    calls = [part for part in kept.parts if isinstance(part, ToolCall)]
    assert all(call.end is not None for call in calls)
    return kept


async def takes_a_message(inside: Backend, endpoint: StrictEndpoint, thread: str = THREAD) -> None:
    """The next message is accepted: by the thread, and by a strict model's server."""
    endpoint.script(text_reply("Fine."))
    chunks = await inside.turn(message("Go on."), thread)
    assert [c.reason for c in chunks if isinstance(c, MessageFinish)] == ["stop"]
    assert endpoint.refused == []


# at any moment


async def test_a_run_can_be_stopped_at_the_instant_that_it_exists(
    inside: Backend, endpoint: StrictEndpoint
) -> None:
    endpoint.default = lambda _body: Reply((Pause(asyncio.Event()),))
    run = await inside.start(message("Hello"))
    assert (await stop(inside)).run_id == run.header.run_id
    assert (await settled(inside, run)).parts == ()
    assert isinstance((await inside.turns())[0], UserTurn)
    await takes_a_message(inside, endpoint)


async def test_a_run_can_be_stopped_while_its_request_is_being_checked(
    inside: Backend, endpoint: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = HeldMethod(monkeypatch, inside.checkpoints, "load", once=True)
    starting = asyncio.create_task(inside.start(message("Hello")))
    await check.reached.wait()
    stopping = asyncio.create_task(stop(inside))
    check.through.set()
    run = await starting
    assert (await stopping).run_id == run.header.run_id
    await settled(inside, run)
    assert endpoint.requests == []
    await takes_a_message(inside, endpoint)


async def test_a_stop_tells_of_the_run_that_it_ended_though_another_has_begun(
    inside: Backend, endpoint: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply, _ = held(Say("One "))
    endpoint.script(reply, Reply((Pause(asyncio.Event()),)))
    run = await inside.start(message("Hello"))
    await first_chunks(run, 3)
    look = HeldMethod(monkeypatch, inside.store, "get", once=True)
    stopping = asyncio.create_task(stop(inside))
    await look.reached.wait()
    await inside.start(message("Again"))
    look.through.set()
    entry = await stopping
    assert (entry.run_id, entry.run_state) == (run.header.run_id, "stopped")


async def test_a_run_stopped_before_its_request_was_stored_keeps_it(
    inside: Backend, endpoint: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = HeldMethod(monkeypatch, SqliteCheckpointer, "aput", once=True)
    start = asyncio.create_task(inside.start(message("Hello")))
    await first.reached.wait()
    await stop(inside)
    await start
    assert [m.text for m in await inside.messages()] == ["Hello", "(no answer)"]
    assert endpoint.requests == []
    await takes_a_message(inside, endpoint)


async def test_a_run_stopped_before_the_models_first_word_closes_the_request(
    inside: Backend, endpoint: StrictEndpoint
) -> None:
    reply, _ = held()
    endpoint.script(reply)
    run = await inside.start(message("Hello"))
    await endpoint.arrived(1)
    await stop(inside)
    assert (await endpoint.closed(1)).completed is False
    assert (await settled(inside, run)).parts == ()
    await takes_a_message(inside, endpoint)


async def test_a_run_stopped_in_the_middle_of_arguments_cancels_the_call(
    inside: Backend, endpoint: StrictEndpoint, counting_tools: CountingTools
) -> None:
    reply, pause = held(Say("I ask. "), Call(0, "c1", "echo", '{"wo'), Args(0, 'rd": "a'))
    endpoint.script(reply)
    run = await inside.start(message("Hello"))
    await pause.reached.wait()
    await chunks_until(run, lambda said: any(isinstance(c, PartStart) for c in said[3:]))
    await stop(inside)
    text, call = (await settled(inside, run)).parts
    assert isinstance(text, Text)
    assert isinstance(call, ToolCall)
    assert (text.text, call.end, call.tool_call_id) == ("I ask. ", "cancelled", "c1")
    assert call.args is None
    assert '{"word": "a'.startswith(call.args_text)
    assert not counting_tools.calls
    await takes_a_message(inside, endpoint)


async def test_a_run_stopped_in_a_tool_cancels_it_and_keeps_its_siblings_result(
    inside: Backend, endpoint: StrictEndpoint, counting_tools: CountingTools
) -> None:
    endpoint.script(call_reply(("echo", '{"word":"quick"}'), ("hold", '{"word":"slow"}')))
    run = await inside.start(message("Hello"))
    await counting_tools.begun("slow")
    await chunks_until(run, lambda said: any(isinstance(c, Result) for c in said))
    await stop(inside)
    assert counting_tools.cancelled == {"slow": 1}
    quick, slow = (await settled(inside, run)).parts
    assert isinstance(quick, ToolCall)
    assert isinstance(slow, ToolCall)
    assert (quick.end, quick.result) == ("result", {"word": "quick"})
    assert (slow.end, slow.is_error) == ("cancelled", True)
    await takes_a_message(inside, endpoint)


async def test_a_run_stopped_between_steps_keeps_what_the_tools_found(
    inside: Backend, endpoint: StrictEndpoint, counting_tools: CountingTools
) -> None:
    reply, _ = held()
    endpoint.script(call_reply(("echo", '{"word":"quick"}')), reply)
    run = await inside.start(message("Hello"))
    await endpoint.arrived(2)
    await stop(inside)
    (call,) = (await settled(inside, run)).parts
    assert isinstance(call, ToolCall)
    assert call.result == {"word": "quick"}
    assert counting_tools.calls == {"quick": 1}
    await takes_a_message(inside, endpoint)


async def test_a_result_that_is_being_written_at_the_stop_is_the_calls_only_answer(
    inside: Backend, endpoint: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, through = threading.Event(), threading.Event()
    put_writes = SqliteCheckpointer.put_writes

    def held_write(saver: SqliteCheckpointer, config: Any, writes: Any, *task: str) -> None:
        if any("ToolMessage" in repr(value) for _, value in writes):
            reached.set()
            through.wait()
        put_writes(saver, config, writes, *task)

    monkeypatch.setattr(SqliteCheckpointer, "put_writes", held_write)
    endpoint.script(call_reply(("echo", '{"word":"quick"}')))
    run = await inside.start(message("Hello"))
    await until(reached.is_set)
    stopping = asyncio.create_task(stop(inside))
    at_work = f"run {run.header.run_id}"
    await until(lambda: at_work not in {task.get_name() for task in asyncio.all_tasks()})
    assert await inside.checkpoints.load(run.header.key)
    through.set()
    await stopping
    (call,) = (await settled(inside, run)).parts
    assert isinstance(call, ToolCall)
    assert (call.end, call.result) == ("result", {"word": "quick"})
    saved = (await inside.checkpoints.load(run.header.key)).messages
    answers = [each for each in saved if isinstance(each, ToolMessage)]
    assert len(answers) == 1
    await takes_a_message(inside, endpoint)


async def test_a_message_that_was_saved_and_not_yet_told_is_told_before_the_end(
    inside: Backend,
    endpoint: StrictEndpoint,
    counting_tools: CountingTools,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The graph goes on beside it, so the tool is at work then."""
    saved, commit, request_saved = asyncio.Event(), ThreadWrites.committed, asyncio.Event()

    async def committed_and_held(writes: ThreadWrites) -> None:
        await commit(writes)
        if request_saved.is_set():
            saved.set()
            await asyncio.Event().wait()
        request_saved.set()

    monkeypatch.setattr(ThreadWrites, "committed", committed_and_held)
    endpoint.script(Reply((Say("I ask. "), Call(0, "c1", "hold", '{"word":"a"}'))))
    run = await inside.start(message("Hello"))
    await saved.wait()
    await counting_tools.begun("a")
    monkeypatch.setattr(ThreadWrites, "committed", commit)
    await stop(inside)
    _, call = (await settled(inside, run)).parts
    assert isinstance(call, ToolCall)
    assert (call.args, call.end) == ({"word": "a"}, "cancelled")
    finishes = [chunk for chunk in await chunks_of(run) if isinstance(chunk, PartFinish)]
    assert len(finishes) == 2
    await takes_a_message(inside, endpoint)


@pytest.mark.parametrize(
    "steps",
    [
        (Say("An "), Delay(0.05), Say("old answer.")),
        (Say("I ask. "), Call(0, "c1", "echo", '{"wo'), Delay(0.05), Args(0, 'rd": "a"}')),
        (Say("I ask. "), Delay(0.05), Call(0, "c1", "echo", '{"word": "a"}')),
    ],
    ids=["words", "arguments", "a call"],
)
async def test_words_that_were_saved_while_the_log_was_slow_are_told_before_the_end(
    inside: Backend,
    endpoint: StrictEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    steps: tuple[Step, ...],
) -> None:
    append = MemoryLog.append

    async def slow(log: MemoryLog, chunks: Sequence[Chunk]) -> None:
        await append(log, chunks)
        if any(isinstance(chunk, TextDelta) for chunk in chunks):
            await asyncio.Event().wait()

    monkeypatch.setattr(MemoryLog, "append", slow)
    endpoint.script(Reply(steps))
    run = await inside.start(message("Hello"))

    async def is_saved() -> bool:
        return isinstance((await inside.messages())[-1], AIMessage)

    await eventually(is_saved)
    told = await chunks_until(run, lambda said: isinstance(said[-1], TextDelta))
    monkeypatch.setattr(MemoryLog, "append", append)
    await stop(inside)
    assert (await settled(inside, run)).parts
    chunks = await chunks_of(run)
    assert not any(isinstance(chunk, StepWithdrawn) for chunk in chunks)
    assert len(chunks) > len(told)
    await takes_a_message(inside, endpoint)


async def test_a_tool_that_swallows_a_cancellation_does_not_hold_up_the_stop(
    inside: Backend,
    endpoint: StrictEndpoint,
    counting_tools: CountingTools,
    caplog: pytest.LogCaptureFixture,
) -> None:
    endpoint.script(call_reply(("stubborn", '{"word":"deaf"}')))
    run = await inside.start(message("Hello"))
    await counting_tools.begun("deaf")
    await stop(inside)
    assert counting_tools.cancelled == {"deaf": 1}
    assert "abandoned" not in caplog.text
    (call,) = (await settled(inside, run)).parts
    assert isinstance(call, ToolCall)
    assert call.end == "cancelled"
    await takes_a_message(inside, endpoint)


async def test_a_tool_that_blocks_its_thread_does_not_hold_up_the_stop(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    begun, release = threading.Event(), threading.Event()

    @real_tool(client_fields=["word"])
    def block(word: str) -> dict[str, Any]:
        """Block the thread.

        Args:
            word: The word.
        """
        begun.set()
        release.wait()
        return {"word": word}

    endpoint.script(call_reply(("block", '{"word":"stuck"}')))
    catalogue = Catalogue((block,), ())
    async with backend(tmp_path / "t.db", model_of(endpoint), catalogue=catalogue) as inside:
        run = await inside.start(message("Hello"))
        try:
            await until(begun.is_set)
            await stop(inside)
            (call,) = (await settled(inside, run)).parts
            assert isinstance(call, ToolCall)
            assert call.end == "cancelled"
        finally:
            release.set()
        await takes_a_message(inside, endpoint)


# at random moments

SLOW = Delay(0.002)
MOMENTS = sample(100, 20)


def slow(*steps: Step) -> Reply:
    return Reply(tuple(step for given in steps for step in (given, SLOW)))


STEPS: Sequence[Reply] = (
    slow(
        *(Say(f"word{n} ") for n in range(8)),
        Call(0, "a1", "nap", ""),
        *(Args(0, fragment) for fragment in ('{"wo', 'rd":', '"one"}')),
        Call(1, "a2", "echo", '{"word"'),
        Args(1, ':"two"}'),
    ),
    slow(Call(0, "b1", "nap", '{"word":'), Args(0, '"three"}')),
    slow(*(Say(f"last{n} ") for n in range(8))),
)


def at_random(body: Body) -> Reply:
    """The next step of the turn; a short answer to the message after it."""
    said = body["messages"]
    last_user = max(n for n, m in enumerate(said) if m["role"] == "user")
    if not said[last_user]["content"].startswith("Stop"):
        return text_reply("Fine.")
    steps: int = sum(m["role"] == "assistant" for m in said[last_user:])
    return STEPS[steps]


@pytest.mark.long
async def test_a_stop_at_any_moment_leaves_the_thread_whole(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.default = at_random
    counting_tools = CountingTools(nap_seconds=0.02)
    chance = random.Random(7)
    at_once = asyncio.Semaphore(5)

    async def stop_one(number: int, events: int) -> bool:
        thread = f"thread-{number}-{events}"
        async with at_once:
            run = await within.start(message(f"Stop {number}"), thread)
            seen = await first_chunks(run, events)
            entry = await stop(within, thread)
            assert (await chunks_of(run))[: len(seen)] == seen
            if entry.run_state == "stopped":
                await settled(within, run, thread)
            chunks = await within.turn(message("Go on."), thread)
            assert [c.reason for c in chunks if isinstance(c, MessageFinish)] == ["stop"]
            return entry.run_state == "stopped"

    async def stop_in_time(number: int, events: int) -> None:
        """A run that was over before its stop came is tried again, at an earlier moment."""
        while not await stop_one(number, events):
            assert events
            events //= 2

    async with backend(
        tmp_path / "t.db", model_of(endpoint), catalogue=counting_tools.catalogue
    ) as within:
        whole = len(await within.turn(message("Stop"), "whole"))
        moments = [chance.randrange(whole) for _ in range(MOMENTS)]
        await asyncio.gather(*(stop_in_time(n, events) for n, events in enumerate(moments)))
    for number in range(1, len(endpoint.requests) + 1):
        await endpoint.closed(number)
    assert endpoint.open == 0
