"""Routers: the first edge by state that a request brings, and a model that decides unheard."""

from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel

from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import calls


class Spoken(MessagesState):
    language: str


def by_language(model: BaseChatModel) -> Any:
    async def english(state: Spoken) -> dict[str, Any]:
        return {"messages": [await model.ainvoke([("system", "English."), *state["messages"]])]}

    async def french(state: Spoken) -> dict[str, Any]:
        return {"messages": [await model.ainvoke([("system", "French."), *state["messages"]])]}

    def choose(state: Spoken) -> str:
        return {"en": "english", "fr": "french"}[state["language"]]

    builder = StateGraph(Spoken)
    builder.add_node(english)
    builder.add_node(french)
    builder.add_conditional_edges(START, choose, ["english", "french"])
    return builder.compile()


class Route(BaseModel):
    """Where to go next."""

    step: Literal["poem", "story"]


class Routed(MessagesState):
    decision: str


def by_model(model: BaseChatModel) -> Any:
    router = model.with_structured_output(Route).with_config(tags=["nostream"])

    async def route(state: Routed) -> dict[str, Any]:
        decision: Any = await router.ainvoke(state["messages"])
        return {"decision": decision.step}

    async def poem(state: Routed) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def story(state: Routed) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(Routed)
    builder.add_node(route)
    builder.add_node(poem)
    builder.add_node(story)
    builder.add_edge(START, "route")
    builder.add_conditional_edges("route", lambda state: state["decision"], ["poem", "story"])
    return builder.compile()


def greet(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    return "Bonjour à tous." if prompt[0].text == "French." else "Good day to all."


def rhyme(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    return calls(("Route", {"step": "poem"})) if tools else "Roses are red."


ANIMALS = (
    Animal(
        "conditional START",
        by_language,
        greet,
        "Salut",
        input={"language": "fr"},
        thread=("human: Salut", "ai: Bonjour à tous."),
    ),
    Animal(
        "router that is not streamed",
        by_model,
        rhyme,
        "A poem",
        thread=("human: A poem", "ai: Roses are red."),
    ),
)
