"""Tools that a client brings along for a graph of one's own."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.graph import MessagesState
from langgraph.types import Command

from tests.support.backend import Backend, after_crash, backend, message
from tests.support.offered_tools import (
    HIGHLIGHT,
    PICK,
    CopilotState,
    OfferedTools,
    ToolsState,
    agent,
    by_hand,
)
from tests.support.run_chunks import RunChunks, answer_calls, send_message, tool_call_message
from tests.support.scripted_model import finish, text
from tests.support.waiting import WAIT_SECONDS
from turnstream.graphs.client_tools import ClientTools
from turnstream.server.turns.messages import AssistantTurn, ToolCall
from turnstream.server.turns.requests import (
    ClientTool,
    GraphValues,
    InvalidRequest,
    ToolAnswer,
    TurnRequest,
)
from turnstream.tools.builtin import CATALOGUE

PICKS = tool_call_message(("c1", "pick_colour", '{"of": "tea"}'))
OWN, BOTH = ["weather"], ["pick_colour", "weather"]
GRAPHS = {
    "create_agent": agent,
    "tools": by_hand(ToolsState, lambda state: state.get("tools", [])),
    "copilotkit": by_hand(
        CopilotState, lambda state: state.get("copilotkit", {}).get("actions", [])
    ),
}
graphs = pytest.mark.parametrize("build", GRAPHS.values(), ids=[*GRAPHS])


def named(name: str) -> GraphValues:
    """An input that has a tool of this name."""
    theirs = {"name": name, "description": "Theirs.", "parameters": {"type": "object"}}
    return GraphValues(input={"tools": [theirs]})


def agent_with(own: BaseTool) -> Any:
    def build(model: Any, _tools: Any = None, *, checkpointer: Any = None, **_: Any) -> Any:
        middleware = [ClientTools()]
        return create_agent(model, tools=[own], middleware=middleware, checkpointer=checkpointer)

    return build


async def calls(inside: Backend) -> dict[str, ToolCall]:
    """The calls of the last turn, by id."""
    turn = (await inside.turns())[-1]
    assert isinstance(turn, AssistantTurn)
    parts = (part for step in turn.steps for part in step.parts)
    return {part.tool_call_id: part for part in parts if isinstance(part, ToolCall)}


@graphs
async def test_a_call_waits_for_the_client_and_the_turn_goes_on_with_the_answer(
    build: Any, tmp_path: Path
) -> None:
    model = OfferedTools.of(PICKS)
    async with backend(tmp_path / "t.db", model, build=build) as inside:
        told = await send_message(inside, client_tools=(PICK,))
        assert (told.reason, told.dispositions) == ("tool-calls", {"c1": "client"})
        assert (await inside.state()).pending("client")
        assert (await answer_calls(inside, ("c1", "green"))).text == "Done."
        assert (await calls(inside))["c1"].result == "green"
    assert model.offered == [BOTH, BOTH]
    assert model.prompts[1][-1].content == "green"


@graphs
async def test_a_message_without_tools_takes_back_those_of_the_one_before(
    build: Any, tmp_path: Path
) -> None:
    model = OfferedTools.of()
    async with backend(tmp_path / "t.db", model, build=build) as inside:
        await send_message(inside, client_tools=(PICK,))
        await send_message(inside)
        await send_message(inside, client_tools=(HIGHLIGHT,))
    assert model.offered == [BOTH, OWN, ["highlight", "weather"]]


async def test_real_calls_of_the_same_message_run_first(tmp_path: Path) -> None:
    mixed = tool_call_message(
        ("c1", "pick_colour", '{"of": "tea"}'), ("c2", "weather", '{"city": "Rome"}')
    )
    async with backend(tmp_path / "t.db", OfferedTools.of(mixed), build=agent) as inside:
        told = await send_message(inside, client_tools=(PICK,))
        assert (told.reason, told.dispositions) == ("tool-calls", {"c1": "client", "c2": "server"})
        assert [*told.results] == ["c2"]
        assert (await answer_calls(inside, ("c1", "green"))).text == "Done."


async def test_a_call_waits_behind_a_message_that_a_real_tool_adds(tmp_path: Path) -> None:
    @tool
    def picture(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Take a picture."""
        told = ToolMessage("See below.", tool_call_id=tool_call_id)
        return Command(update={"messages": [told, HumanMessage("An image.")]})

    mixed = tool_call_message(("c1", "pick_colour", '{"of": "tea"}'), ("c2", "picture", "{}"))
    model = OfferedTools.of(mixed)
    async with backend(tmp_path / "t.db", model, build=agent_with(picture)) as inside:
        told = await send_message(inside, client_tools=(PICK,))
        assert told.reason == "tool-calls"
        assert len(model.prompts) == 1
        assert (await answer_calls(inside, ("c1", "green"))).text == "Done."
        assert (await calls(inside))["c1"].result == "green"


