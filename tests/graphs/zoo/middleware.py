"""LangChain's agent with its own middleware: summaries, a list of to-dos, a limit of calls."""

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    ModelCallLimitMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool

from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import calls, results


@tool
def look_up(page: int) -> str:
    """Read a page."""
    return f"page {page}"


def summarizing(model: BaseChatModel) -> Any:
    return create_agent(
        model,
        tools=[look_up],
        middleware=[
            SummarizationMiddleware(model=model, trigger=("messages", 4), keep=("messages", 2))
        ],
    )


def planning(model: BaseChatModel) -> Any:
    return create_agent(model, tools=[look_up], middleware=[TodoListMiddleware()])


def limited(model: BaseChatModel) -> Any:
    return create_agent(
        model,
        tools=[look_up],
        middleware=[ModelCallLimitMiddleware(thread_limit=2, exit_behavior="end")],
    )


def read_two(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    if not tools:
        return "The first page was read."
    read = [m.text for m in prompt if m.type == "tool"]
    if "page 2" in read:
        return "I have read both."
    return calls(("look_up", {"page": 2 if read else 1}))


def plan_and_read(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    match len(results(prompt)):
        case 0:
            todos = [{"content": "Read page 1", "status": "in_progress"}]
            return calls(("write_todos", {"todos": todos}), words="First a plan.")
        case 1:
            return calls(("look_up", {"page": 1}))
        case _:
            return "Done."


def read_for_ever(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    return calls(("look_up", {"page": len(results(prompt)) + 1}))


ANIMALS = (
    Animal(
        "agent that summarizes",
        summarizing,
        read_two,
        "Read.",
        beside=("[look_up]",),
        thread=(
            "human: Here is a summary of the conversation to date: The first page was read.",
            "ai: [look_up]",
            "tool: page 2",
            "ai: I have read both.",
        ),
    ),
    Animal(
        "agent with to-dos",
        planning,
        plan_and_read,
        "Read.",
        thread=(
            "human: Read.",
            "ai: First a plan. [write_todos]",
            "tool: Updated todo list to [{'content': 'Read page 1', 'status': 'in_progress'}]",
            "ai: [look_up]",
            "tool: page 1",
            "ai: Done.",
        ),
    ),
    Animal(
        "agent with a limit of calls",
        limited,
        read_for_ever,
        "Read.",
        thread=(
            "human: Read.",
            "ai: [look_up]",
            "tool: page 1",
            "ai: [look_up]",
            "tool: page 2",
            "ai: Model call limits exceeded: thread limit (2/2)",
        ),
    ),
)
