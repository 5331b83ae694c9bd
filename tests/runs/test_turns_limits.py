"""The budgets of a run: each ends it in order, and the thread goes on."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from tests.support.backend import Backend, backend
from tests.support.counting_tools import CountingTools
from tests.support.run_chunks import (
    QUESTION,
    SELECTION,
    RunChunks,
    answer_calls,
    send_message,
    tool_call_message,
)
from tests.support.scripted_model import Piece, ScriptedModel, finish, text
from turnstream.graphs.limits import Limits
from turnstream.server.turns.chunks import RunEnded
from turnstream.server.turns.requests import TurnRequest

CONTINUE = TurnRequest(continue_=True)


def echoing(word: str) -> list[Piece]:
    return tool_call_message((f"c-{word}", "echo", f'{{"word":"{word}"}}'))


def same(times: int) -> list[list[Piece]]:
    """The same call, under another id each time."""
    return [tool_call_message((f"c{n}", "echo", '{"word":"again"}')) for n in range(times)]


def ended_by(told: RunChunks, limit: str, value: float) -> bool:
    ends = [chunk for chunk in told.chunks if isinstance(chunk, RunEnded)]
    return told.reason == "other" and ends == [RunEnded("limit", limit, value)]


async def goes_on(home: Backend) -> bool:
    told = await send_message(home, "And now?")
    return (told.text, told.reason) == ("Done.", "stop")


async def test_a_run_ends_after_its_steps_with_the_results_of_the_last(tmp_path: Path) -> None:
    shop = CountingTools()
    model = ScriptedModel.of(*(echoing(word) for word in "abcdef"))
    limits = Limits(max_steps=3)
    async with backend(tmp_path / "t.db", model, catalogue=shop.catalogue, limits=limits) as home:
        told = await send_message(home)
        assert ended_by(told, "max_steps", 3)
        assert told.steps == len(model.prompts) == 3
        assert [result.result["word"] for result in told.results.values()] == ["a", "b", "c"]
        assert (await home.turns())[-1].ended == told.ended  # type: ignore[union-attr]
        model._scripts.clear()
        assert await goes_on(home)


async def test_a_run_that_needs_just_its_steps_is_not_ended(tmp_path: Path) -> None:
    shop = CountingTools()
    model = ScriptedModel.of(echoing("a"), [text("Last."), finish()])
    limits = Limits(max_steps=2)
    async with backend(tmp_path / "t.db", model, catalogue=shop.catalogue, limits=limits) as home:
        told = await send_message(home)
        assert (told.text, told.reason, told.ended) == ("Last.", "stop", None)


async def test_a_question_in_the_last_step_is_still_asked(tmp_path: Path) -> None:
    model = ScriptedModel.of(tool_call_message(("c1", SELECTION, QUESTION)))
    async with backend(tmp_path / "t.db", model, limits=Limits(max_steps=1)) as home:
        assert (await send_message(home)).reason == "tool-calls"
        assert (await answer_calls(home, ("c1", "red"))).text == "Done.", "a run of its own"


async def test_a_run_out_of_steps_can_be_continued(tmp_path: Path) -> None:
    shop = CountingTools()
    model = ScriptedModel.of(*(echoing(word) for word in "abc"))
    limits = Limits(max_steps=2)
    async with backend(tmp_path / "t.db", model, catalogue=shop.catalogue, limits=limits) as home:
        await send_message(home)
        told = RunChunks(await home.turn(CONTINUE))
        assert (told.text, told.reason) == ("Done.", "stop")
        assert dict(shop.calls) == {"a": 1, "b": 1, "c": 1}
        assert len(await home.turns()) == 2, "no user message is doubled"


async def test_the_same_call_too_often_is_not_made_and_ends_the_run(tmp_path: Path) -> None:
    shop = CountingTools()
    model = ScriptedModel.of(*same(5))
    limits = Limits(max_identical_calls=2)
    async with backend(tmp_path / "t.db", model, catalogue=shop.catalogue, limits=limits) as home:
        told = await send_message(home)
        assert ended_by(told, "max_identical_calls", 2)
        assert shop.calls["again"] == 2
        assert told.error_codes == {"c2": "limit_reached"}
        model._scripts.clear()
        assert await goes_on(home)


async def test_the_same_call_too_often_in_one_message_counts_too(tmp_path: Path) -> None:
    shop = CountingTools()
    calls = [(f"c{n}", "echo", '{"word":"again"}') for n in range(3)]
    model = ScriptedModel.of(tool_call_message(*calls))
    limits = Limits(max_identical_calls=2)
    async with backend(tmp_path / "t.db", model, catalogue=shop.catalogue, limits=limits) as home:
        told = await send_message(home)
        assert ended_by(told, "max_identical_calls", 2)
        assert set(told.error_codes.values()) == {"limit_reached"}
        assert shop.calls["again"] == 0
        assert await goes_on(home)


async def test_identical_calls_are_counted_anew_in_each_run(tmp_path: Path) -> None:
    shop = CountingTools()
    done: list[Piece] = [text("Done."), finish()]
    model = ScriptedModel.of(*same(2), done, *same(2), done)
    limits = Limits(max_identical_calls=2)
    async with backend(tmp_path / "t.db", model, catalogue=shop.catalogue, limits=limits) as home:
        for _ in range(2):
            assert (await send_message(home)).text == "Done."
        assert shop.calls["again"] == 4


@pytest.mark.parametrize("args", ["{bad", "{}"])
async def test_a_model_that_never_gets_its_arguments_right_is_stopped(
    tmp_path: Path, args: str
) -> None:
    shop = CountingTools()

    def wrong(_: list[BaseMessage]) -> list[Piece]:
        return tool_call_message(("c", "echo", args))

    model = ScriptedModel.of(*[wrong] * 9)
    limits = Limits(max_identical_calls=3)
    async with backend(tmp_path / "t.db", model, catalogue=shop.catalogue, limits=limits) as home:
        told = await send_message(home)
        assert ended_by(told, "max_identical_calls", 3)
        assert len(model.prompts) == 4
        model._scripts.clear()
        assert await goes_on(home)


async def test_a_run_that_takes_too_long_ends_with_the_text_so_far(tmp_path: Path) -> None:
    model = ScriptedModel.of([text("So far "), asyncio.Event()])
    async with backend(tmp_path / "t.db", model, max_run_seconds=4) as home:
        told = await send_message(home)
        assert ended_by(told, "max_run_seconds", 4)
        assert told.text == "So far "
        assert (await home.turns())[-1].parts[0].text == "So far "  # type: ignore[union-attr]
        assert await goes_on(home)


async def test_a_run_that_takes_too_long_in_a_tool_cancels_the_call(tmp_path: Path) -> None:
    shop = CountingTools()
    model = ScriptedModel.of(
        tool_call_message(("c1", "hold", '{"word":"held"}'), ("c2", "echo", '{"word":"quick"}'))
    )
    async with backend(
        tmp_path / "t.db", model, catalogue=shop.catalogue, max_run_seconds=4
    ) as home:
        told = await send_message(home)
        assert ended_by(told, "max_run_seconds", 4)
        assert (told.results["c1"].end, told.results["c2"].end) == ("cancelled", "result")
        assert shop.cancelled["held"] == 1
        assert await goes_on(home)


async def test_what_the_model_gets_of_a_long_thread_is_bounded(tmp_path: Path) -> None:
    model = ScriptedModel.of()
    limits = Limits(max_history_tokens=200)
    async with backend(tmp_path / "t.db", model, limits=limits, system_prompt="Be brief.") as home:
        for number in range(12):
            await send_message(home, f"question {number} " + "word " * 30)
        sizes: list[Any] = [sum(len(str(m.content)) for m in prompt) for prompt in model.prompts]
        assert max(sizes) <= 4 * 200
        assert model.prompts[-1][0].content == "Be brief."
        assert str(model.prompts[-1][-1].content).startswith("question 11 ")
        assert len(await home.turns()) == 24, "the thread itself keeps all"
