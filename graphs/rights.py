"""What the caller of a run may do with tools, as a graph needs to know it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Decision = Literal["allow", "approval", "deny"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is not made: an error code, and a sentence that model and client may read."""

    code: str
    message: str


NOT_ALLOWED = Refusal("tool_not_allowed", "The user may not use this tool.")
NEEDS_APPROVAL = Refusal(
    "approval_required",
    "A person must approve this call, and this server cannot ask for approvals yet.",
)


class ToolRights(Protocol):
    def decide(self, name: str) -> Decision:
        """By a tool's name alone."""

    async def refusal(self, name: str, args: Mapping[str, Any]) -> Refusal | None:
        """Why this very call of a tool that is allowed is refused; a call that is not refused
        counts towards the caller's limits. The arguments are whole and valid."""


class Everything:
    """The rights of callers that no policy restricts."""

    def decide(self, _name: str) -> Decision:
        return "allow"

    async def refusal(self, _name: str, _args: Mapping[str, Any]) -> Refusal | None:
        return None


EVERYTHING = Everything()


def refusal_by_name(rights: ToolRights, name: str, *, is_real: bool = True) -> Refusal | None:
    """Nobody approves a UI tool: it does nothing on the server."""
    match rights.decide(name):
        case "deny":
            return NOT_ALLOWED
        case "approval" if is_real:
            return NEEDS_APPROVAL
    return None
