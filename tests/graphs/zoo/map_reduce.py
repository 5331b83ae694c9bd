"""Models that speak at once: workers that `Send` starts, and nodes beside each other."""

import operator
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send
from pydantic import BaseModel

from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import calls, question


class Subjects(BaseModel):
    """Subjects to joke about."""

    subjects: list[str]


class Overall(MessagesState):
    subjects: list[str]
    jokes: Annotated[list[str], operator.add]


class Subject(TypedDict):
    subject: str


def map_reduce(model: BaseChatModel) -> Any:
    async def choose_subjects(state: Overall) -> dict[str, Any]:
        found: Any = await model.with_structured_output(Subjects).ainvoke(state["messages"])
        return {"subjects": found.subjects}

    def each_subject(state: Overall) -> list[Send]:
        return [Send("joke", {"subject": subject}) for subject in state["subjects"]]

    async def joke(state: Subject) -> dict[str, Any]:
        told = await model.ainvoke(f"A joke about {state['subject']}")
        return {"jokes": [told.text], "messages": [told]}

    async def best(state: Overall) -> dict[str, Any]:
        jokes = "; ".join(state["jokes"])
        return {"messages": [await model.ainvoke(f"The best of: {jokes}")]}

    builder = StateGraph(Overall)
    builder.add_node(choose_subjects)
    builder.add_node(joke)
    builder.add_node(best)
    builder.add_edge(START, "choose_subjects")
    builder.add_conditional_edges("choose_subjects", each_subject, ["joke"])
    builder.add_edge("joke", "best")
    builder.add_edge("best", END)
    return builder.compile()


def jokes(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    if tools:
        return calls(("Subjects", {"subjects": ["ants", "bees", "cats"]}))
    asked = question(prompt)
    if asked.startswith("The best"):
        return "The one about bees."
    return {
        "ants": "An ant walks into a very, very long bar, and into another.",
        "bees": "Bees hum.",
        "cats": "A cat had nine lives, and told nobody.",
    }[asked.removeprefix("A joke about ")]


def panel(model: BaseChatModel) -> Any:
    """Two nodes of one step, and one that waits for both."""

    async def optimist(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke([("system", "Hope."), *state["messages"]])]}

    async def pessimist(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke([("system", "Fear."), *state["messages"]])]}

    async def judge(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke([("system", "Judge."), *state["messages"]])]}

    builder = StateGraph(MessagesState)
    builder.add_node("optimist", optimist)
    builder.add_node("pessimist", pessimist)
    builder.add_node("judge", judge)
    builder.add_edge(START, "optimist")
    builder.add_edge(START, "pessimist")
    builder.add_edge(["optimist", "pessimist"], "judge")
    return builder.compile()


def opinions(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    return {
        "Hope.": "It will all turn out well, as it always has.",
        "Fear.": "It will not.",
        "Judge.": "We will see.",
    }[prompt[0].text]


ANIMALS = (
    Animal(
        "map-reduce",
        map_reduce,
        jokes,
        "Jokes about animals",
        beside=("[Subjects]",),
        parallel=True,
        thread=(
            "human: Jokes about animals",
            "ai: An ant walks into a very, very long bar, and into another.",
            "ai: Bees hum.",
            "ai: A cat had nine lives, and told nobody.",
            "ai: The one about bees.",
        ),
    ),
    Animal(
        "parallel nodes",
        panel,
        opinions,
        "Will it hold?",
        parallel=True,
        thread=(
            "human: Will it hold?",
            "ai: It will all turn out well, as it always has.",
            "ai: It will not.",
            "ai: We will see.",
        ),
    ),
)
