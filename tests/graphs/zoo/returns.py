"""What nodes return: dicts, one message alone, commands, messages to remove."""

from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command

from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import calls, results


def dict_messages(model: BaseChatModel) -> Any:
    def speak(state: MessagesState) -> dict[str, Any]:
        said = model.invoke(state["messages"])
        return {"messages": [{"role": "ai", "content": said.content}]}

    def sign(state: MessagesState) -> dict[str, Any]:
        return {"messages": {"role": "assistant", "content": "Yours, the graph"}}

    builder = StateGraph(MessagesState)
    builder.add_node(speak)
    builder.add_node(sign)
    builder.add_edge(START, "speak")
    builder.add_edge("speak", "sign")
    return builder.compile()


def one_message(model: BaseChatModel) -> Any:
    async def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": await model.ainvoke(state["messages"])}

    return StateGraph(MessagesState).add_node(speak).add_edge(START, "speak").compile()


def commands(model: BaseChatModel) -> Any:
    async def triage(state: MessagesState) -> Command[Literal["expert", "__end__"]]:
        said = await model.ainvoke([("system", "Triage."), *state["messages"]])
        return Command(goto="expert", update={"messages": [said]})

    async def expert(state: MessagesState) -> list[Command[Literal["__end__"]]]:
        said = await model.ainvoke([("system", "Advise."), *state["messages"]])
        return [
            Command(update={"messages": [said]}),
            Command(goto="__end__", update={"messages": [AIMessage("That is all.")]}),
        ]

    builder = StateGraph(MessagesState)
    builder.add_node("triage", triage)
    builder.add_node("expert", expert)
    builder.add_edge(START, "triage")
    return builder.compile()


@tool
def read(page: int) -> str:
    """Read a page."""
    return f"page {page}"


def forgetful(model: BaseChatModel) -> Any:
    """Removes what the tool said once it is used."""

    async def chatbot(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.bind_tools([read]).ainvoke(state["messages"])]}

    async def forget(state: MessagesState) -> dict[str, Any]:
        middle = state["messages"][1:-1]
        return {"messages": [RemoveMessage(id=message.id or "") for message in middle]}

    builder = StateGraph(MessagesState)
    builder.add_node(chatbot)
    builder.add_node("tools", ToolNode([read]))
    builder.add_node(forget)
    builder.add_edge(START, "chatbot")
    builder.add_conditional_edges("chatbot", tools_condition, {"tools": "tools", END: "forget"})
    builder.add_edge("tools", "chatbot")
    return builder.compile()


def revising(model: BaseChatModel) -> Any:
    """Replaces its answer by one of the same id."""

    async def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def revise(state: MessagesState) -> dict[str, Any]:
        said = state["messages"][-1]
        return {"messages": [AIMessage(said.text.upper(), id=said.id)]}

    builder = StateGraph(MessagesState)
    builder.add_node(speak)
    builder.add_node(revise)
    builder.add_edge(START, "speak")
    builder.add_edge("speak", "revise")
    return builder.compile()


def greet(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    return "Hello to you."


def advise(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    assert isinstance(prompt[0], SystemMessage)
    return "This is for an expert." if prompt[0].text == "Triage." else "Drink water."


def read_one(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    return f"I read {results(prompt)[0]}." if results(prompt) else calls(("read", {"page": 1}))


ANIMALS = (
    Animal(
        "dict messages",
        dict_messages,
        greet,
        "Hello",
        beside=("Hello to you.",),
        thread=("human: Hello", "ai: Hello to you.", "ai: Yours, the graph"),
    ),
    Animal(
        "one message, no list",
        one_message,
        greet,
        "Hello",
        thread=("human: Hello", "ai: Hello to you."),
    ),
    Animal(
        "commands",
        commands,
        advise,
        "My head aches.",
        thread=(
            "human: My head aches.",
            "ai: This is for an expert.",
            "ai: Drink water.",
            "ai: That is all.",
        ),
    ),
    Animal(
        "messages removed",
        forgetful,
        read_one,
        "Read.",
        beside=("[read]",),
        thread=("human: Read.", "ai: I read page 1."),
    ),
    Animal(
        "message replaced",
        revising,
        greet,
        "Hello",
        thread=("human: Hello", "ai: HELLO TO YOU."),
    ),
)
