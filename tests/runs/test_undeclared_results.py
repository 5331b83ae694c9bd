"""Results of tools of another graph: clients see what is declared, the model and the thread all."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, ToolException, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command

from tests.support.backend import Backend, backend, chunks_of, message
from tests.support.scripted_model import ScriptedModel, call, finish
from turnstream.graphs.result_view import declared_results
from turnstream.server.turns.accumulate import accumulate
from turnstream.server.turns.messages import AssistantTurn, ToolCall
from turnstream.tools.contract import client_fields

HIDDEN = {"hidden": True}


@dataclass
class Row:
    id: int


@tool
def search() -> dict[str, Any]:
    """Declares nothing."""
    return {"title": "Tides", "secret": 7}


@client_fields("title")
@tool
def declared() -> dict[str, Any]:
    """Declares a field."""
    return {"title": "Tides", "secret": 7}


@tool(response_format="content_and_artifact")
def retrieve() -> tuple[str, list[Document]]:
    """As LangChain's tutorial has it."""
    return "Source: tides", [Document("The tide is high.", metadata={"page": 2})]


@client_fields("docs", "bytes", "missing")
@tool(response_format="content_and_artifact")
def cited() -> tuple[str, dict[str, Any]]:
    """Declares fields of its artifact, some of which are not JSON."""
    docs = [Document("The tide is high."), Row(7), float("nan")]
    return "Source: tides", {"docs": docs, "bytes": b"\xff", "raw": b"secret"}


@client_fields("*")
@tool
def blocks() -> list[dict[str, Any]]:
    """Answers in blocks."""
    return [{"type": "text", "text": '{"title": '}, {"type": "text", "text": '"Tides"}'}]


@tool
def fails() -> str:
    """Fails with words for the model alone."""
    raise ToolException("no row for user 7")


@client_fields("*")
@tool
def hand_off(call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Updates the state by itself."""
    return Command(update={"messages": [ToolMessage("Handed over.", tool_call_id=call_id)]})


fails.handle_tool_error = True
TOOLS: Mapping[str, tuple[BaseTool, Any]] = {
    "search": (search, HIDDEN),
    "declared": (declared, {"title": "Tides"}),
    "retrieve": (retrieve, HIDDEN),
    "cited": (
        cited,
        {
            "docs": [
                {
                    "id": None,
                    "metadata": {},
                    "page_content": "The tide is high.",
                    "type": "Document",
                },
                {"id": 7},
                None,
            ],
            "bytes": HIDDEN,
        },
    ),
    "blocks": (blocks, {"title": "Tides"}),
    "fails": (fails, {"error": {"code": "tool_error", "message": "The tool failed."}}),
    "hand_off": (hand_off, "Handed over."),
}


def cyclic() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def graph_of(model: ScriptedModel, tools: Any) -> Any:
    async def chatbot(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("chatbot", chatbot)
    graph.add_node("tools", tools)
    graph.add_edge(START, "chatbot")
    graph.add_conditional_edges("chatbot", tools_condition)
    graph.add_edge("tools", "chatbot")
    return graph.compile()


@asynccontextmanager
async def inside(
    path: Path, model: ScriptedModel, tools: Any, *declarations: Any
) -> AsyncIterator[Backend]:
    """A server of a graph with this node for tools, and with a table and a setting if given."""
    graph = graph_of(model, tools)

    def build(*_: Any, **__: Any) -> Any:
        return graph

    results = declared_results(graph, *declarations) if declarations else None
    async with backend(path, model, build=build, results=results) as inside:
        yield inside


def calls(*names: str) -> Sequence[Any]:
    """A message of the model that calls these tools."""
    made = [call("{}", name=name, id=f"call_{name}", index=n) for n, name in enumerate(names)]
    return [*made, finish("tool_calls")]


async def results(inside: Backend) -> dict[str, Any]:
    """What clients see of each call's result, by the tool's name, in the stream and afterwards."""
    run = await inside.start(message("Go"))
    chunks = await chunks_of(run)
    kept = (await inside.turns())[-1]
    assert accumulate(chunks, run.header.message_id) == kept
    assert isinstance(kept, AssistantTurn)
    assert kept.finish_reason == "stop"
    return {part.tool_name: part.result for part in kept.parts if isinstance(part, ToolCall)}


async def test_the_stream_and_the_thread_show_what_is_declared(tmp_path: Path) -> None:
    model = ScriptedModel.of(calls(*TOOLS))
    node = ToolNode([made for made, _ in TOOLS.values()])
    async with inside(tmp_path / "t.db", model, node) as served:
        assert await results(served) == {name: seen for name, (_, seen) in TOOLS.items()}
        kept = [m for m in await served.messages() if isinstance(m, ToolMessage)]
    prompt = {m.tool_call_id: m.text for m in model.prompts[-1] if isinstance(m, ToolMessage)}
    assert prompt == {m.tool_call_id: m.text for m in kept}
    assert '"secret": 7' in prompt["call_search"]
    assert "no row for user 7" in prompt["call_fails"]


async def test_undeclared_contents_are_shown_where_the_setting_says_so(tmp_path: Path) -> None:
    names = ("search", "retrieve", "fails")
    node = ToolNode([TOOLS[name][0] for name in names])
    async with inside(
        tmp_path / "t.db", ScriptedModel.of(calls(*names)), node, {}, "show"
    ) as served:
        assert await results(served) == {
            "search": {"title": "Tides", "secret": 7},
            "retrieve": "Source: tides",
            "fails": {"error": {"code": "tool_error", "message": "no row for user 7"}},
        }


async def test_a_table_declares_for_messages_that_are_written_by_hand(tmp_path: Path) -> None:
    """As LangGraph's first page has it: without a ToolNode, and without the tool's name."""

    def run_tools(state: MessagesState) -> dict[str, Any]:
        asked = state["messages"][-1]
        assert isinstance(asked, AIMessage)
        content = '{"title": "Tides", "secret": 7}'
        return {"messages": [ToolMessage(content, tool_call_id=c["id"]) for c in asked.tool_calls]}

    model = ScriptedModel.of(calls("look", "search"))
    async with inside(tmp_path / "t.db", model, run_tools, {"look": ("title",)}) as served:
        assert await results(served) == {"look": {"title": "Tides"}, "search": HIDDEN}


@pytest.mark.parametrize(
    ("artifact", "seen"),
    [
        ({"rows": [1], "raw": print}, {"rows": [1]}),
        ({"rows": print}, {"rows": HIDDEN}),
        ({"rows": cyclic()}, {"rows": HIDDEN}),
        (print, HIDDEN),
        ({"rows": [0] * 300_000}, {"rows": HIDDEN}),
    ],
    ids=["beside a function", "a function", "a cycle", "nothing but a function", "too many values"],
)
async def test_an_artifact_that_cannot_be_saved_or_sent_does_not_end_the_run(
    artifact: Any, seen: Any, tmp_path: Path
) -> None:
    @client_fields("rows")
    @tool(response_format="content_and_artifact")
    def odd() -> Any:
        """Returns what it is told to."""
        return "Done.", artifact

    async with inside(tmp_path / "t.db", ScriptedModel.of(calls("odd")), ToolNode([odd])) as served:
        assert await results(served) == {"odd": seen}
        await served.turn(message("And now?"))
        assert [m.text for m in (await served.messages())[-2:]] == ["And now?", "Done."]