async def test_arguments_that_do_not_fit_go_back_to_the_model(tmp_path: Path) -> None:
    wrong = tool_call_message(("c1", "pick_colour", '{"of": 7}'))
    async with backend(tmp_path / "t.db", OfferedTools.of(wrong), build=agent) as inside:
        told = await send_message(inside, client_tools=(PICK,))
        assert (told.reason, told.error_codes) == ("stop", {"c1": "invalid_arguments"})


async def test_many_calls_of_a_tool_with_a_large_schema_are_checked(tmp_path: Path) -> None:
    fields = {f"p{n}": {"type": "string", "description": "A field."} for n in range(1000)}
    large = replace(PICK, parameters={"type": "object", "properties": fields})
    many = [(f"c{n}", "pick_colour", '{"p1": "tea"}') for n in range(12)]
    model = OfferedTools.of(tool_call_message(*many, ("wrong", "pick_colour", '{"p1": 7}')))
    async with backend(tmp_path / "t.db", model, build=agent) as inside:
        told = await send_message(inside, client_tools=(large,))
        assert (told.reason, [*told.error_codes]) == ("tool-calls", ["wrong"])


@graphs
async def test_the_name_of_a_tool_of_the_graph_is_taken(build: Any, tmp_path: Path) -> None:
    model = OfferedTools.of()
    theirs = ClientTool("weather", "Not the graph's.", {"type": "object"})
    async with backend(tmp_path / "t.db", model, build=build) as inside:
        with pytest.raises(InvalidRequest) as refused:
            await send_message(inside, client_tools=(theirs,))
        assert (refused.value.code, refused.value.status) == ("tool_name_taken", 409)
        assert await inside.entry() is None
    assert model.offered == []


async def test_a_graph_is_offered_a_tool_named_like_one_of_the_catalogue_that_it_does_not_run(
    tmp_path: Path,
) -> None:
    (name, *_) = CATALOGUE.real_by_name
    model = OfferedTools.of(tool_call_message(("c1", name, "{}")))
    theirs = ClientTool(name, "The page's.", {"type": "object"})
    async with backend(tmp_path / "t.db", model, build=agent) as inside:
        told = await send_message(inside, client_tools=(theirs,))
        assert (told.reason, told.dispositions) == ("tool-calls", {"c1": "client"})
        assert (await inside.state()).pending("client")
        assert (await answer_calls(inside, ("c1", "4"))).text == "Done."


async def test_a_tool_whose_calls_have_no_answer_is_not_offered(tmp_path: Path) -> None:
    model = OfferedTools.of()
    shows = ClientTool("render_ui_component", "Shows.", {"type": "object"})
    async with backend(tmp_path / "t.db", model, build=agent) as inside:
        await send_message(inside, client_tools=(shows, PICK))
    assert model.offered == [BOTH]


async def test_an_agent_offers_its_own_tool_in_the_place_of_one_of_the_same_name(
    tmp_path: Path,
) -> None:
    """A state may have tools by another way than a request's tools."""
    calling = tool_call_message(("c1", "weather", '{"city": "Rome"}'))
    model = OfferedTools.of([ConnectionError("gone")], calling)
    async with backend(tmp_path / "t.db", model, build=agent, client_values=("tools",)) as inside:
        await send_message(inside, values=named("weather"))
        told = RunChunks(await inside.turn(TurnRequest(continue_=True)))
        assert (told.reason, told.dispositions) == ("stop", {"c1": "server"})
    assert "sunny" in model.prompts[-1][-1].text
    assert model.offered == [OWN, OWN, OWN]


async def test_no_client_answers_a_call_of_the_agents_own_tool_after_a_crash(
    tmp_path: Path,
) -> None:
    runs = asyncio.Event()

    @tool
    async def pay(city: str) -> None:
        """Pay."""
        del city
        runs.set()
        await asyncio.Event().wait()

    build = agent_with(pay)
    path, pays = tmp_path / "t.db", tool_call_message(("c1", "pay", '{"city": "Rome"}'))
    async with backend(
        path, OfferedTools.of(pays), build=build, client_values=("tools",)
    ) as inside:
        await inside.start(message(values=named("pay")))
        async with asyncio.timeout(WAIT_SECONDS):
            await runs.wait()
        async with after_crash(path, OfferedTools.of(), build=build) as again:
            assert not (await again.state()).pending("client")
            with pytest.raises(InvalidRequest) as refused:
                await answer_calls(again, ("c1", "PAID"))
            assert refused.value.code == "not_pending"


