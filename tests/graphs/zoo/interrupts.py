"""Graphs that stop to ask: in a node, in tools, in a subgraph, at a breakpoint."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

from tests.graphs.zoo.animal import Animal, Question
from tests.graphs.zoo.model import calls, results


class Reviewed(MessagesState):
    name: str


def in_node(model: BaseChatModel) -> Any:
    """Asks before a word is said, then has the draft approved."""

    async def ask_name(state: Reviewed) -> dict[str, Any]:
        return {"name": interrupt("What is your name?")}

    async def draft(state: Reviewed) -> dict[str, Any]:
        return {"messages": [await model.ainvoke([("system", state["name"]), *state["messages"]])]}

    async def review(state: Reviewed) -> Command[Literal["draft", "__end__"]]:
        answer = interrupt({"question": "Is this right?", "draft": state["messages"][-1].text})
        if answer["approved"]:
            return Command(goto="__end__")
        return Command(goto="draft", update={"messages": [("user", answer["feedback"])]})

    builder = StateGraph(Reviewed)
    builder.add_node(ask_name)
    builder.add_node(draft)
    builder.add_node(review)
    builder.add_edge(START, "ask_name")
    builder.add_edge("ask_name", "draft")
    builder.add_edge("draft", "review")
    return builder.compile()


def greeting(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    return f"Dear {prompt[0].text}, good day."


@tool
async def human_assistance(query: str) -> str:
    """Request assistance from a human."""
    answer: dict[str, str] = interrupt({"query": query})
    return answer["data"]


@tool
async def clock() -> str:
    """The time."""
    return "noon"


def in_tool(model: BaseChatModel, **compiled: Any) -> Any:
    tools = [human_assistance, clock]

    async def chatbot(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.bind_tools(tools).ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("chatbot", chatbot)
    builder.add_node("tools", ToolNode(tools))
    builder.add_conditional_edges("chatbot", tools_condition)
    builder.add_edge("tools", "chatbot")
    builder.add_edge(START, "chatbot")
    return builder.compile(**compiled)


def in_tools(model: BaseChatModel) -> Any:
    """LangChain's agent runs each call in a task of its own."""
    return create_agent(model, tools=[human_assistance, clock])


def in_subgraph(model: BaseChatModel) -> Any:
    async def close(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke([("system", "Close."), *state["messages"]])]}

    builder = StateGraph(MessagesState)
    builder.add_node("assistant", in_tool(model))
    builder.add_node(close)
    builder.add_edge(START, "assistant")
    builder.add_edge("assistant", "close")
    return builder.compile()


def ask_one(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    if prompt[0].text == "Close.":
        return "Goodbye."
    known = results(prompt)
    if not known:
        return calls(("human_assistance", {"query": "How?"}), words="I will ask.")
    return f"They say: {known[0]}."


def ask_two(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    known = results(prompt)
    if not known:
        asked = [("human_assistance", {"query": query}) for query in ("How?", "When?")]
        return calls(*asked, ("clock", {}))
    return f"They say: {known[0]}, {known[1]}. It is {known[2]}."


def look_at_clock(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    known = results(prompt)
    return f"It is {known[0]}." if known else calls(("clock", {}))


ASKED = (
    "human: Help me.",
    "ai: I will ask. [human_assistance]",
    "tool: So.",
    "ai: They say: So..",
)
TIMED = ("human: The time?", "ai: [clock]", "tool: noon", "ai: It is noon.")
ASKED_TWICE = (
    "human: Help me.",
    "ai: [human_assistance, human_assistance, clock]",
    "tool: So.",
    "tool: Now.",
    "tool: noon",
    "ai: They say: So., Now.. It is noon.",
)
HOW = Question([{"query": "How?"}], {"data": "So."})

ANIMALS = (
    Animal(
        "interrupt in a node",
        in_node,
        greeting,
        "A letter.",
        questions=(
            Question(["What is your name?"], "Ada"),
            Question(
                [{"question": "Is this right?", "draft": "Dear Ada, good day."}],
                {"approved": True},
            ),
        ),
        thread=("human: A letter.", "ai: Dear Ada, good day."),
    ),
    Animal(
        "interrupt in a tool",
        in_tool,
        ask_one,
        "Help me.",
        questions=(HOW,),
        thread=ASKED,
    ),
    Animal(
        "interrupts one by one",
        in_tool,
        ask_two,
        "Help me.",
        questions=(HOW, Question([{"query": "When?"}], {"data": "Now."})),
        thread=ASKED_TWICE,
    ),
    Animal(
        "interrupts at once",
        in_tools,
        ask_two,
        "Help me.",
        questions=(
            Question([{"query": "How?"}, {"query": "When?"}], [{"data": "So."}, {"data": "Now."}]),
        ),
        thread=ASKED_TWICE,
    ),
    Animal(
        "interrupt in a subgraph",
        in_subgraph,
        ask_one,
        "Help me.",
        questions=(HOW,),
        thread=(*ASKED, "ai: Goodbye."),
    ),
    Animal(
        "breakpoint before tools",
        partial(in_tool, interrupt_before=["tools"]),
        look_at_clock,
        "The time?",
        questions=(Question(None, None),),
        thread=TIMED,
    ),
    Animal(
        "breakpoint after tools",
        partial(in_tool, interrupt_after=["tools"]),
        look_at_clock,
        "The time?",
        questions=(Question(None, None),),
        thread=TIMED,
    ),
)
