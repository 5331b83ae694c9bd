"""A graph that is not ours: runs, stops, crashes and branches of it are served all the same."""

import asyncio
import operator
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AnyMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from docs.examples.own_graph import build as example
from tests.support.backend import (
    Backend,
    after_crash,
    answers,
    backend,
    chunks_of,
    chunks_until,
    message,
)
from tests.support.counting_tools import CountingTools
from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, call_reply, text_reply
from tests.support.endpoint.failures import SERVER_ERROR
from turnstream.graphs.loading import Build
from turnstream.graphs.model_options import ModelOptions
from turnstream.graphs.openai_model import openai_model
from turnstream.server.__main__ import main
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.turns.accumulate import accumulate
from turnstream.server.turns.chunks import Chunk, MessageFinish, StepWithdrawn
from turnstream.server.turns.messages import AssistantTurn, Text, ToolCall
from turnstream.server.turns.requests import Branch, TurnRequest

CONTINUE = TurnRequest(continue_=True)
TEA = '{"word":"tea"}'  # as JSON is written anew: such a graph's messages keep no raw text
QUESTION = '{"prompt": "Which?", "kind": "single", "options": [{"label": "Red", "value": "red"}]}'


class Appended(TypedDict):
    """A reducer that knows no ids: what is to take a message's place would stand beside it."""

    messages: Annotated[list[AnyMessage], operator.add]


def plain(
    model: Any, catalogue: Any, *, checkpointer: Any, state: Any = MessagesState, **_: Any
) -> Any:
    """As LangGraph's own pages write it: its messages, its reducer, no word of ours."""
    thinker = model.bind_tools(list(catalogue.real))

    async def chatbot(state: Any) -> dict[str, Any]:
        return {"messages": [await thinker.ainvoke(state["messages"])]}

    graph: Any = StateGraph(state)
    graph.add_node("chatbot", chatbot)
    graph.add_node("tools", ToolNode(list(catalogue.real)))
    graph.add_edge(START, "chatbot")
    graph.add_conditional_edges("chatbot", tools_condition)
    graph.add_edge("tools", "chatbot")
    return graph.compile(checkpointer=checkpointer)


appending = partial(plain, state=Appended)


@pytest.fixture(params=[example, plain, appending], ids=["example", "plain", "appending"])
def build(request: pytest.FixtureRequest) -> Build:
    made: Build = request.param
    return made


@pytest.fixture
def counting_tools() -> CountingTools:
    return CountingTools()


@pytest.fixture
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    async with StrictEndpoint() as endpoint:
        yield endpoint
        assert endpoint.refused == []


def model_of(endpoint: StrictEndpoint) -> Any:
    return openai_model(
        "scripted", ModelOptions(openai_api_key="test", openai_base_url=endpoint.base_url)
    )


@pytest.fixture
async def inside(
    tmp_path: Path, endpoint: StrictEndpoint, counting_tools: CountingTools, build: Build
) -> AsyncIterator[Backend]:
    path, catalogue = tmp_path / "t.db", counting_tools.catalogue
    async with backend(path, model_of(endpoint), catalogue=catalogue, build=build) as inside:
        yield inside


def finish_of(chunks: list[Chunk]) -> str:
    return next(chunk.reason for chunk in chunks if isinstance(chunk, MessageFinish))


async def told_as_kept(inside: Backend, run: LoggedRun) -> AssistantTurn:
    """The turn as it is kept, which is as it was told."""
    chunks = await chunks_of(run)
    kept = (await inside.turns())[-1]
    assert accumulate(chunks, run.header.message_id) == kept
    assert isinstance(kept, AssistantTurn)
    return kept


async def goes_on(inside: Backend, endpoint: StrictEndpoint) -> None:
    endpoint.script(text_reply("Fine."))
    assert finish_of(await inside.turn(message("Go on."))) == "stop"
    assert endpoint.refused == []


async def test_a_turn_with_tools_is_told_as_it_is_kept(
    inside: Backend, endpoint: StrictEndpoint
) -> None:
    endpoint.script(
        call_reply(("echo", TEA), ("echo", '{"word":"milk"}'), ids=("c1", "c2")),
        text_reply("Both."),
    )
    turn = await told_as_kept(inside, await inside.start(message("Hello")))
    *calls, said = turn.parts
    assert [c.result for c in calls if isinstance(c, ToolCall)] == [
        {"word": "tea"},
        {"word": "milk"},
    ]
    assert said == Text("Both.")
    await goes_on(inside, endpoint)


