"""langgraph-supervisor: one agent that hands work to two others."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.prebuilt import create_react_agent
from langgraph_supervisor import create_supervisor

from tests.graphs.zoo.animal import Animal
from tests.graphs.zoo.model import calls, results


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def headcount(company: str) -> str:
    """How many people work for a company."""
    return f"{company} has 40 people"


def supervised(model: BaseChatModel, output_mode: Any = "last_message") -> Any:
    research = create_react_agent(model, [headcount], name="research", prompt="Research.")
    maths = create_react_agent(model, [add], name="maths", prompt="Calculate.")
    workflow = create_supervisor(
        [research, maths], model=model, prompt="Delegate.", output_mode=output_mode
    )
    return workflow.compile()


def staff(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    known = results(prompt)
    if "headcount" in tools:
        if not any("40" in result for result in known):
            return calls(("headcount", {"company": "Acme"}))
        return "Acme has 40 people."
    if "add" in tools:
        return "Together 42." if "42" in known else calls(("add", {"a": 40, "b": 2}))
    handed = sum("Successfully transferred to" in result for result in known)
    if handed < 2:
        return calls((f"transfer_to_{('research', 'maths')[handed]}", {}))
    return "The answer is 42."


HANDED_TO_RESEARCH = (
    "human: Acme and two more?",
    "ai: [transfer_to_research]",
    "tool: Successfully transferred to research",
)
RESEARCHED = (
    "ai: Acme has 40 people.",
    "ai: Transferring back to supervisor [transfer_back_to_supervisor]",
    "tool: Successfully transferred back to supervisor",
    "ai: [transfer_to_maths]",
    "tool: Successfully transferred to maths",
)
CALCULATED = (
    "ai: Together 42.",
    "ai: Transferring back to supervisor [transfer_back_to_supervisor]",
    "tool: Successfully transferred back to supervisor",
    "ai: The answer is 42.",
)

ANIMALS = (
    Animal(
        "supervisor",
        supervised,
        staff,
        "Acme and two more?",
        beside=("[add]", "[headcount]"),
        thread=(*HANDED_TO_RESEARCH, *RESEARCHED, *CALCULATED),
    ),
    Animal(
        "supervisor that keeps all",
        partial(supervised, output_mode="full_history"),
        staff,
        "Acme and two more?",
        thread=(
            *HANDED_TO_RESEARCH,
            "ai: [headcount]",
            "tool: Acme has 40 people",
            *RESEARCHED,
            "ai: [add]",
            "tool: 42",
            *CALCULATED,
        ),
    ),
)
