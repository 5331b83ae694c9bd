"""Agents whose state has more than messages: lists of what is to be done, and what nobody is to
see."""

import operator
from collections.abc import Sequence
from typing import Annotated, Any

from langchain.tools import InjectedToolCallId
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from tests.graphs.zoo.animal import Animal, Question
from tests.graphs.zoo.model import calls, results

SECRET = "the combination is 4711"


class Plan(BaseModel):
    title: str
    steps: tuple[str, ...] = ()


class Todos(MessagesState):
    todos: Annotated[list[dict[str, Any]], operator.add]
    plan: Plan
    secrets: Annotated[list[str], operator.add]


@tool
def add_todo(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Write down what is to be done."""
    done = ToolMessage(f"noted: {text}", tool_call_id=tool_call_id)
    todo = {"text": text, "done": False}
    return Command(update={"todos": [todo], "secrets": [SECRET], "messages": [done]})


def todo_agent(model: BaseChatModel) -> Any:
    thinker = model.bind_tools([add_todo])

    async def plan(state: Todos) -> dict[str, Any]:
        return {"plan": Plan(title=state["messages"][-1].text, steps=("note", "say"))}

    async def agent(state: Todos) -> dict[str, Any]:
        return {"messages": [await thinker.ainvoke(state["messages"])]}

    graph = StateGraph(Todos)
    graph.add_node("plan", plan)
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode([add_todo]))
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    return graph.compile()


def note_both(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    known = results(prompt)
    if not known:
        return calls(("add_todo", {"text": "milk"}), ("add_todo", {"text": "eggs"}))
    return "Both noted."


def asking_agent(model: BaseChatModel) -> Any:
    """One node notes while another asks; a subgraph has a list of its own."""

    async def note(_state: Todos) -> dict[str, Any]:
        return {"todos": [{"text": "ask", "done": False}], "secrets": [SECRET]}

    async def ask(_state: Todos) -> dict[str, Any]:
        return {"todos": [{"text": interrupt("What else?"), "done": False}]}

    async def inner(_state: Todos) -> dict[str, Any]:
        return {"todos": [{"text": SECRET, "done": True}]}

    async def inside(state: Todos) -> dict[str, Any]:
        await sub.ainvoke({"messages": state["messages"]})
        return {}

    async def answer(state: Todos) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    within: Any = StateGraph(Todos)
    within.add_node("inner", inner)
    within.add_edge(START, "inner")
    sub = within.compile()
    graph: Any = StateGraph(Todos)
    for node in (note, ask, inside, answer):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "note")
    graph.add_edge(START, "ask")
    graph.add_edge(["note", "ask"], "inside")
    graph.add_edge("inside", "answer")
    graph.add_edge("answer", END)
    return graph.compile()


ANIMALS = (
    Animal(
        "todos of a tool",
        todo_agent,
        note_both,
        "Milk and eggs",
        thread=(
            "human: Milk and eggs",
            "ai: [add_todo, add_todo]",
            "tool: noted: milk",
            "tool: noted: eggs",
            "ai: Both noted.",
        ),
        client_state=("todos", "plan"),
    ),
    Animal(
        "todos while it asks",
        asking_agent,
        lambda _prompt, _tools: "Noted.",
        "Note it",
        thread=("human: Note it", "ai: Noted."),
        questions=(Question(["What else?"], "bread"),),
        client_state=("todos",),
    ),
)