async def test_a_stop_in_a_tool_leaves_a_thread_that_a_strict_model_accepts(
    inside: Backend, endpoint: StrictEndpoint, counting_tools: CountingTools
) -> None:
    endpoint.script(call_reply(("hold", TEA), ids=("c1",)))
    run = await inside.start(message("Hello"))
    await counting_tools.begun("tea")
    entry = await inside.stop()
    (call,) = (await told_as_kept(inside, run)).parts
    assert isinstance(call, ToolCall)
    assert call.end == "cancelled"
    assert entry is not None
    assert (entry.run_id, entry.run_state) == (run.header.run_id, "stopped")
    await goes_on(inside, endpoint)


async def test_a_stop_in_the_models_words_keeps_them(
    inside: Backend, endpoint: StrictEndpoint
) -> None:
    endpoint.script(Reply((Say("Half "), Pause(asyncio.Event()))))
    run = await inside.start(message("Hello"))
    await chunks_until(run, lambda said: len(said) > 2)
    await inside.stop()
    assert (await told_as_kept(inside, run)).parts == (Text("Half "),)
    await goes_on(inside, endpoint)


async def test_a_model_that_fails_leaves_a_thread_that_goes_on(
    inside: Backend, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(("echo", TEA), ids=("c1",)), *[SERVER_ERROR] * 3)
    run = await inside.start(message("Hello"))
    assert finish_of(await chunks_of(run)) == "error"
    await told_as_kept(inside, run)
    endpoint.script(text_reply("Back again."))
    assert finish_of(await inside.turn(CONTINUE)) == "stop"
    await goes_on(inside, endpoint)


async def test_after_a_crash_a_finished_tool_is_not_run_again(
    tmp_path: Path, inside: Backend, endpoint: StrictEndpoint, build: Build
) -> None:
    endpoint.script(call_reply(("echo", TEA), ids=("c1",)))
    endpoint.default = Reply((Pause(asyncio.Event()),))
    await inside.start(message("Hello"))
    await endpoint.arrived(2)
    reborn = CountingTools()
    path = tmp_path / "t.db"
    async with after_crash(path, model_of(endpoint), reborn.catalogue, build) as after:
        endpoint.script(text_reply("It is tea."))
        assert finish_of(await after.turn(CONTINUE)) == "stop"
        assert not reborn.calls
        await goes_on(after, endpoint)
    await inside.stop()


async def test_an_answer_is_made_anew_in_a_branch_of_its_own(
    inside: Backend, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."))
    await inside.turn(message("Hello"))
    await inside.turn(TurnRequest(branch=Branch("regenerate", None)))
    assert [m.text for m in await inside.messages()] == ["Hello", "Two."]
    await goes_on(inside, endpoint)


async def test_a_question_waits_for_its_answer(
    tmp_path: Path, endpoint: StrictEndpoint, counting_tools: CountingTools
) -> None:
    path, catalogue = tmp_path / "t.db", counting_tools.catalogue
    async with backend(path, model_of(endpoint), catalogue=catalogue, build=example) as inside:
        both = (("echo", TEA), ("request_user_selection", QUESTION))
        endpoint.script(call_reply(*both, ids=("c1", "c2")))
        assert finish_of(await inside.turn(message("Ask me"))) == "tool-calls"
        assert counting_tools.calls == {"tea": 1}
        endpoint.script(text_reply("Red it is."))
        assert finish_of(await inside.turn(answers(("c2", {"value": "red"})))) == "stop"
        await goes_on(inside, endpoint)


async def test_a_call_that_was_streamed_and_not_kept_is_withdrawn(
    tmp_path: Path, endpoint: StrictEndpoint, counting_tools: CountingTools
) -> None:
    """Of broken arguments LangGraph's own node keeps no call; ours does, with its error."""
    path, catalogue = tmp_path / "t.db", counting_tools.catalogue
    async with backend(path, model_of(endpoint), catalogue=catalogue, build=example) as inside:
        endpoint.script(call_reply(("echo", "no JSON"), ids=("c1",)))
        run = await inside.start(message("Hello"))
        chunks = await chunks_of(run)
        assert finish_of(chunks) == "stop"
        assert any(isinstance(chunk, StepWithdrawn) for chunk in chunks)
        assert (await told_as_kept(inside, run)).parts == ()
        await goes_on(inside, endpoint)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("nowhere:build", "No module named"),
        ("turnstream.graphs.chat:nothing", "has no 'nothing'"),
        ("not a name", "turnstream.graphs.chat:build"),
        ("turnstream.graphs.loading:BUILT_IN", "that is a str"),
    ],
)
def test_a_name_of_no_graph_that_can_be_served_is_one_line(
    name: str, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = str(tmp_path / "t.db")
    assert main(["--port", "0", "--database", database, "--graph", name]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"turnstream: TURNSTREAM_GRAPH cannot be {name!r}")
    assert fault in said
    assert said.count("\n") == 1
