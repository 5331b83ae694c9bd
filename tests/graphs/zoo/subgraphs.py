"""Subgraphs: as a node with the same messages, and called in a node with a state of its own."""

from collections.abc import Sequence
from typing import Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import calls, results


@tool
async def search(query: str) -> str:
    """Search."""
    return f"all about {query}"


def researcher(model: BaseChatModel) -> Any:
    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.bind_tools([search]).ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node(think)
    builder.add_node("tools", ToolNode([search]))
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", tools_condition)
    builder.add_edge("tools", "think")
    return builder.compile()


def as_node(model: BaseChatModel) -> Any:
    async def write(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke([("system", "Write."), *state["messages"]])]}

    builder = StateGraph(MessagesState)
    builder.add_node("research", researcher(model))
    builder.add_node("write", write)
    builder.add_edge(START, "research")
    builder.add_edge("research", "write")
    return builder.compile()


class Draft(TypedDict):
    topic: str
    outline: str
    text: str


def called_in_node(model: BaseChatModel) -> Any:
    async def outline(state: Draft) -> dict[str, Any]:
        return {"outline": (await model.ainvoke(f"Outline {state['topic']}")).text}

    async def draft(state: Draft) -> dict[str, Any]:
        return {"text": (await model.ainvoke(f"Draft {state['outline']}")).text}

    inner = StateGraph(Draft)
    inner.add_node("make_outline", outline)
    inner.add_node("make_draft", draft)
    inner.add_edge(START, "make_outline")
    inner.add_edge("make_outline", "make_draft")
    writer = inner.compile()

    async def author(state: MessagesState) -> dict[str, Any]:
        done = await writer.ainvoke(
            {"topic": state["messages"][-1].text, "outline": "", "text": ""}
        )
        return {"messages": [AIMessage(f"Here: {done['text']}")]}

    return StateGraph(MessagesState).add_node(author).add_edge(START, "author").compile()


def research(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    if not tools:
        return "A fine article."
    known = results(prompt)
    return f"I found {known[0]}." if known else calls(("search", {"query": "moss"}))


def write(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    return "one, two" if prompt[-1].text.startswith("Outline") else "Once, and twice."


ANIMALS = (
    Animal(
        "subgraph as node",
        as_node,
        research,
        "Moss",
        thread=(
            "human: Moss",
            "ai: [search]",
            "tool: all about moss",
            "ai: I found all about moss.",
            "ai: A fine article.",
        ),
    ),
    Animal(
        "subgraph called in a node",
        called_in_node,
        write,
        "Moss",
        beside=("Once, and twice.", "one, two"),
        thread=("human: Moss", "ai: Here: Once, and twice."),
    ),
)
