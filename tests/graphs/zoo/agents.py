"""Agents that read their context: LangGraph's prebuilt one, and LangChain's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, dynamic_prompt
from langchain.tools import ToolRuntime
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent
from langgraph.runtime import get_runtime

from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import calls, results


@dataclass
class Settings:
    unit: str
    tone: str = "friendly"


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    unit = get_runtime(Settings).context.unit
    return f"20 {unit} in {city}"


def react_agent(model: BaseChatModel) -> Any:
    return create_react_agent(
        model, [weather], prompt="You know the weather.", context_schema=Settings
    )


@tool
async def forecast(city: str, runtime: ToolRuntime[Settings]) -> str:
    """Tomorrow's weather in a city."""
    return f"18 {runtime.context.unit} in {city}"


@dynamic_prompt
def in_tone(request: ModelRequest[Settings]) -> str:
    return f"Be {request.runtime.context.tone}."


def agent(model: BaseChatModel) -> Any:
    return create_agent(
        model, tools=[weather, forecast], middleware=[in_tone], context_schema=Settings
    )


def ask_once(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    known = results(prompt)
    if not known:
        return calls(("weather", {"city": "Oslo"}), words="Let me see.")
    return f"It is {known[0]}."


def ask_both(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    known = results(prompt)
    if not known:
        return calls(("weather", {"city": "Oslo"}), ("forecast", {"city": "Oslo"}))
    return f"{prompt[0].text} Today {known[0]}, tomorrow {known[1]}."


ANIMALS = (
    Animal(
        "react agent",
        react_agent,
        ask_once,
        "The weather in Oslo?",
        context={"unit": "C"},
        thread=(
            "human: The weather in Oslo?",
            "ai: Let me see. [weather]",
            "tool: 20 C in Oslo",
            "ai: It is 20 C in Oslo.",
        ),
    ),
    Animal(
        "agent with a context",
        agent,
        ask_both,
        "The weather in Oslo?",
        context={"unit": "F", "tone": "brief"},
        thread=(
            "human: The weather in Oslo?",
            "ai: [weather, forecast]",
            "tool: 20 F in Oslo",
            "tool: 18 F in Oslo",
            "ai: Be brief. Today 20 F in Oslo, tomorrow 18 F in Oslo.",
        ),
    ),
)
