"""States whose messages are no `add_messages`: appended, or a plain list."""

import operator
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode

from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import calls, results


class Appended(TypedDict):
    messages: Annotated[list[AnyMessage], operator.add]


class Plain(TypedDict):
    messages: list[AnyMessage]


@tool
async def multiply(a: int, b: int) -> str:
    """Multiply two numbers."""
    return str(a * b)


def appending(model: BaseChatModel) -> Any:
    """LangGraph's quickstart."""

    async def llm_call(state: Appended) -> dict[str, Any]:
        return {"messages": [await model.bind_tools([multiply]).ainvoke(state["messages"])]}

    async def tool_node(state: Appended) -> dict[str, Any]:
        last = state["messages"][-1]
        assert isinstance(last, AIMessage)
        return {"messages": [await multiply.ainvoke(call) for call in last.tool_calls]}

    def should_continue(state: Appended) -> str:
        last = state["messages"][-1]
        return "tool_node" if isinstance(last, AIMessage) and last.tool_calls else END

    builder = StateGraph(Appended)
    builder.add_node("llm_call", llm_call)
    builder.add_node("tool_node", tool_node)
    builder.add_edge(START, "llm_call")
    builder.add_conditional_edges("llm_call", should_continue, ["tool_node", END])
    builder.add_edge("tool_node", "llm_call")
    return builder.compile()


def plain(model: BaseChatModel) -> Any:
    """Nodes that return the whole list."""

    async def speak(state: Plain) -> dict[str, Any]:
        said = await model.bind_tools([multiply]).ainvoke(state["messages"])
        return {"messages": [*state["messages"], said]}

    async def work(state: Plain) -> dict[str, Any]:
        done = await ToolNode([multiply]).ainvoke(state)
        return {"messages": state["messages"] + done["messages"]}

    def should_continue(state: Plain) -> str:
        last = state["messages"][-1]
        return "work" if isinstance(last, AIMessage) and last.tool_calls else END

    builder = StateGraph(Plain)
    builder.add_node("speak", speak)
    builder.add_node("work", work)
    builder.add_edge(START, "speak")
    builder.add_conditional_edges("speak", should_continue, ["work", END])
    builder.add_edge("work", "speak")
    return builder.compile()


def dicts_appended(model: BaseChatModel) -> Any:
    """Messages without ids: a dict, then a tuple."""

    async def speak(state: Appended) -> dict[str, Any]:
        said = await model.ainvoke(state["messages"])
        return {"messages": [{"role": "ai", "content": said.text}]}

    async def sign(state: Appended) -> dict[str, Any]:
        return {"messages": [("ai", "Yours, the graph")]}

    builder = StateGraph(Appended)
    builder.add_node(speak)
    builder.add_node(sign)
    builder.add_edge(START, "speak")
    builder.add_edge("speak", "sign")
    return builder.compile()


def dicts_in_list(model: BaseChatModel) -> Any:
    """The same in nodes that return the whole list."""

    async def speak(state: Plain) -> dict[str, Any]:
        said = await model.ainvoke(state["messages"])
        return {"messages": [*state["messages"], {"role": "ai", "content": said.text}]}

    async def sign(state: Plain) -> dict[str, Any]:
        return {"messages": [*state["messages"], ("ai", "Yours, the graph")]}

    builder = StateGraph(Plain)
    builder.add_node(speak)
    builder.add_node(sign)
    builder.add_edge(START, "speak")
    builder.add_edge("speak", "sign")
    return builder.compile()


def greet(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    return "Hello to you."


def work_out(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    known = results(prompt)
    if not known:
        return calls(("multiply", {"a": 6, "b": 7}), words="I multiply.")
    return f"It is {known[0]}."


WORKED = (
    "human: Six times seven?",
    "ai: I multiply. [multiply]",
    "tool: 42",
    "ai: It is 42.",
)

SIGNED = ("human: Hello", "ai: Hello to you.", "ai: Yours, the graph")

ANIMALS = (
    Animal(
        "messages appended",
        appending,
        work_out,
        "Six times seven?",
        thread=WORKED,
    ),
    Animal(
        "messages as a plain list",
        plain,
        work_out,
        "Six times seven?",
        thread=WORKED,
    ),
    Animal(
        "dicts appended",
        dicts_appended,
        greet,
        "Hello",
        beside=("Hello to you.",),
        thread=SIGNED,
    ),
    Animal(
        "dicts in a plain list",
        dicts_in_list,
        greet,
        "Hello",
        beside=("Hello to you.",),
        thread=SIGNED,
    ),
)
