"""Charts from an earlier result: the offer to the model, `data_from`, and what the browser gets."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from tests.support.backend import Backend, backend
from tests.support.run_chunks import (
    COMPONENT,
    SELECTION,
    RunChunks,
    answer_calls,
    send_message,
    tool_call_message,
)
from tests.support.scripted_model import ScriptedModel
from turnstream.graphs.limits import Limits
from turnstream.server.turns.messages import AssistantTurn, ToolCall
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool
from turnstream.tools.ui import render_ui_component, request_user_selection

LINE = {"x": [1, 2, 3], "series": [{"name": "kW", "data": [4.5, None, 6]}], "y_label": "kW"}
TABLE = {"columns": [{"key": "a"}], "rows": [{"a": 1}, {"a": 2}]}


def measuring(points: Mapping[str, Any], name: str = "measure", **told: Any) -> BaseTool:
    """A tool that tells the model little, and the browser all the points."""

    @real_tool(client_fields=["status", *points], artifact=True)
    async def measure(number: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
        """Measure.

        Args:
            number: Which.
        """
        return {"status": "ok", "number": number, "secret": "s3cret", **told}, dict(points)

    measure.name = name
    return measure


def tools(*measuring: BaseTool) -> Catalogue:
    return Catalogue(measuring, (render_ui_component, request_user_selection))


def draw(component: str, data_from: str, **props: Any) -> tuple[str, str, str]:
    args = {"component": component, "props": props, "data_from": data_from}
    return ("r1", COMPONENT, json.dumps(args))


def read(model: ScriptedModel, prompt: int, back: int = 1) -> dict[str, Any]:
    message = model.prompts[prompt][-back]
    assert isinstance(message, ToolMessage)
    found: dict[str, Any] = json.loads(message.text)
    return found


async def refused(told: RunChunks) -> str:
    """The sentence with which a component was sent back to the model."""
    assert told.error_codes == {"r1": "invalid_arguments"}
    sentence: str = told.results["r1"].result["error"]["message"]
    return sentence


# the offer


@pytest.mark.parametrize(
    ("points", "draws"),
    [
        (LINE, ["line_chart", "scatter_chart"]),
        (TABLE, ["table"]),
        ({**LINE, **TABLE}, ["line_chart", "scatter_chart", "table"]),
        ({"categories": ["a"], "series": [{"name": "n", "data": [1]}]}, ["bar_chart"]),
    ],
)
async def test_the_model_is_told_under_which_id_a_result_draws_what(
    points: dict[str, Any], draws: list[str], tmp_path: Path
) -> None:
    model = ScriptedModel.of(tool_call_message(("c1", "measure", "{}")))
    async with backend(tmp_path / "t.db", model, catalogue=tools(measuring(points))) as home:
        told = await send_message(home)
        said = read(model, 1)
        assert (said["data_from"], said["draws"]) == ("c1", draws)
        assert (said["number"], said["secret"]) == (1, "s3cret")
        assert told.results["c1"].result == {"status": "ok", **points}, "the client's view is whole"


@pytest.mark.parametrize(
    "points",
    [
        {"x": [1, 2], "y": [1, 2]},
        {"x": [1], "series": [{"name": "n", "data": [1]}]},
        {"x": [1, 2], "series": [{"name": "n", "data": [1]}]},
        {"x": list(range(501)), "series": [{"name": "n", "data": list(range(501))}]},
        {"columns": [], "rows": []},
        {"columns": [{"key": "a"}], "rows": "none"},
        {"categories": [], "series": []},
    ],
    ids=["no series", "one point", "uneven", "too many", "no columns", "no rows", "nothing"],
)
async def test_what_no_component_could_draw_is_not_offered(
    points: dict[str, Any], tmp_path: Path
) -> None:
    model = ScriptedModel.of(tool_call_message(("c1", "measure", "{}")))
    async with backend(tmp_path / "t.db", model, catalogue=tools(measuring(points))) as home:
        await send_message(home)
        assert not {"data_from", "draws"} & set(read(model, 1))


async def test_a_result_that_is_its_own_view_is_not_changed_for_the_client(tmp_path: Path) -> None:
    @real_tool(client_fields=["columns", "rows"])
    async def measure() -> dict[str, Any]:
        """Measure."""
        return TABLE

    model = ScriptedModel.of(tool_call_message(("c1", "measure", "{}")))
    async with backend(tmp_path / "t.db", model, catalogue=tools(measure)) as home:
        assert (await send_message(home)).results["c1"].result == TABLE
        assert read(model, 1) == {"data_from": "c1", "draws": ["table"], **TABLE}


async def test_fields_of_a_tools_own_by_these_names_do_not_mislead_the_model(
    tmp_path: Path,
) -> None:
    model = ScriptedModel.of(tool_call_message(("c1", "measure", "{}")))
    tool = measuring(LINE, data_from="elsewhere", draws="nothing")
    async with backend(tmp_path / "t.db", model, catalogue=tools(tool)) as home:
        await send_message(home)
        assert (read(model, 1)["data_from"], read(model, 1)["draws"]) == (
            "c1",
            ["line_chart", "scatter_chart"],
        )


@pytest.mark.parametrize(
    ("most", "offered"), [(10_000, True), (1100, True), (1050, False), (900, True)]
)
async def test_the_offer_keeps_within_what_the_model_may_get_of_a_result(
    most: int, offered: bool, tmp_path: Path
) -> None:
    """One that just fits is left whole without it; one that is cut anyway begins with it."""
    model = ScriptedModel.of(tool_call_message(("c1", "measure", "{}")))
    limits = Limits(max_result_chars=most)
    tool = measuring(LINE, filling="x" * 960)
    async with backend(tmp_path / "t.db", model, catalogue=tools(tool), limits=limits) as home:
        await send_message(home)
        content = model.prompts[1][-1].text
        assert (
            content.startswith('{"data_from":"c1","draws":["line_chart","scatter_chart"],')
            == offered
        )
        assert len(content.partition("\n[cut:")[0]) <= most
        assert ("\n[cut:" in content) == (most == 900)


async def test_points_too_big_for_the_client_are_not_offered(tmp_path: Path) -> None:
    model = ScriptedModel.of(
        tool_call_message(("c1", "measure", "{}")), tool_call_message(draw("line_chart", "c1"))
    )
    limits = Limits(max_result_bytes=40)
    async with backend(
        tmp_path / "t.db", model, catalogue=tools(measuring(LINE)), limits=limits
    ) as home:
        told = await send_message(home)
        assert "data_from" not in read(model, 1)
        assert "no points for a line_chart" in await refused(told)


# the component


async def drawn(
    path: Path, *script: Any, points: Mapping[str, Any] = LINE, words: str = "Draw"
) -> RunChunks:
    model = ScriptedModel.of(*script)
    async with backend(path, model, catalogue=tools(measuring(points))) as home:
        return await send_message(home, words)


@pytest.mark.parametrize("reference", ["c1", "measure"])
async def test_a_component_gets_the_points_of_an_earlier_call(
    reference: str, tmp_path: Path
) -> None:
    told = await drawn(
        tmp_path / "t.db",
        tool_call_message(("c1", "measure", "{}")),
        tool_call_message(draw("line_chart", reference, title="Power")),
    )
    assert told.results["r1"].result == {
        "component": "line_chart",
        "props": {"title": "Power", **LINE},
        "data_from": reference,
    }
    assert (told.results["r1"].end, told.reason) == ("shown", "stop")


async def test_by_name_it_is_the_last_call_that_worked(tmp_path: Path) -> None:
    @real_tool(client_fields=["columns", "rows"])
    async def measure(number: int) -> dict[str, Any]:
        """Measure.

        Args:
            number: Which.
        """
        if number == 3:
            raise RuntimeError("broken")
        return {"columns": [{"key": "a"}], "rows": [{"a": number}]}

    calls = [(f"c{n}", "measure", f'{{"number":{n}}}') for n in (1, 2, 3)]
    model = ScriptedModel.of(tool_call_message(*calls), tool_call_message(draw("table", "measure")))
    async with backend(tmp_path / "t.db", model, catalogue=tools(measure)) as home:
        told = await send_message(home)
        assert told.results["r1"].result["props"]["rows"] == [{"a": 2}]


async def test_the_models_own_labels_hold_and_its_own_numbers_do_not(tmp_path: Path) -> None:
    made_up = {"x": [1, 2], "series": [{"name": "made up", "data": [0, 0]}], "y_label": "W"}
    told = await drawn(
        tmp_path / "t.db",
        tool_call_message(("c1", "measure", "{}")),
        tool_call_message(draw("line_chart", "c1", **made_up)),
    )
    assert told.results["r1"].result["props"] == {**LINE, "y_label": "W"}


async def test_the_model_reads_of_a_filled_component_that_it_was_shown_not_its_points(
    tmp_path: Path,
) -> None:
    model = ScriptedModel.of(
        tool_call_message(("c1", "measure", "{}")), tool_call_message(draw("line_chart", "c1"))
    )
    async with backend(tmp_path / "t.db", model, catalogue=tools(measuring(LINE))) as home:
        await send_message(home)
        await send_message(home, "And now?")
        answer = model.prompts[2][-2]
        assert json.loads(answer.text) == {"status": "shown"}


async def test_an_unknown_call_goes_back_to_the_model_which_can_do_better(tmp_path: Path) -> None:
    told = await drawn(
        tmp_path / "t.db",
        tool_call_message(("c1", "measure", "{}")),
        tool_call_message(draw("line_chart", "c9")),
        tool_call_message(("r2", COMPONENT, draw("line_chart", "c1")[2])),
    )
    assert told.error_codes == {"r1": "invalid_arguments"}
    assert "no earlier tool call 'c9'" in told.results["r1"].result["error"]["message"]
    assert told.results["r2"].result["props"] == LINE
    assert told.reason == "stop"


async def test_a_call_of_the_same_message_has_no_result_yet(tmp_path: Path) -> None:
    told = await drawn(
        tmp_path / "t.db", tool_call_message(("c1", "measure", "{}"), draw("line_chart", "c1"))
    )
    assert "no earlier tool call 'c1'" in await refused(told)
    assert told.results["c1"].end == "result"
    assert told.text == "Done.", "the model hears of it and goes on"


async def test_a_result_without_such_points_goes_back_with_what_it_has(tmp_path: Path) -> None:
    told = await drawn(
        tmp_path / "t.db",
        tool_call_message(("c1", "measure", "{}")),
        tool_call_message(draw("bar_chart", "c1")),
    )
    assert "no points for a bar_chart; it has them for: line_chart" in await refused(told)


async def test_a_component_that_no_result_can_fill_goes_back(tmp_path: Path) -> None:
    told = await drawn(
        tmp_path / "t.db",
        tool_call_message(("c1", "measure", "{}")),
        tool_call_message(draw("alert", "c1", message="Hi")),
    )
    assert "no points for a alert" in await refused(told)


async def test_points_over_a_components_limits_go_back(tmp_path: Path) -> None:
    many = {"x": list(range(501)), "series": [{"name": "n", "data": list(range(501))}]}
    told = await drawn(
        tmp_path / "t.db",
        tool_call_message(("c1", "measure", "{}")),
        tool_call_message(draw("line_chart", "c1")),
        points=many,
    )
    assert "props.x: List should have at most 500 items" in await refused(told)


async def test_a_call_that_failed_has_no_points(tmp_path: Path) -> None:
    told = await drawn(
        tmp_path / "t.db",
        tool_call_message(("c1", "measure", '{"number":"x"}')),
        tool_call_message(draw("line_chart", "c1")),
    )
    assert told.error_codes["r1"] == "invalid_arguments"


@pytest.mark.parametrize("source", ["c1", "measure"])
async def test_the_results_of_an_earlier_turn_are_there(source: str, tmp_path: Path) -> None:
    model = ScriptedModel.of(tool_call_message(("c1", "measure", "{}")))
    async with backend(tmp_path / "t.db", model, catalogue=tools(measuring(LINE))) as home:
        await send_message(home)
        model.script(tool_call_message(draw("line_chart", source)))
        told = await send_message(home, "Draw that")
        assert told.results["r1"].result["props"] == LINE


@pytest.mark.parametrize(
    "calls",
    [
        [
            tool_call_message(("c2", "measure", '{"number":"x"}')),
            tool_call_message(draw("line_chart", "measure")),
        ],
        [tool_call_message(("c2", "measure", "{}"), draw("line_chart", "measure"))],
    ],
    ids=["has failed", "is made beside"],
)
async def test_a_tools_name_is_no_call_of_a_turn_before_the_last_that_calls_it(
    calls: list[Any], tmp_path: Path
) -> None:
    model = ScriptedModel.of(tool_call_message(("c1", "measure", "{}")))
    async with backend(tmp_path / "t.db", model, catalogue=tools(measuring(LINE))) as home:
        await send_message(home)
        model.script(*calls)
        told = await send_message(home, "Again")
        assert "no earlier tool call" in str(told.results["r1"].result)


async def test_after_an_answer_the_turns_results_are_still_there(tmp_path: Path) -> None:
    ask = '{"kind":"single","prompt":"Draw it?","options":[{"value":"yes"}]}'
    model = ScriptedModel.of(
        tool_call_message(("c1", "measure", "{}"), ("q1", SELECTION, ask)),
        tool_call_message(draw("line_chart", "c1")),
    )
    async with backend(tmp_path / "t.db", model, catalogue=tools(measuring(LINE))) as home:
        await send_message(home)
        told = await answer_calls(home, ("q1", {"value": "yes"}))
        assert told.results["r1"].result["props"] == LINE


async def test_no_secret_field_gets_into_a_component(tmp_path: Path) -> None:
    model = ScriptedModel.of(
        tool_call_message(("c1", "measure", "{}")), tool_call_message(draw("table", "c1"))
    )
    points = {"columns": [{"key": "a"}], "rows": [{"a": 1}]}

    @real_tool(client_fields=["columns"])
    async def measure() -> dict[str, Any]:
        """Measure."""
        return points

    async with backend(tmp_path / "t.db", model, catalogue=tools(measure)) as home:
        told = await send_message(home)
        assert "data_from" not in read(model, 1)
        assert "no points for a table" in await refused(told)


async def test_the_thread_keeps_the_filled_component(tmp_path: Path) -> None:
    model = ScriptedModel.of(
        tool_call_message(("c1", "measure", "{}")), tool_call_message(draw("line_chart", "c1"))
    )
    async with backend(tmp_path / "t.db", model, catalogue=tools(measuring(LINE))) as home:
        told = await send_message(home)
        assert shown(await last_turn(home)) == told.results["r1"].result


async def last_turn(home: Backend) -> AssistantTurn:
    turn = (await home.turns())[-1]
    assert isinstance(turn, AssistantTurn)
    return turn


def shown(turn: AssistantTurn) -> Any:
    [part] = [p for p in turn.parts if isinstance(p, ToolCall) and p.tool_name == COMPONENT]
    return part.result
