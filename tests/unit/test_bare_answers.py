"""An answer without an id goes to LangGraph only where one question can take it."""

from contextlib import suppress
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from turnstream.server.runs.interrupts import takes_bare_answer

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def asks(_state: MessagesState) -> dict[str, Any]:
    return {"messages": [("ai", interrupt("first") + interrupt("second"))]}


def says(_state: MessagesState) -> dict[str, Any]:
    return {"messages": [("ai", "Hello")]}


def breaks(_state: MessagesState) -> dict[str, Any]:
    raise ValueError


def helped(_state: MessagesState) -> Any:
    """As a tool calls a graph."""
    return graph_of(asks).invoke({"messages": [("user", "Go")]})


def graph_of(*nodes: Any, saver: InMemorySaver | None = None) -> Any:
    graph: Any = StateGraph(MessagesState)
    for node in nodes:
        graph.add_node(str(len(graph.nodes)), node)
        graph.add_edge(START, str(len(graph.nodes) - 1))
    return graph.compile(checkpointer=saver)


def stopped(*nodes: Any) -> Any:
    graph = graph_of(*nodes, saver=InMemorySaver())
    with suppress(ValueError):
        graph.invoke({"messages": [("user", "Go")]}, CONFIG)
    return graph


@pytest.mark.parametrize("nodes", [(asks,), (asks, says), (graph_of(asks),)])
def test_the_question_of_the_only_open_task_takes_an_answer_without_an_id(nodes: Any) -> None:
    graph = stopped(*nodes)
    assert takes_bare_answer(graph.get_state(CONFIG, subgraphs=True))
    graph.invoke(Command(resume="yes"), CONFIG)
    assert takes_bare_answer(graph.get_state(CONFIG, subgraphs=True))


@pytest.mark.parametrize("nodes", [(asks, asks), (asks, breaks), (helped,), (says,)])
def test_where_another_task_or_graph_could_take_it_an_answer_keeps_its_id(nodes: Any) -> None:
    assert not takes_bare_answer(stopped(*nodes).get_state(CONFIG, subgraphs=True))
