"""Agents of deepagents and langmem."""

import warnings
from collections.abc import Sequence
from typing import Any

from deepagents import create_deep_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.config import get_store
from langgraph.prebuilt import create_react_agent
from langgraph.store.memory import InMemoryStore
from langgraph.warnings import LangGraphDeprecatedSinceV10

from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import calls, results

with warnings.catch_warnings():  # of names that LangGraph has moved
    warnings.simplefilter("ignore", LangGraphDeprecatedSinceV10)
    from langmem import create_manage_memory_tool, create_search_memory_tool

MEMORY = "11111111-2222-3333-4444-555555555555"


@tool
def look_up(page: int) -> str:
    """Read a page."""
    return f"page {page}"


def deep_agent(model: BaseChatModel) -> Any:
    helper: Any = {
        "name": "reader",
        "description": "Reads pages.",
        "system_prompt": "Read.",
        "tools": [look_up],
    }
    return create_deep_agent(model, tools=[look_up], subagents=[helper])


def delegate_and_write(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    known = results(prompt)
    if "task" not in tools:  # the subagent
        return f"It says {known[0]}." if known else calls(("look_up", {"page": 1}))
    work: list[tuple[str, dict[str, Any]]] = [
        ("task", {"description": "Read page 1.", "subagent_type": "reader"}),
        ("write_file", {"file_path": "/notes.txt", "content": "page 1"}),
        ("read_file", {"file_path": "/notes.txt"}),
    ]
    return calls(work[len(known)]) if len(known) < len(work) else "Read and noted."


def with_memories(state: Any) -> list[BaseMessage]:
    kept = get_store().search(("memories",))
    return [SystemMessage(f"Known: {[item.value for item in kept]}"), *state["messages"]]


def langmem(model: BaseChatModel) -> Any:
    tools = [create_manage_memory_tool(("memories",)), create_search_memory_tool(("memories",))]
    return create_react_agent(model, tools, prompt=with_memories, store=InMemoryStore())


def remember_and_tell(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    if not results(prompt):
        kept = {"action": "update", "id": MEMORY, "content": "likes red"}
        return calls(("manage_memory", kept))
    return f"You like {'red' if 'likes red' in prompt[0].text else 'nothing'}."


ANIMALS = (
    Animal(
        "deepagents",
        deep_agent,
        delegate_and_write,
        "Read page 1 and note it",
        thread=(
            "human: Read page 1 and note it",
            "ai: [task]",
            "tool: It says page 1.",
            "ai: [write_file]",
            "tool: Updated file /notes.txt",
            "ai: [read_file]",
            "tool: @@ lines 1-1 of 1 @@ page 1",
            "ai: Read and noted.",
        ),
        beside=("It says page 1.", "[look_up]"),
        under=("It says page 1.", "[look_up]"),
        client_state=("files",),
    ),
    Animal(
        "langmem",
        langmem,
        remember_and_tell,
        "I like red",
        thread=(
            "human: I like red",
            "ai: [manage_memory]",
            f"tool: updated memory {MEMORY}",
            "ai: You like red.",
        ),
    ),
)
