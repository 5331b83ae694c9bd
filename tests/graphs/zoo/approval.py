"""LangChain's agent whose tools wait for a person: all calls in one interrupt, or one each."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool

from tests.graphs.zoo.animal import Animal, Question
from tests.graphs.zoo.model import calls, results

DECISIONS = ["approve", "edit", "reject"]


@tool
async def send_email(to: str) -> str:
    """Send an email."""
    return f"Sent to {to}."


@tool
def address_of(name: str) -> str:
    """Look up an address."""
    return f"{name.lower()}@example.com"


def approved(model: BaseChatModel, mode: Any = "batched") -> Any:
    config = InterruptOnConfig(allowed_decisions=["approve", "edit", "reject"], description="Send?")
    review = HumanInTheLoopMiddleware({"send_email": config}, interrupt_mode=mode)
    return create_agent(model, tools=[send_email, address_of], middleware=[review])


def mail(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    known = results(prompt)
    if not known:
        return calls(("send_email", {"to": "ann"}), ("address_of", {"name": "Bob"}))
    return f"{len(known)} results, the first of them {known[0]!r}"


def mail_two(prompt: Sequence[BaseMessage], tools: Sequence[str]) -> str | AIMessage:
    known = results(prompt)
    if not known:
        return calls(("send_email", {"to": "ann"}), ("send_email", {"to": "bob"}))
    return "Both are done."


def batch(*recipients: str) -> dict[str, Any]:
    return {
        "action_requests": [
            {"name": "send_email", "args": {"to": to}, "description": "Send?"} for to in recipients
        ],
        "review_configs": [
            {"action_name": "send_email", "allowed_decisions": DECISIONS} for _ in recipients
        ],
    }


def single(to: str) -> dict[str, Any]:
    """Without the call's id, which is another each time."""
    about = {"name": "send_email", "args": {"to": to}, "description": "Send?"}
    return {"type": "tool_approval", **about}


def decided(*decisions: dict[str, Any]) -> dict[str, Any]:
    return {"decisions": list(decisions)}


EDIT_NOTE = (
    "tool: Note: a human reviewer replaced this tool call before it ran. The call recorded in your "
    "message is the one you produced, not the one that executed. This was intentional and "
    "authorized. Do not re-issue your original call. Executed instead: send_email with arguments "
    '{"to": "ada"}. Tool response: '
)
REJECTION = "User rejected the tool call for `send_email` with reason: Not her."
EDITED = {"type": "edit", "edited_action": {"name": "send_email", "args": {"to": "ada"}}}
REJECTED = {"type": "reject", "message": "Not her."}

ANIMALS = (
    Animal(
        "approval given",
        approved,
        mail,
        "Write.",
        questions=(Question([batch("ann")], decided({"type": "approve"})),),
        thread=(
            "human: Write.",
            "ai: [send_email, address_of]",
            "tool: Sent to ann.",
            "tool: bob@example.com",
            "ai: 2 results, the first of them 'Sent to ann.'",
        ),
    ),
    Animal(
        "approval with another recipient",
        approved,
        mail_two,
        "Write.",
        questions=(Question([batch("ann", "bob")], decided(EDITED, {"type": "approve"})),),
        thread=(
            "human: Write.",
            "ai: [send_email, send_email]",
            f"{EDIT_NOTE}Sent to ada.",
            "tool: Sent to bob.",
            "ai: Both are done.",
        ),
    ),
    Animal(
        "approval refused",
        approved,
        mail,
        "Write.",
        questions=(Question([batch("ann")], decided(REJECTED)),),
        thread=(
            "human: Write.",
            "ai: [send_email, address_of]",
            f"tool: {REJECTION}",
            "tool: bob@example.com",
            f"ai: 2 results, the first of them {REJECTION!r}",
        ),
    ),
    Animal(
        "approval of each call",
        partial(approved, mode="per_call"),
        mail_two,
        "Write.",
        questions=(Question([single("ann"), single("bob")], [{"type": "approve"}, REJECTED]),),
        thread=(
            "human: Write.",
            "ai: [send_email, send_email]",
            "tool: Sent to ann.",
            f"tool: {REJECTION}",
            "ai: Both are done.",
        ),
    ),
)
