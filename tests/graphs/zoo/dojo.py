"""Graphs for the features of AG-UI's dojo, in the shapes that its examples for LangGraph have: a
chat, tools of the server and of the page, a question, and state that is shared, predicted and told
while a node works. Each takes the model that it calls."""

import operator
from collections.abc import Sequence
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from tests.graphs.zoo.model import calls, question, results
from turnstream.graphs.client_tools import ClientTools

STATE = ("steps", "recipe", "document", "itinerary")
"""The keys that clients see."""
STEPS = [{"description": "Dig a hole", "status": "pending"}]
DONE = [{"description": "Dig a hole", "status": "completed"}]
SALTED = {"title": "Soup", "ingredients": ["water", "salt"]}
DOCUMENT = "The tide is low."
KLM, UNITED = {"airline": "KLM"}, {"airline": "United"}


@tool
async def get_weather(location: str) -> str:
    """Look the weather up."""
    return f"Rain in {location}."


@tool
async def plan_steps(steps: list[dict[str, str]]) -> str:
    """Plan the steps of a task."""
    return f"{len(steps)} planned."


@tool
async def write_recipe(recipe: dict[str, Any]) -> str:
    """Write the whole recipe."""
    return str(recipe)


@tool
async def write_document(document: str) -> str:
    """Write the whole document."""
    return document


def chat(model: BaseChatModel) -> Any:
    """An agent with a tool of its own, and those of the page."""
    return create_agent(model, tools=[get_weather], middleware=[ClientTools()])


class Work(MessagesState):
    steps: list[dict[str, str]]


class Kitchen(MessagesState):
    recipe: dict[str, Any]


class Writing(MessagesState):
    document: str
    tools: list[Any]


class Trip(MessagesState):
    itinerary: Annotated[dict[str, Any], operator.or_]


def _predicting(config: RunnableConfig, key: str, name: str, argument: str) -> RunnableConfig:
    """The config of a model whose calls of the tool predict the key of the state."""
    predicted = {"state_key": key, "tool": name, "tool_argument": argument}
    return {**config, "metadata": {**config.get("metadata", {}), "predict_state": [predicted]}}


def _answer(asked: AIMessage, text: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id=asked.tool_calls[0]["id"] or "")


def _alone(state: Any, node: Any) -> Any:
    return StateGraph(state).add_node("node", node).add_edge(START, "node").compile()


def asks_about_steps(model: BaseChatModel) -> Any:
    """Human in the loop: the person decides which steps are done."""

    async def think(state: Work, config: RunnableConfig) -> Command[Any]:
        config = _predicting(config, "steps", "plan_steps", "steps")
        asked = await model.bind_tools([plan_steps]).ainvoke(state["messages"], config)
        done = _answer(asked, "Planned.")
        steps = asked.tool_calls[0]["args"]["steps"]
        return Command(goto="ask", update={"messages": [asked, done], "steps": steps})

    async def ask(state: Work) -> dict[str, Any]:
        decided = interrupt({"steps": state["steps"]})
        chosen = ", ".join(step["description"] for step in decided["steps"])
        return {"messages": [AIMessage(f"Done: {chosen}.")], "steps": decided["steps"]}

    graph = StateGraph(Work).add_node("think", think, destinations=("ask",)).add_node("ask", ask)
    return graph.add_edge(START, "think").add_edge("ask", END).compile()


def tells_its_steps(model: BaseChatModel) -> Any:
    """Agentic generative UI: the node tells its steps as it does them."""

    async def work(state: Work, config: RunnableConfig) -> dict[str, Any]:
        config = _predicting(config, "steps", "plan_steps", "steps")
        asked = await model.bind_tools([plan_steps]).ainvoke(state["messages"], config)
        steps = [{**step} for step in asked.tool_calls[0]["args"]["steps"]]
        for step in steps:
            step["status"] = "completed"
            await adispatch_custom_event("manually_emit_state", {**state, "steps": steps})
        messages = [asked, _answer(asked, "Done."), AIMessage("All done.")]
        return {"messages": messages, "steps": steps}

    return _alone(Work, work)


def shares_a_recipe(model: BaseChatModel) -> Any:
    """Shared state: the model goes on with the recipe as the page has changed it."""

    async def cook(state: Kitchen, config: RunnableConfig) -> dict[str, Any]:
        config = _predicting(config, "recipe", "write_recipe", "recipe")
        told = [*state["messages"], AIMessage(str(state.get("recipe")))]
        asked = await model.bind_tools([write_recipe]).ainvoke(told, config)
        recipe = asked.tool_calls[0]["args"]["recipe"]
        messages = [asked, _answer(asked, "Written."), AIMessage("Salted.")]
        return {"messages": messages, "recipe": recipe}

    return _alone(Kitchen, cook)


def predicts_a_document(model: BaseChatModel) -> Any:
    """Predictive state: a document that the page shows while the model writes it, and then
    confirms."""

    async def write(state: Writing, config: RunnableConfig) -> dict[str, Any]:
        config = _predicting(config, "document", "write_document", "document")
        tools = [*state.get("tools", []), write_document]
        asked = await model.bind_tools(tools).ainvoke(state["messages"], config)
        if not asked.tool_calls:
            return {"messages": [asked]}
        confirm = calls(("confirm_changes", {}))
        confirm.tool_calls[0]["id"] = f"confirm-{asked.tool_calls[0]['id']}"
        document = asked.tool_calls[0]["args"]["document"]
        return {"messages": [asked, _answer(asked, "Written."), confirm], "document": document}

    return _alone(Writing, write)


def plans_a_trip(model: BaseChatModel) -> Any:
    """Subgraphs: one of them asks, and what it adds to the itinerary is the graph's."""

    async def find(state: Trip) -> dict[str, Any]:
        flight = interrupt({"message": "Which flight?", "options": [KLM, UNITED]})
        return {"itinerary": {"flight": flight}, "messages": [AIMessage("Flight booked.")]}

    async def supervise(state: Trip) -> Command[Any]:
        if "flight" not in state.get("itinerary", {}):
            return Command(goto="flights")
        return Command(goto=END, update={"messages": [await model.ainvoke(state["messages"])]})

    graph: Any = StateGraph(Trip)
    graph.add_node("supervisor", supervise, destinations=("flights", END))
    graph.add_node("flights", _alone(Trip, find))
    graph.add_edge(START, "supervisor")
    graph.add_edge("flights", "supervisor")
    return graph.compile()


def reply(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    """The model of all of them."""
    known = results(prompt)
    asked = question(prompt)
    if known:
        return f"It is so: {known[-1]}"
    if "plan_steps" in tools:
        return calls(("plan_steps", {"steps": STEPS}))
    if "write_recipe" in tools:
        ingredients = ["water", "salt"] if "water" in str(prompt[-1].content) else ["salt"]
        return calls(("write_recipe", {"recipe": {"title": "Soup", "ingredients": ingredients}}))
    if "write_document" in tools:
        return calls(("write_document", {"document": DOCUMENT}))
    if "weather" in asked:
        return calls(("get_weather", {"location": "Kiel"}))
    page = [name for name in tools if name != "get_weather"]
    return calls((page[0], {"value": "blue"})) if page else "Good day."
