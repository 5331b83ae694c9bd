"""UI tools of a graph of one's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from langchain.agents import create_agent
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel, Field

from tests.graphs.test_headless_calls import calls, served
from tests.support.backend import answers, backend, message
from tests.support.protocol_readers import events, payloads
from tests.support.run_chunks import tool_call_message
from tests.support.scripted_model import ScriptedModel
from tests.support.served_run import UI
from turnstream.graphs.ui_tools import ui_tool
from turnstream.server.turns.chunks import ArgsFinish, PartStart, ToolCallPart
from turnstream.server.turns.requests import InvalidRequest, Resume, ToolAnswer, TurnRequest
from turnstream.tools.contract import CatalogueError

SEAT = {
    "type": "object",
    "properties": {"seat": {"type": "string", "enum": ["1A", "2C"]}},
    "required": ["seat"],
}
ASKED = tool_call_message(("c1", "choose_seat", '{"flight":"TS1","free":["1A","2C"]}'))
ROW = {"title": "Seats", "free": 2}


@ui_tool(SEAT)
def choose_seat(flight: str, free: list[str], hint: str = "window") -> None:
    """Ask the user for a seat.

    Args:
        flight: Its number.
        free: The seats that are free.
    """


@ui_tool(waits=False)
def show_plane(title: str, free: int) -> None:
    """Show the plane."""


@ui_tool(waits=False, ends_turn=True)
def show_ticket(title: str) -> None:
    """Show the ticket."""


TOOLS = [choose_seat, show_plane, show_ticket]


def agent(model: Any, _tools: Any, *, checkpointer: Any, **_: Any) -> Any:
    return create_agent(model, tools=TOOLS, checkpointer=checkpointer)


def state_graph(model: Any, _tools: Any, *, checkpointer: Any, **_: Any) -> Any:
    async def think(state: MessagesState) -> Any:
        return {"messages": [await model.bind_tools(TOOLS).ainvoke(state["messages"])]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode(TOOLS))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    return graph.compile(checkpointer=checkpointer)


@pytest.mark.parametrize("build", [agent, state_graph])
async def test_the_answer_is_the_result_of_the_call_and_the_run_goes_on(
    build: Callable[..., Any], tmp_path: Path
) -> None:
    model = ScriptedModel.of(ASKED)
    async with backend(tmp_path / "t.db", model, build=build) as inside:
        run = await served(inside, message())
        assert run.reason == "tool-calls"
        told = [one for one in run.chunks if isinstance(one, PartStart | ArgsFinish)]
        starts = [one.part for one in told if isinstance(one, PartStart)]
        assert [one.disposition for one in starts if isinstance(one, ToolCallPart)] == ["client"]
        assert [(call.disposition, call.end) for call in await calls(inside)] == [("client", None)]
        (asked,) = (await inside.state()).interrupts
        assert asked.client_call == "c1"
        assert asked.value["toolCall"]["args"] == {
            "flight": "TS1",
            "free": ["1A", "2C"],
            "hint": "window",
        }
        run = await served(inside, answers(("c1", {"seat": "2C"})))
        assert run.reason == "stop"
        (call,) = await calls(inside)
        assert (call.disposition, call.end, call.result) == ("client", "result", {"seat": "2C"})
    assert model.prompts[1][-1].content == '{"seat":"2C"}'


async def test_an_answer_that_does_not_fit_is_refused_with_the_place(tmp_path: Path) -> None:
    async with backend(tmp_path / "t.db", ScriptedModel.of(ASKED), build=agent) as inside:
        await served(inside, message())
        (asked,) = (await inside.state()).interrupts
        for wrong in (
            answers(("c1", {"seat": "9Z"})),
            answers(("c1", {"cancelled": 1})),
            TurnRequest(resume=Resume({asked.id: {"c1": {"seat": "9Z"}}})),
            TurnRequest(resume=Resume({"seat": "9Z"})),
        ):
            with pytest.raises(InvalidRequest, match=r"does not fit\. .*seat"):
                await inside.start(wrong)
        unread = ToolAnswer("c1", None, fault=("answer_too_large", "It is too large."))
        with pytest.raises(InvalidRequest, match=r"It is too large\."):
            await inside.start(TurnRequest(answers=(unread,)))
        assert (await inside.state()).pending("client")
        await served(inside, TurnRequest(resume=Resume({"seat": "1A"})))
        assert [call.result for call in await calls(inside)] == [{"seat": "1A"}]


@pytest.mark.parametrize(
    ("answer", "end", "result"),
    [
        (ToolAnswer("c1", {"cancelled": True}), "result", {"cancelled": True}),
        (
            ToolAnswer("c1", "No screen.", is_error=True),
            "error",
            {"error": {"code": "client_error", "message": "No screen."}},
        ),
    ],
)
async def test_a_person_may_skip_it_and_a_client_may_fail(
    answer: ToolAnswer, end: str, result: Any, tmp_path: Path
) -> None:
    async with backend(tmp_path / "t.db", ScriptedModel.of(ASKED), build=agent) as inside:
        await served(inside, message())
        run = await served(inside, TurnRequest(answers=(answer,)))
        assert run.reason == "stop"
        assert [(call.end, call.result) for call in await calls(inside)] == [(end, result)]


async def test_parallel_calls_are_answered_in_any_order(tmp_path: Path) -> None:
    two = tool_call_message(
        ("c1", "choose_seat", '{"flight":"TS1","free":[]}'),
        ("c2", "choose_seat", '{"flight":"TS2","free":[]}'),
        ("c3", "show_plane", '{"title":"Seats","free":2}'),
    )
    model = ScriptedModel.of(two)
    async with backend(tmp_path / "t.db", model, build=agent) as inside:
        await served(inside, message())
        await served(inside, answers(("c2", {"seat": "2C"})))
        await served(inside, answers(("c1", {"seat": "1A"})))
        results = [call.result for call in await calls(inside)]
    assert results == [{"seat": "1A"}, {"seat": "2C"}, ROW]


async def test_arguments_that_do_not_fit_go_back_to_the_model(tmp_path: Path) -> None:
    wrong = tool_call_message(("c1", "choose_seat", '{"free":["1A"]}'))
    model = ScriptedModel.of(wrong)
    async with backend(tmp_path / "t.db", model, build=agent) as inside:
        run = await served(inside, message())
        assert run.reason == "stop"
    assert "flight" in str(model.prompts[1][-1].content)


async def test_what_only_shows_is_its_own_result_and_the_run_goes_on(tmp_path: Path) -> None:
    model = ScriptedModel.of(tool_call_message(("c1", "show_plane", '{"title":"Seats","free":2}')))
    async with backend(tmp_path / "t.db", model, build=agent) as inside:
        run = await served(inside, message())
        assert run.reason == "stop"
        (call,) = await calls(inside)
        assert (call.disposition, call.end, call.result) == ("shown", "shown", ROW)
    assert len(model.prompts) == 2


async def test_a_tool_that_ends_the_turn_is_the_last_word_of_an_agent(tmp_path: Path) -> None:
    model = ScriptedModel.of(tool_call_message(("c1", "show_ticket", '{"title":"TS1"}')))
    async with backend(tmp_path / "t.db", model, build=agent) as inside:
        await served(inside, message())
    assert len(model.prompts) == 1


async def test_a_message_goes_past_the_question(tmp_path: Path) -> None:
    model = ScriptedModel.of(ASKED)
    async with backend(tmp_path / "t.db", model, build=agent) as inside:
        await served(inside, message())
        run = await served(inside, message("Never mind"))
        assert run.reason == "stop"
    assert "not_answered" in str(model.prompts[1][-2].content)


class Party(BaseModel):
    adults: int = Field(ge=1)


class Booking(BaseModel):
    party: Party


async def test_the_answer_may_be_a_model_of_pydantic(tmp_path: Path) -> None:
    @ui_tool(Booking)
    def book() -> None:
        """Ask for the party."""

    def build(model: Any, _tools: Any, *, checkpointer: Any, **_: Any) -> Any:
        return create_agent(model, tools=[book], checkpointer=checkpointer)

    model = ScriptedModel.of(tool_call_message(("c1", "book", "{}")))
    async with backend(tmp_path / "t.db", model, build=build) as inside:
        await served(inside, message())
        with pytest.raises(InvalidRequest, match="adults"):
            await inside.start(answers(("c1", {"party": {"adults": 0}})))
        await served(inside, answers(("c1", {"party": {"adults": 2}})))


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: ui_tool(SEAT, waits=False), "leave out its schema"),
        (lambda: ui_tool(cast(Any, choose_seat)), "JSON Schema or a Pydantic model"),
        (lambda: ui_tool({"type": 5}), "cannot be used"),
        (lambda: ui_tool({"$ref": "https://elsewhere.test/s"}), "cannot be used"),
    ],
)
def test_a_schema_that_cannot_be_used_is_one_sentence(make: Callable[[], Any], fault: str) -> None:
    with pytest.raises(CatalogueError, match=fault):
        make()


async def test_a_client_of_the_ai_sdk_is_told_once_to_run_a_call(tmp_path: Path) -> None:
    two = tool_call_message(
        ("c1", "choose_seat", '{"flight":"TS1","free":[]}'),
        ("c2", "choose_seat", '{"flight":"TS2","free":[]}'),
    )
    async with backend(tmp_path / "t.db", ScriptedModel.of(two), build=agent) as inside:
        told = []
        for request in (message(), answers(("c1", {"seat": "2C"}))):
            run = await served(inside, request)
            told += events(payloads(await run.bytes_after(UI, 0)))
    available = [one["toolCallId"] for one in told if one["type"] == "tool-input-available"]
    assert available == ["c1", "c2"]
