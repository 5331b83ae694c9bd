"""langgraph-swarm: agents that hand the conversation to each other."""

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph_swarm import create_handoff_tool, create_swarm

from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import calls, results


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def swarm(model: BaseChatModel) -> Any:
    alice = create_agent(
        model,
        tools=[add, create_handoff_tool(agent_name="Bob", description="Ask Bob.")],
        system_prompt="You are Alice.",
        name="Alice",
    )
    bob = create_agent(
        model,
        tools=[create_handoff_tool(agent_name="Alice", description="Ask Alice for sums.")],
        system_prompt="You are Bob, and speak like a pirate.",
        name="Bob",
    )
    return create_swarm([alice, bob], default_active_agent="Alice").compile()


def converse(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    if "add" not in tools:
        return "Arr, 'tis 3!"
    if not results(prompt):
        return calls(("add", {"a": 1, "b": 2}))
    return calls(("transfer_to_bob", {}), words="Bob may say it.")


ANIMALS = (
    Animal(
        "swarm",
        swarm,
        converse,
        "One and two?",
        thread=(
            "human: One and two?",
            "ai: [add]",
            "tool: 3",
            "ai: Bob may say it. [transfer_to_bob]",
            "tool: Successfully transferred to Bob",
            "ai: Arr, 'tis 3!",
        ),
    ),
)
