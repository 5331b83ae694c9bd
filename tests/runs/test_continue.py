"""Going on with a turn that was stopped, failed or was cut by a crash."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from tests.support.backend import (
    THREAD,
    Backend,
    after_crash,
    backend,
    chunks_of,
    chunks_until,
    key_of,
    message,
)
from tests.support.counting_tools import CountingTools
from tests.support.scripted_model import Piece, ScriptedModel, call, finish, text
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.turns.chunks import Chunk, Error, MessageFinish, Result, StepStart
from turnstream.server.turns.messages import AssistantTurn, Text, ToolCall, UserTurn
from turnstream.server.turns.requests import InvalidRequest, TurnRequest

CONTINUE = TurnRequest(continue_=True)
QUICK_AND_SLOW = [
    call('{"word":"quick"}', name="echo", id="c1", index=0),
    call('{"word":"slow"}', name="hold", id="c2", index=1),
    finish("tool_calls"),
]
QUICK = [call('{"word":"quick"}', name="echo", id="c1"), finish("tool_calls")]


@pytest.fixture
def counting_tools() -> CountingTools:
    return CountingTools()


def finish_reason(chunks: Sequence[Chunk]) -> str:
    return next(chunk.reason for chunk in chunks if isinstance(chunk, MessageFinish))


def calls_of(turn: object) -> list[ToolCall]:
    assert isinstance(turn, AssistantTurn)
    return [part for part in turn.parts if isinstance(part, ToolCall)]


def says_a_result(chunks: Sequence[Chunk]) -> bool:
    return any(isinstance(chunk, Result) for chunk in chunks)


async def has_result(run: LoggedRun) -> None:
    chunks = await chunks_until(run, says_a_result)
    assert says_a_result(chunks)


# after a stop


async def test_a_stopped_turn_goes_on_without_a_doubled_message_or_a_repeated_tool(
    tmp_path: Path, counting_tools: CountingTools
) -> None:
    model = ScriptedModel.of(
        QUICK, [text("Half "), asyncio.Event()], [text("and whole."), finish()]
    )
    async with backend(tmp_path / "t.db", model, catalogue=counting_tools.catalogue) as inside:
        run = await inside.start(message("Hello"))
        await chunks_until(run, lambda said: sum(isinstance(c, StepStart) for c in said) == 2)
        await inside.stop()
        chunks = await inside.turn(CONTINUE)
        assert finish_reason(chunks) == "stop"
        assert counting_tools.calls == {"quick": 1}
        user, assistant = await inside.turns()
        assert isinstance(user, UserTurn)
        assert isinstance(assistant, AssistantTurn)
        assert assistant.ended is None
        assert [part.text for part in assistant.parts if isinstance(part, Text)] == [
            "Half ",
            "and whole.",
        ]
        told = [*await chunks_of(run), *chunks]
        starts = [c.message_id for c in told if isinstance(c, StepStart)]
        assert starts == [assistant.id] * 3
        assert [type(m) for m in model.prompts[-1]] == [
            HumanMessage,
            AIMessage,
            ToolMessage,
            AIMessage,
        ]


async def test_a_turn_stopped_before_its_first_word_goes_on(
    tmp_path: Path, counting_tools: CountingTools
) -> None:
    model = ScriptedModel.of([asyncio.Event()], [text("Here."), finish()])
    async with backend(tmp_path / "t.db", model, catalogue=counting_tools.catalogue) as inside:
        await inside.start(message("Hello"))
        await inside.stop()
        assert finish_reason(await inside.turn(CONTINUE)) == "stop"
        assert [type(m) for m in model.prompts[-1]] == [HumanMessage]
        _, assistant = await inside.turns()
        assert isinstance(assistant, AssistantTurn)
        assert assistant.parts == (Text("Here."),)


async def test_a_turn_can_be_stopped_and_continued_again_and_again(
    tmp_path: Path, counting_tools: CountingTools
) -> None:
    halves: list[list[Piece]] = [
        [text(f"{word} "), asyncio.Event()] for word in ("one", "two", "three")
    ]
    model = ScriptedModel.of(*halves, [text("four."), finish()])
    async with backend(tmp_path / "t.db", model, catalogue=counting_tools.catalogue) as inside:
        request = message("Count.")
        for _ in halves:
            run = await inside.start(request)
            await chunks_until(run, lambda said: len(said) > 2)
            await inside.stop()
            request = CONTINUE
        await inside.turn(CONTINUE)
        user, assistant = await inside.turns()
        assert isinstance(user, UserTurn)
        assert isinstance(assistant, AssistantTurn)
        said = "".join(part.text for part in assistant.parts if isinstance(part, Text))
        assert said == "one two three four."


async def test_calls_that_a_stop_cancelled_are_not_run_by_the_continuation(
    tmp_path: Path, counting_tools: CountingTools
) -> None:
    model = ScriptedModel.of(QUICK_AND_SLOW)
    async with backend(tmp_path / "t.db", model, catalogue=counting_tools.catalogue) as inside:
        await inside.start(message("Hello"))
        await counting_tools.begun("slow")
        await inside.stop()
        assert finish_reason(await inside.turn(CONTINUE)) == "stop"
        assert counting_tools.calls == {"quick": 1, "slow": 1}
        assert [call.end for call in calls_of((await inside.turns())[1])] == ["result", "cancelled"]


# after an error


async def test_a_failed_turn_goes_on_without_a_doubled_message_or_a_repeated_tool(
    tmp_path: Path, counting_tools: CountingTools
) -> None:
    model = ScriptedModel.of(QUICK, [text("Half "), ValueError("down")], [text("whole."), finish()])
    async with backend(tmp_path / "t.db", model, catalogue=counting_tools.catalogue) as inside:
        failed = await inside.turn(message("Hello"))
        assert any(isinstance(chunk, Error) for chunk in failed)
        assert finish_reason(await inside.turn(CONTINUE)) == "stop"
        assert counting_tools.calls == {"quick": 1}
        user, assistant = await inside.turns()
        assert isinstance(user, UserTurn)
        assert isinstance(assistant, AssistantTurn)
        assert assistant.error is None
        assert [part.text for part in assistant.parts if isinstance(part, Text)] == [
            "Half ",
            "whole.",
        ]


# after a crash


async def test_after_a_crash_only_the_tools_that_had_not_finished_run_again(
    tmp_path: Path, counting_tools: CountingTools
) -> None:
    path = tmp_path / "t.db"
    async with backend(
        path, ScriptedModel.of(QUICK_AND_SLOW), catalogue=counting_tools.catalogue
    ) as before:
        run = await before.start(message("Hello"))
        await counting_tools.begun("slow")
        await has_result(run)
        reborn, model = CountingTools(), ScriptedModel.of([text("Done."), finish()])
        reborn.release.set()
        async with after_crash(path, model, reborn.catalogue) as after:
            entry = await after.entry()
            assert entry is not None
            assert entry.run_state == "interrupted"
            chunks = await after.turn(CONTINUE)
            assert finish_reason(chunks) == "stop"
            assert reborn.calls == {"slow": 1}
            user, assistant = await after.turns()
            assert isinstance(user, UserTurn)
            quick, slow = calls_of(assistant)
            assert (quick.end, quick.result) == ("result", {"word": "quick"})
            assert (slow.end, slow.result) == ("result", {"word": "slow"})
            assert [m.type for m in model.prompts[0]] == ["human", "ai", "tool", "tool"]


async def test_after_a_crash_a_new_message_keeps_what_had_finished(
    tmp_path: Path, counting_tools: CountingTools
) -> None:
    path = tmp_path / "t.db"
    async with backend(
        path, ScriptedModel.of(QUICK_AND_SLOW), catalogue=counting_tools.catalogue
    ) as before:
        run = await before.start(message("Hello"))
        await counting_tools.begun("slow")
        await has_result(run)
        reborn, model = CountingTools(), ScriptedModel.of([text("Fine."), finish()])
        async with after_crash(path, model, reborn.catalogue) as after:
            chunks = await after.turn(message("Never mind."))
            assert finish_reason(chunks) == "stop"
            assert not reborn.calls
            quick, slow = calls_of((await after.turns())[1])
            assert (quick.end, quick.result) == ("result", {"word": "quick"})
            assert slow.end == "cancelled"
            assert [m.type for m in model.prompts[0]] == ["human", "ai", "tool", "tool", "human"]


async def test_after_a_crash_in_which_every_tool_had_finished_nothing_is_lost_or_repeated(
    tmp_path: Path, counting_tools: CountingTools
) -> None:
    path = tmp_path / "t.db"
    model = ScriptedModel.of(QUICK, [asyncio.Event()])
    async with backend(path, model, catalogue=counting_tools.catalogue) as before:
        run = await before.start(message("Hello"))
        await has_result(run)
        for request in (CONTINUE, message("Go on.")):
            reborn, again = CountingTools(), ScriptedModel.of([text("Fine."), finish()])
            async with after_crash(path, again, reborn.catalogue) as after:
                assert finish_reason(await after.turn(request)) == "stop"
                assert not reborn.calls
                (quick,) = calls_of((await after.turns())[1])
                assert (quick.end, quick.result) == ("result", {"word": "quick"})


async def test_after_a_crash_in_the_models_answer_the_question_is_asked_again(
    tmp_path: Path, counting_tools: CountingTools
) -> None:
    path = tmp_path / "t.db"
    model = ScriptedModel.of([text("Half "), asyncio.Event()])
    async with backend(path, model, catalogue=counting_tools.catalogue) as before:
        run = await before.start(message("Hello"))
        await chunks_until(run, lambda said: len(said) > 2)
        again = ScriptedModel.of([text("Whole."), finish()])
        async with after_crash(path, again) as after:
            assert finish_reason(await after.turn(CONTINUE)) == "stop"
            assert [m.type for m in again.prompts[0]] == ["human"]
            _, assistant = await after.turns()
            assert isinstance(assistant, AssistantTurn)
            assert assistant.parts == (Text("Whole."),)


async def test_a_continuation_that_crashed_can_be_continued(
    tmp_path: Path, counting_tools: CountingTools
) -> None:
    path = tmp_path / "t.db"
    model = ScriptedModel.of(QUICK, [text("Half "), ValueError("down")], QUICK_AND_SLOW)
    async with backend(path, model, catalogue=counting_tools.catalogue) as before:
        await before.turn(message("Hello"))
        await before.start(CONTINUE)
        await counting_tools.begun("slow")
        reborn, again = CountingTools(), ScriptedModel.of([text("Whole."), finish()])
        reborn.release.set()
        async with after_crash(path, again, reborn.catalogue) as after:
            assert finish_reason(await after.turn(CONTINUE)) == "stop"
            assert reborn.calls["slow"] == 1
            user, assistant = await after.turns()
            assert isinstance(user, UserTurn)
            assert all(call.end == "result" for call in calls_of(assistant))


# after the model's limit of length


async def test_an_answer_that_the_models_limit_cut_off_goes_on(
    tmp_path: Path, counting_tools: CountingTools
) -> None:
    model = ScriptedModel.of(
        QUICK,
        [text("one "), finish("length")],
        [text("two "), finish("length")],
        [text("three."), finish()],
    )
    async with backend(tmp_path / "t.db", model, catalogue=counting_tools.catalogue) as inside:
        assert finish_reason(await inside.turn(message("Count."))) == "length"
        assert finish_reason(await inside.turn(CONTINUE)) == "length"
        assert finish_reason(await inside.turn(CONTINUE)) == "stop"
        assert counting_tools.calls == {"quick": 1}
        user, assistant = await inside.turns()
        assert isinstance(user, UserTurn)
        assert isinstance(assistant, AssistantTurn)
        assert assistant.finish_reason == "stop"
        said = [part.text for part in assistant.parts if isinstance(part, Text)]
        assert said == ["one ", "two ", "three."]
        await refused(inside)


# nothing to continue


async def refused(inside: Backend, thread: str = THREAD) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        await inside.start(CONTINUE, thread)
    assert (refusal.value.code, refusal.value.status) == ("nothing_to_continue", 409)
    assert await inside.store.holder(key_of(thread)) is None


async def test_a_turn_that_ended_as_it_should_is_not_continued(
    tmp_path: Path, counting_tools: CountingTools
) -> None:
    async with backend(
        tmp_path / "t.db", ScriptedModel.of(), catalogue=counting_tools.catalogue
    ) as inside:
        await inside.turn(message("Hello"))
        await refused(inside)
        assert len(await inside.messages()) == 2


async def test_an_unknown_thread_is_not_continued_and_not_made(
    tmp_path: Path, counting_tools: CountingTools
) -> None:
    async with backend(
        tmp_path / "t.db", ScriptedModel.of(), catalogue=counting_tools.catalogue
    ) as inside:
        await refused(inside, "nobody")
        assert await inside.entry("nobody") is None


async def test_a_turn_that_waits_for_the_user_is_not_continued(
    tmp_path: Path, counting_tools: CountingTools
) -> None:
    question = '{"kind":"date","prompt":"When?"}'
    asks = [call(question, name="request_user_selection", id="ask"), finish("tool_calls")]
    async with backend(
        tmp_path / "t.db", ScriptedModel.of(asks), catalogue=counting_tools.catalogue
    ) as inside:
        assert finish_reason(await inside.turn(message("Ask me."))) == "tool-calls"
        await refused(inside)


async def test_a_continued_turn_is_not_continued_again(
    tmp_path: Path, counting_tools: CountingTools
) -> None:
    model = ScriptedModel.of([ValueError("down")])
    async with backend(tmp_path / "t.db", model, catalogue=counting_tools.catalogue) as inside:
        await inside.turn(message("Hello"))
        await chunks_of(await inside.start(CONTINUE))
        await refused(inside)