async def test_a_graph_that_takes_none_refuses_them_or_runs_without(tmp_path: Path) -> None:
    model, build = OfferedTools.of(), by_hand(MessagesState, lambda _: [])
    async with backend(tmp_path / "t.db", model, build=build) as inside:
        with pytest.raises(InvalidRequest, match="takes no tools"):
            await send_message(inside, client_tools=(PICK,), needs_tools=True)
        told = await send_message(inside, client_tools=(PICK,))
        assert told.text == "Done."
    assert model.offered == [OWN]


async def test_a_run_that_goes_on_after_a_crash_offers_them_again(tmp_path: Path) -> None:
    model = OfferedTools.of([text("Hm"), ConnectionError("gone")], PICKS)
    async with backend(tmp_path / "t.db", model, build=agent) as inside:
        assert (await send_message(inside, client_tools=(PICK,))).reason == "error"
        told = RunChunks(await inside.turn(TurnRequest(continue_=True)))
        assert (told.reason, told.dispositions) == ("tool-calls", {"c1": "client"})
    assert model.offered == [BOTH, BOTH]


async def test_a_run_that_goes_on_offers_what_its_request_brings(tmp_path: Path) -> None:
    model = OfferedTools.of([text("Hm"), ConnectionError("gone")])
    async with backend(tmp_path / "t.db", model, build=agent) as inside:
        await send_message(inside, client_tools=(PICK,))
        await inside.turn(TurnRequest(continue_=True, client_tools=(HIGHLIGHT,)))
    assert model.offered == [BOTH, ["highlight", "weather"]]


async def test_answers_may_bring_other_tools(tmp_path: Path) -> None:
    model = OfferedTools.of(PICKS)
    async with backend(tmp_path / "t.db", model, build=agent) as inside:
        await send_message(inside, client_tools=(PICK,))
        given = (ToolAnswer("c1", "green"),)
        await inside.turn(TurnRequest(answers=given, client_tools=(HIGHLIGHT,)))
    assert model.offered == [BOTH, ["highlight", "weather"]]


async def test_a_call_waits_for_its_client_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with backend(path, OfferedTools.of(PICKS), build=agent) as inside:
        await send_message(inside, client_tools=(PICK,))
        async with after_crash(path, OfferedTools.of(), build=agent) as again:
            assert (await again.state()).pending("client")
            assert (await answer_calls(again, ("c1", "green"))).text == "Done."


async def test_a_new_message_closes_a_call_that_nobody_answered(tmp_path: Path) -> None:
    model = OfferedTools.of(PICKS, [text("Fine."), finish()])
    async with backend(tmp_path / "t.db", model, build=agent) as inside:
        await send_message(inside, client_tools=(PICK,))
        assert (await send_message(inside, "Never mind", client_tools=(PICK,))).text == "Fine."
    assert "not_answered" in str(model.prompts[1][-2].content)


async def test_what_a_graph_keeps_under_the_key_is_no_tool_and_is_left_alone(
    tmp_path: Path,
) -> None:
    seen = list[Any]()

    def read(state: Any) -> list[Any]:
        seen.append(state["tools"])
        return []

    build = by_hand(ToolsState, read)
    model, given = OfferedTools.of(), ["search", {"name": 7}]
    async with backend(tmp_path / "t.db", model, build=build, client_values=("tools",)) as inside:
        values = GraphValues(input={"tools": given})
        await send_message(inside, values=values)
        await send_message(inside)
    assert seen == [given, given]


async def test_tools_leave_alone_what_else_their_key_has(tmp_path: Path) -> None:
    seen = list[Any]()

    def read(state: Any) -> list[Any]:
        seen.append({**state["copilotkit"]})
        return []

    names, build = ("copilotkit",), by_hand(CopilotState, read)
    async with backend(
        tmp_path / "t.db", OfferedTools.of(), build=build, client_values=names
    ) as inside:
        values = GraphValues(input={"copilotkit": {"theme": "dark"}})
        await send_message(inside, values=values, client_tools=(PICK,))
        await send_message(inside)
        await send_message(inside, client_tools=(HIGHLIGHT,))
    assert {one["theme"] for one in seen} == {"dark"}
    assert [len(one["actions"]) for one in seen] == [1, 0, 1]


async def test_what_a_client_puts_under_the_key_itself_is_not_cleared(tmp_path: Path) -> None:
    seen = list[Any]()

    def read(state: Any) -> list[Any]:
        seen.append(state["tools"])
        return []

    build, own = by_hand(ToolsState, read), ["search"]
    model = OfferedTools.of()
    async with backend(tmp_path / "t.db", model, build=build, client_values=("tools",)) as inside:
        await send_message(inside, client_tools=(PICK,))
        await send_message(inside, values=GraphValues(input={"tools": own}))
        await send_message(inside, client_tools=(PICK,))
        await send_message(inside)
    assert seen[1::2] == [own, []]
