"""Nodes and tools that write to the stream, and nodes that stream their model by hand."""

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import calls, results


@tool
async def query_database(query: str) -> str:
    """Query the database."""
    writer = get_stream_writer()
    writer({"data": "Retrieved 0/2 records", "type": "progress"})
    writer({"data": "Retrieved 2/2 records", "type": "progress"})
    return f"2 rows for {query}"


def custom_events(model: BaseChatModel) -> Any:
    async def prepare(state: MessagesState) -> dict[str, Any]:
        writer = get_stream_writer()
        writer({"status": "preparing"})
        writer("half way")
        return {}

    async def chatbot(state: MessagesState) -> dict[str, Any]:
        get_stream_writer()({"status": "thinking"})
        return {"messages": [await model.bind_tools([query_database]).ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node(prepare)
    builder.add_node(chatbot)
    builder.add_node("tools", ToolNode([query_database]))
    builder.add_edge(START, "prepare")
    builder.add_edge("prepare", "chatbot")
    builder.add_conditional_edges("chatbot", tools_condition)
    builder.add_edge("tools", "chatbot")
    return builder.compile()


def query(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    known = results(prompt)
    if not known:
        return calls(("query_database", {"query": "users"}), words="I look.")
    return f"There are {known[0]}."


def by_hand(model: BaseChatModel) -> Any:
    """Gathers the text, and stores a message of its own, which has no id."""

    async def speak(state: MessagesState) -> dict[str, Any]:
        writer, said = get_stream_writer(), ""
        async for chunk in model.astream(state["messages"]):
            said += chunk.text
            if chunk.text:
                writer({"token": chunk.text})
        return {"messages": [AIMessage(said)]}

    return StateGraph(MessagesState).add_node(speak).add_edge(START, "speak").compile()


def added_up(model: BaseChatModel) -> Any:
    """Adds the chunks up, and stores the sum, which has the model's id."""

    async def speak(state: MessagesState) -> dict[str, Any]:
        whole: AIMessageChunk | None = None
        async for chunk in model.astream(state["messages"]):
            whole = chunk if whole is None else whole + chunk
        return {"messages": [whole]}

    return StateGraph(MessagesState).add_node(speak).add_edge(START, "speak").compile()


def greet(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    return "Hello to you."


ANIMALS = (
    Animal(
        "custom events",
        custom_events,
        query,
        "How many users?",
        custom=(
            {"status": "preparing"},
            "half way",
            {"status": "thinking"},
            {"data": "Retrieved 0/2 records", "type": "progress"},
            {"data": "Retrieved 2/2 records", "type": "progress"},
            {"status": "thinking"},
        ),
        thread=(
            "human: How many users?",
            "ai: I look. [query_database]",
            "tool: 2 rows for users",
            "ai: There are 2 rows for users.",
        ),
    ),
    Animal(
        "streaming by hand",
        by_hand,
        greet,
        "Hello",
        custom=({"token": "Hello "}, {"token": "to "}, {"token": "you."}),
        beside=("Hello to you.",),
        thread=("human: Hello", "ai: Hello to you."),
    ),
    Animal(
        "chunks added up",
        added_up,
        greet,
        "Hello",
        thread=("human: Hello", "ai: Hello to you."),
    ),
)
