"""A tool's progress, from LangGraph's stream to the chunks of the run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolRuntime

from tests.support.backend import backend, message
from tests.support.scripted_model import ScriptedModel, call, finish, text
from turnstream.server.runs.progress import MAX_CHARS, progress
from turnstream.server.turns.chunks import Chunk, Custom, Result, ToolProgress
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool

Say = Callable[[Any], None]


def catalogue_of(work: Callable[[Say], None]) -> Catalogue:
    """One tool, `work`, that does it with a way to tell its progress."""

    @real_tool(client_fields=["done"])
    async def work_through(runtime: ToolRuntime[Any, Any]) -> dict[str, Any]:
        """Work.

        Args:
            runtime: Where progress is told.
        """
        work(runtime.emit_output_delta)
        return {"done": True}

    return Catalogue((work_through,), ())


async def chunks_while(work: Callable[[Say], None], path: Path) -> list[Chunk]:
    model = ScriptedModel.of(
        [call("{}", name="work_through", id="call_1"), finish("tool_calls")],
        [text("Done."), finish()],
    )
    async with backend(path / "t.db", model, catalogue=catalogue_of(work)) as home:
        return await home.turn(message("Work"))


def told(chunks: list[Chunk]) -> list[Any]:
    return [chunk.data for chunk in chunks if isinstance(chunk, ToolProgress)]


async def test_progress_comes_between_the_arguments_and_the_result(tmp_path: Path) -> None:
    def work(say: Say) -> None:
        say({"done": 1})
        say({"done": 2})

    chunks = await chunks_while(work, tmp_path)
    assert told(chunks) == [{"done": 1}, {"done": 2}]
    kinds = [type(chunk) for chunk in chunks if isinstance(chunk, ToolProgress | Result)]
    assert kinds == [ToolProgress, ToolProgress, Result]


@pytest.mark.parametrize(
    "said", [{1, 2}, float("nan"), "x" * MAX_CHARS], ids=["no JSON", "no number", "too long"]
)
async def test_progress_that_no_client_can_take_is_left_out_and_the_tool_goes_on(
    said: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def work(say: Say) -> None:
        say(said)
        say("fine")

    chunks = await chunks_while(work, tmp_path)
    assert told(chunks) == ["fine"]
    assert any(isinstance(chunk, Result) and chunk.result == {"done": True} for chunk in chunks)
    assert "call_1" in caplog.text


DELTA = {"event": "tool-output-delta", "tool_call_id": "call_1", "delta": 1}
WRITTEN = {"tool_call_id": "call_1", "data": 1}


@pytest.mark.parametrize(
    ("kind", "item"),
    [
        ("tools", DELTA | {"tool_call_id": "call_2"}),
        ("tools", DELTA | {"event": "tool-started"}),
        ("updates", WRITTEN),
    ],
)
def test_what_is_not_of_an_open_call_is_no_progress(kind: str, item: Any) -> None:
    assert progress(kind, item, {"call_1"}) == []


@pytest.mark.parametrize(
    "item",
    [
        WRITTEN | {"tool_call_id": "call_2"},
        WRITTEN | {"more": 1},
        {"data": 1},
        {"type": "run-ended"},
        "a word",
        None,
        [1, {"deep": [True]}],
    ],
)
def test_whatever_else_is_written_to_the_stream_is_told_as_it_is(item: Any) -> None:
    assert progress("custom", item, {"call_1"}) == [Custom(item)]


def writing(*_: Any, checkpointer: Any, **__: Any) -> Any:
    """A graph without a call of any tool that writes to its stream."""

    async def write(_state: MessagesState) -> dict[str, Any]:
        for said in ("first", {"of": [1, 2]}, float("nan"), 10**500, "x" * MAX_CHARS, 4):
            get_stream_writer()(said)
        return {"messages": [AIMessage("Done.")]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("write", write)
    graph.add_edge(START, "write")
    return graph.compile(checkpointer=checkpointer)


async def test_what_a_node_writes_is_told_and_what_no_client_can_take_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with backend(tmp_path / "t.db", ScriptedModel(), build=writing) as home:
        chunks = await home.turn(message("Write"))
    assert [c.value for c in chunks if isinstance(c, Custom)] == ["first", {"of": [1, 2]}, 4]
    assert caplog.text.count("is not JSON") == 2
    assert caplog.text.count("too long") == 1


@tool
def plain(word: str) -> str:
    """Dispatch an event."""
    dispatch_custom_event("called", word)
    return word


def dispatching(*_: Any, checkpointer: Any, **__: Any) -> Any:
    """A graph that dispatches events of LangChain, in a node, a tool and a runnable."""
    inside: Any = RunnableLambda(lambda word: dispatch_custom_event("within", word))

    async def work(_state: MessagesState) -> dict[str, Any]:
        await adispatch_custom_event("begun", {"of": 2})
        await inside.ainvoke("x")
        await plain.ainvoke({"word": "y"})
        get_stream_writer()("written")
        return {"messages": [AIMessage("Done.")]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    return graph.compile(checkpointer=checkpointer)


async def test_events_that_langchain_dispatches_arrive_like_what_is_written(
    tmp_path: Path,
) -> None:
    async with backend(tmp_path / "t.db", ScriptedModel(), build=dispatching) as home:
        chunks = await home.turn(message("Write"))
    named = [("begun", {"of": 2}), ("within", "x"), ("called", "y")]
    expected = [*({"name": name, "data": data} for name, data in named), "written"]
    assert [(c.value, c.node) for c in chunks if isinstance(c, Custom)] == [
        (value, "work") for value in expected
    ]


def test_the_stream_writer_tells_progress_when_it_names_the_call() -> None:
    assert progress("custom", WRITTEN, {"call_1"}) == [ToolProgress("call_1", 1)]


def test_a_tool_that_goes_on_to_change_what_it_said_changes_no_chunk() -> None:
    rows = [1]
    chunks = [*progress("custom", WRITTEN | {"data": rows}, {"call_1"})]
    chunks += progress("custom", rows, ())
    rows.append(2)
    assert chunks == [ToolProgress("call_1", [1]), Custom([1])]
