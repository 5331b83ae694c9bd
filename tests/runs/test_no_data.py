"""Recovery: a tool found no data; one more try with what there is, then the user is asked."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, ToolException

from tests.support.backend import Backend, backend, chunks_of, message
from tests.support.provider_refusal import provider_refusal
from tests.support.run_chunks import (
    ALERT,
    COMPONENT,
    SELECTION,
    RunChunks,
    answer_calls,
    send_message,
    tool_call_message,
)
from tests.support.scripted_model import Piece, ScriptedModel
from tests.support.waiting import WAIT_SECONDS
from turnstream.graphs.limits import Limits
from turnstream.graphs.no_data import (
    GIVE_UP_ADVICE,
    MAX_WINDOWS,
    QUESTION,
    RETRY_ADVICE,
    fresh_misses,
)
from turnstream.server.turns.chunks import ArgsFinish, RunEnded
from turnstream.server.turns.messages import AssistantTurn, ToolCall
from turnstream.server.turns.requests import TurnRequest
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool
from turnstream.tools.ui import render_ui_component, request_user_selection

JANUARY = {"start": "2024-01-01", "end": "2024-01-31"}
MARCH = {"start": "2024-03-01", "end": "2024-03-31"}
FIELDS = ["status", "available", "rain"]


def rain(
    *windows: dict[str, str], availability_tool: str | None = None, status: str = ""
) -> BaseTool:
    """Knows the rain of the first day of each window, and of no other day."""

    @real_tool(client_fields=FIELDS, availability_tool=availability_tool)
    async def rain(day: str) -> dict[str, Any]:
        """Tell the rain of a day.

        Args:
            day: The day.
        """
        if any(window["start"] == day for window in windows):
            return {"status": "ok", "rain": 7, "secret": "s3cret"}
        missed = status or ("no_data_in_window" if windows else "no_data")
        return {"status": missed, "available": list(windows), "secret": "s3cret"}

    return rain


def catalogue(*tools: BaseTool, can_ask: bool = True) -> Catalogue:
    ui = (render_ui_component, request_user_selection) if can_ask else (render_ui_component,)
    return Catalogue(tools, ui)


def asks(id: str, day: str) -> tuple[str, str, str]:
    return (id, "rain", json.dumps({"day": day}))


def script(*days: str) -> ScriptedModel:
    """A model that asks for one day after the other, then says what it has."""
    return ScriptedModel.of(
        *(tool_call_message(asks(f"c{n}", day)) for n, day in enumerate(days, start=1))
    )


def read(model: ScriptedModel, prompt: int, back: int = 1) -> dict[str, Any]:
    """The result that stands so far from the end of what the model was given."""
    message = model.prompts[prompt][-back]
    assert isinstance(message, ToolMessage)
    found: dict[str, Any] = json.loads(message.text)
    return found


def question(told: RunChunks) -> dict[str, Any]:
    """The arguments of the question that ends a run."""
    assert told.reason == "tool-calls"
    assert told.calls[-1].tool_name == SELECTION
    path = (len(told.parts) - 1,)
    [args] = [c.args for c in told.chunks if isinstance(c, ArgsFinish) and c.path == path]
    return request_user_selection.validate(dict(args or {}), lambda _: None)


def ends(told: RunChunks) -> list[RunEnded]:
    return [chunk for chunk in told.chunks if isinstance(chunk, RunEnded)]


async def accepted(home: Backend, model: ScriptedModel) -> None:
    """Every history that the model was given is one that a strict endpoint takes."""
    for prompt in model.prompts:
        assert provider_refusal(prompt) is None
    assert await home.messages()


async def test_the_first_miss_gives_the_model_one_more_try(tmp_path: Path) -> None:
    model = script("2026-01-01", "2024-03-01")
    tools = catalogue(rain(JANUARY, MARCH))
    async with backend(tmp_path / "t.db", model, catalogue=tools) as home:
        told = await send_message(home)
        assert (told.text, told.reason, told.steps) == ("Done.", "stop", 3)
        assert told.results["c2"].result == {"status": "ok", "rain": 7}
        assert read(model, 1)["recovery"] == {
            "advice": RETRY_ADVICE,
            "available": [JANUARY, MARCH],
        }
        assert read(model, 1)["status"] == "no_data_in_window"
        assert read(model, 2)["rain"] == 7
        await accepted(home, model)


async def test_what_the_client_sees_of_a_miss_is_what_the_tool_said(tmp_path: Path) -> None:
    model = script("2026-01-01", "2024-03-01")
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(rain(JANUARY))) as home:
        told = await send_message(home)
        view = {"status": "no_data_in_window", "available": [JANUARY]}
        assert told.results["c1"].result == view
        turn = (await home.turns())[-1]
        assert isinstance(turn, AssistantTurn)
        part = turn.parts[0]
        assert isinstance(part, ToolCall)
        assert (part.result, part.result_id) == (view, told.results["c1"].result_id)


async def test_the_hint_is_not_for_the_client_even_where_nothing_else_is_hidden(
    tmp_path: Path,
) -> None:
    @real_tool(client_fields=["status"])
    async def rain() -> dict[str, Any]:
        """Tell the rain."""
        return {"status": "no_data"}

    model = ScriptedModel.of(tool_call_message(("c1", "rain", "{}")))
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(rain)) as home:
        await send_message(home)
        assert "recovery" in read(model, 1)
        assert "recovery" not in str(await home.turns())


async def test_a_model_that_ignores_the_hint_leads_to_the_question(tmp_path: Path) -> None:
    model = script("2026-01-01", "2026-01-01", "2026-01-01")
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(rain(JANUARY, MARCH))) as home:
        told = await send_message(home)
        asked = question(told)
        assert asked["prompt"] == QUESTION
        assert [option["value"] for option in asked["options"]] == [
            "2024-01-01/2024-01-31",
            "2024-03-01/2024-03-31",
        ]
        assert len(model.prompts) == 2, "the model has no say in the question"
        assert [call.tool_name for call in told.calls] == ["rain", "rain", SELECTION]


async def test_the_answer_to_the_question_goes_to_the_model_with_the_misses(
    tmp_path: Path,
) -> None:
    model = script("2026-01-01", "2026-01-02", "2024-03-01")
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(rain(JANUARY, MARCH))) as home:
        told = await send_message(home)
        pending = told.calls[-1].tool_call_id
        after = await answer_calls(home, (pending, {"value": "2024-03-01/2024-03-31"}))
        assert (after.text, after.reason) == ("Done.", "stop")
        assert after.results["c3"].result["rain"] == 7
        assert read(model, 2) == {"value": "2024-03-01/2024-03-31"}
        assert read(model, 2, back=3)["recovery"]["advice"] == QUESTION
        await accepted(home, model)


async def test_a_question_of_recovery_can_be_typed_past(tmp_path: Path) -> None:
    model = script("2026-01-01", "2026-01-02")
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(rain(JANUARY))) as home:
        await send_message(home)
        told = await send_message(home, "Never mind.")
        assert (told.text, told.reason) == ("Done.", "stop")
        assert [settled.end for settled in told.settled] == ["cancelled"]
        await accepted(home, model)


async def test_each_run_recovers_anew(tmp_path: Path) -> None:
    """After the answer the next miss is again the first of its run."""
    model = script("2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04")
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(rain(JANUARY))) as home:
        pending = (await send_message(home)).calls[-1].tool_call_id
        told = await answer_calls(home, (pending, {"value": "2024-01-01/2024-01-31"}))
        assert [call.tool_name for call in told.calls] == ["rain", "rain", SELECTION]
        assert read(model, 3)["recovery"]["advice"] == RETRY_ADVICE
        await accepted(home, model)


async def test_without_any_window_the_model_is_told_to_give_up(tmp_path: Path) -> None:
    model = script("2026-01-01")
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(rain())) as home:
        told = await send_message(home)
        assert (told.text, told.reason) == ("Done.", "stop")
        assert read(model, 1)["recovery"] == {"advice": GIVE_UP_ADVICE}


async def test_a_model_that_will_not_give_up_runs_into_its_budget(tmp_path: Path) -> None:
    """Nothing to offer, so nothing to ask: recovery ends nothing by itself, and repeats nothing."""
    model = script(*["2026-01-01"] * 9)
    async with backend(
        tmp_path / "t.db", model, catalogue=catalogue(rain()), limits=Limits(max_identical_calls=4)
    ) as home:
        told = await send_message(home)
        assert told.reason == "other"
        assert ends(told) == [RunEnded("limit", "max_identical_calls", 4)]
        assert len(model.prompts) == 5
        misses = [m for m in await home.messages() if isinstance(m, ToolMessage)][:4]
        assert [json.loads(m.text)["recovery"]["advice"] for m in misses] == [GIVE_UP_ADVICE] * 4


async def test_a_run_that_only_ever_misses_ends_within_its_steps(tmp_path: Path) -> None:
    days = [f"2026-02-{day:02}" for day in range(1, 20)]
    tools = catalogue(rain(JANUARY), can_ask=False)
    async with backend(
        tmp_path / "t.db", script(*days), catalogue=tools, limits=Limits(max_steps=6)
    ) as home:
        told = await send_message(home)
        assert ends(told) == [RunEnded("limit", "max_steps", 6)]
        assert told.steps == 6


async def test_where_nobody_can_be_asked_the_second_miss_goes_to_the_model(
    tmp_path: Path,
) -> None:
    model = script("2026-01-01", "2026-01-02")
    tools = catalogue(rain(JANUARY), can_ask=False)
    async with backend(tmp_path / "t.db", model, catalogue=tools) as home:
        told = await send_message(home)
        assert (told.text, told.reason) == ("Done.", "stop")
        assert read(model, 1)["recovery"]["advice"] == RETRY_ADVICE
        assert read(model, 2)["recovery"]["advice"] == GIVE_UP_ADVICE


async def test_several_misses_at_once_are_one_try_and_one_question(tmp_path: Path) -> None:
    def both(n: int) -> list[Piece]:
        return tool_call_message(
            asks(f"a{n}", "2026-01-01"), asks(f"b{n}", "2024-01-01"), asks(f"d{n}", "x")
        )

    model = ScriptedModel.of(both(1), both(2))
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(rain(JANUARY))) as home:
        told = await send_message(home)
        assert told.steps == 3
        assert len(question(told)["options"]) == 1, "each window once"
        assert [told.results[id].result["status"] for id in ("a1", "b1", "d1")] == [
            "no_data_in_window",
            "ok",
            "no_data_in_window",
        ]
        hinted = ["recovery" in read(model, 1, back) for back in (3, 2, 1)]
        assert hinted == [True, False, True], "what was found is left as it is"
        await accepted(home, model)


async def test_misses_of_several_tools_bring_all_their_windows(tmp_path: Path) -> None:
    @real_tool(client_fields=FIELDS)
    async def snow() -> dict[str, Any]:
        """Tell the snow."""
        return {"status": "no_data_in_window", "available": [MARCH]}

    model = ScriptedModel.of(
        tool_call_message(asks("c1", "2026-01-01"), ("c2", "snow", "{}")),
        tool_call_message(asks("c3", "2026-01-01"), ("c4", "snow", "{}")),
    )
    tools = catalogue(rain(JANUARY), snow)
    async with backend(tmp_path / "t.db", model, catalogue=tools) as home:
        assert len(question(await send_message(home))["options"]) == 2


async def test_a_question_offers_no_more_windows_than_a_person_reads(tmp_path: Path) -> None:
    windows = [{"start": f"2024-{n:02}", "end": f"2024-{n:02}"} for n in range(1, 40)]
    async with backend(
        tmp_path / "t.db", script("a", "b"), catalogue=catalogue(rain(*windows))
    ) as home:
        assert len(question(await send_message(home))["options"]) == MAX_WINDOWS


async def test_a_component_beside_a_miss_ends_the_turn(tmp_path: Path) -> None:
    model = ScriptedModel.of(tool_call_message(asks("c1", "2026-01-01"), ("c2", COMPONENT, ALERT)))
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(rain(JANUARY))) as home:
        told = await send_message(home)
        assert (told.reason, told.steps) == ("stop", 1)
        assert told.results["c1"].result["status"] == "no_data_in_window"
        assert (await send_message(home)).text == "Done."
        await accepted(home, model)


async def test_a_miss_beside_a_question_is_recovered_from_when_the_answer_comes(
    tmp_path: Path,
) -> None:
    ask = '{"kind":"single","prompt":"Which?","options":[{"value":"red"}]}'
    model = ScriptedModel.of(tool_call_message(asks("c1", "2026-01-01"), ("q1", SELECTION, ask)))
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(rain(JANUARY))) as home:
        assert (await send_message(home)).reason == "tool-calls"
        told = await answer_calls(home, ("q1", {"value": "red"}))
        assert told.text == "Done."
        assert read(model, 1, back=2)["recovery"]["advice"] == RETRY_ADVICE
        await accepted(home, model)


async def test_the_availability_tool_is_asked_what_there_is(tmp_path: Path) -> None:
    @real_tool(client_fields=["status"])
    async def stations() -> dict[str, Any]:
        """List the stations."""
        return {"status": "ok", "stations": ["Oslo"], "available": [MARCH]}

    model = script("2026-01-01")
    tools = catalogue(rain(availability_tool="stations"), stations)
    async with backend(tmp_path / "t.db", model, catalogue=tools) as home:
        told = await send_message(home)
        assert [call.tool_name for call in told.calls] == ["rain"], "asking it is no call"
        assert read(model, 1)["recovery"] == {
            "advice": RETRY_ADVICE,
            "available": [MARCH],
            "availability": {"status": "ok", "stations": ["Oslo"], "available": [MARCH]},
        }


async def test_the_windows_of_the_availability_tool_can_be_asked_for(tmp_path: Path) -> None:
    @real_tool(client_fields=["available"])
    async def stations() -> dict[str, Any]:
        """List the stations."""
        return {"available": [MARCH]}

    tools = catalogue(rain(availability_tool="stations"), stations)
    async with backend(tmp_path / "t.db", script("a", "b"), catalogue=tools) as home:
        assert len(question(await send_message(home))["options"]) == 1


async def test_windows_that_the_client_may_not_see_are_for_the_model_alone(tmp_path: Path) -> None:
    @real_tool(client_fields=["status"])
    async def stations() -> dict[str, Any]:
        """List the stations."""
        return {"available": [MARCH]}

    model = script("a", "b")
    tools = catalogue(rain(availability_tool="stations"), stations)
    async with backend(tmp_path / "t.db", model, catalogue=tools) as home:
        told = await send_message(home)
        assert (told.text, told.reason) == ("Done.", "stop"), "there is nothing to ask with"
        assert read(model, 1)["recovery"]["available"] == [MARCH]


@pytest.mark.parametrize("fails", [ToolException("closed"), RuntimeError("s3cret"), None])
async def test_an_availability_tool_that_fails_is_as_good_as_none(
    fails: Exception | None, tmp_path: Path
) -> None:
    @real_tool(client_fields=["status"])
    async def stations() -> dict[str, Any]:
        """List the stations."""
        if fails:
            raise fails
        return {"available": "nonsense"}

    model = script("2026-01-01")
    tools = catalogue(rain(availability_tool="stations" if fails else "gone"), stations)
    async with backend(tmp_path / "t.db", model, catalogue=tools) as home:
        assert (await send_message(home)).text == "Done."
        assert read(model, 1)["recovery"] == {"advice": GIVE_UP_ADVICE}


@pytest.mark.parametrize(
    "available",
    [None, "2024", [1], [{"start": 1, "end": 2}], [{"start": "2024-01-01"}], {"start": "a"}],
)
async def test_windows_that_are_none_are_passed_over(available: Any, tmp_path: Path) -> None:
    @real_tool(client_fields=FIELDS)
    async def rain() -> dict[str, Any]:
        """Tell the rain."""
        return {"status": "no_data_in_window", "available": available}

    model = ScriptedModel.of(tool_call_message(("c1", "rain", "{}")))
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(rain)) as home:
        assert (await send_message(home)).text == "Done."
        assert read(model, 1)["recovery"] == {"advice": GIVE_UP_ADVICE}


@pytest.mark.parametrize("status", ["ok", "empty", 7, None, ["no_data"]])
async def test_any_other_status_goes_to_the_model_as_it_is(status: Any, tmp_path: Path) -> None:
    @real_tool(client_fields=FIELDS)
    async def rain() -> dict[str, Any]:
        """Tell the rain."""
        return {"status": status, "available": [JANUARY]}

    model = ScriptedModel.of(tool_call_message(("c1", "rain", "{}")))
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(rain)) as home:
        assert (await send_message(home)).text == "Done."
        assert read(model, 1) == {"status": status, "available": [JANUARY]}


async def test_the_answer_of_a_browser_is_no_miss(tmp_path: Path) -> None:
    model = ScriptedModel.of(
        tool_call_message(
            ("q1", SELECTION, '{"kind":"single","prompt":"?","options":[{"value":"a"}]}')
        )
    )
    async with backend(tmp_path / "t.db", model, catalogue=catalogue(rain(JANUARY))) as home:
        await send_message(home)
        told = await answer_calls(home, ("q1", {"cancelled": True}))
        assert told.text == "Done."
        answer = (await home.messages())[2]
        assert isinstance(answer, ToolMessage)
        missed = answer.model_copy(update={"content": '{"status": "no_data"}'})
        assert fresh_misses([AIMessage(""), missed]) == []


async def test_a_hint_is_cut_to_what_the_model_may_get_of_one_result(tmp_path: Path) -> None:
    @real_tool(client_fields=["status"])
    async def stations() -> dict[str, Any]:
        """List the stations."""
        return {"stations": ["Oslo"] * 30}

    for most, kept in (
        (2000, {"advice", "available", "availability"}),
        (400, {"advice", "available"}),
    ):
        model = script("2026-01-01")
        tools = catalogue(rain(JANUARY, MARCH, availability_tool="stations"), stations)
        limits = Limits(max_result_chars=most)
        async with backend(tmp_path / f"{most}.db", model, catalogue=tools, limits=limits) as home:
            await send_message(home)
            assert set(read(model, 1)["recovery"]) == kept
            assert len(model.prompts[1][-1].text) <= most


async def test_recovery_is_the_same_in_stream_and_history(tmp_path: Path) -> None:
    async with backend(
        tmp_path / "t.db", script("a", "b"), catalogue=catalogue(rain(JANUARY))
    ) as home:
        told = await send_message(home)
        turn = (await home.turns())[-1]
        assert isinstance(turn, AssistantTurn)
        assert [p.tool_name for p in turn.parts if isinstance(p, ToolCall)] == [
            call.tool_name for call in told.calls
        ]
        assert turn.finish_reason == told.reason == "tool-calls"


async def test_a_run_that_is_stopped_in_the_availability_tool_can_go_on(tmp_path: Path) -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    @real_tool(client_fields=["status"])
    async def stations() -> dict[str, Any]:
        """List the stations."""
        begun.set()
        await release.wait()
        return {"available": [MARCH]}

    model = script("2026-01-01")
    tools = catalogue(rain(JANUARY, availability_tool="stations"), stations)
    async with backend(tmp_path / "t.db", model, catalogue=tools) as home:
        run = await home.start(message("Go"))
        async with asyncio.timeout(WAIT_SECONDS):
            await begun.wait()
        await home.stop()
        assert RunChunks(await chunks_of(run)).reason == "other"
        release.set()
        told = RunChunks(await home.turn(TurnRequest(continue_=True)))
        assert (told.text, told.reason) == ("Done.", "stop")
        assert read(model, 1)["recovery"]["available"] == [JANUARY, MARCH]
        await accepted(home, model)
