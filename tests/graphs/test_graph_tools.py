"""The tools of any graph are found, however they hang in it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_swarm

from tests.support.scripted_model import ScriptedModel
from turnstream.graphs.graph_tools import tools_of


@tool
def weather(place: str) -> str:
    """The weather."""
    return place


NODE = ToolNode([weather])
NODES = {"tools": NODE}
AGENT = create_agent(ScriptedModel(), [weather], name="expert")


def graph_of(node: Any) -> Any:
    graph: Any = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph.compile()


def in_a_closure() -> Callable[..., Any]:
    node = NODE

    async def call(state: MessagesState) -> Any:
        return await node.ainvoke(state)

    return call


def by_a_global(state: MessagesState) -> Any:
    return NODE.invoke(state)


def by_a_collection(state: MessagesState) -> Any:
    return NODES["tools"].invoke(state)


def given(node: ToolNode, state: MessagesState) -> Any:
    return node.invoke(state)


def by_a_method() -> Callable[..., Any]:
    invoke = NODE.invoke

    def call(state: MessagesState) -> Any:
        return invoke(state)

    return call


def by_hand(state: Any) -> Any:
    return AGENT.invoke(state)


@tool
def ask_the_agent(question: str) -> str:
    """Ask."""
    return str(AGENT.invoke({"messages": [AIMessage(question)]}))


def cyclic() -> Any:
    held: list[Any] = []

    def call(state: MessagesState) -> Any:
        return held[0].invoke(state), NODE

    held.append(graph_of(call))
    return held[0]


GRAPHS: dict[str, Callable[[], Any]] = {
    "a node": lambda: graph_of(NODE),
    "a step of a node": lambda: graph_of(RunnableLambda(dict) | NODE),
    "a node with a config": lambda: graph_of(NODE.with_config(tags=["x"])),
    "a node with retries": lambda: graph_of(NODE.with_retry()),
    "a fallback": lambda: graph_of(RunnableLambda(dict).with_fallbacks([NODE])),
    "a branch": lambda: graph_of(RunnableParallel(messages=NODE)),
    "a lambda": lambda: graph_of(RunnableLambda(by_a_global)),
    "a closure": lambda: graph_of(in_a_closure()),
    "a global": lambda: graph_of(by_a_global),
    "a collection": lambda: graph_of(by_a_collection),
    "a partial": lambda: graph_of(partial(given, NODE)),
    "a method": lambda: graph_of(by_a_method()),
    "a subgraph": lambda: graph_of(graph_of(NODE)),
    "a subgraph called by hand": lambda: graph_of(RunnableLambda(by_hand)),
    "an agent": lambda: AGENT,
    "an agent that is a tool": lambda: create_agent(ScriptedModel(), [ask_the_agent]),
    "a supervisor's agent": lambda: create_supervisor([AGENT], model=ScriptedModel()).compile(),
    "a swarm's agent": lambda: create_swarm([AGENT], default_active_agent="expert").compile(),
    "a graph that calls itself": cyclic,
}


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
@pytest.mark.parametrize("make", GRAPHS.values(), ids=GRAPHS.keys())
def test_a_tool_is_found_wherever_its_node_hangs(make: Callable[[], Any]) -> None:
    assert tools_of(make())["weather"] is weather


def test_a_graph_without_tools_has_none() -> None:
    assert tools_of(graph_of(lambda _: {"messages": [AIMessage("Fine.")]})) == {}
