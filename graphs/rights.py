"""The rights of a run's caller on tools, as a graph needs to know them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Decision = Literal["allow", "approval", "waived", "deny"]
"""`approval`: a person must approve each call; `waived`: nobody must, whatever the tool says."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is not made: an error code, and a sentence that model and client may read."""

    code: str
    message: str


NOT_ALLOWED = Refusal("tool_not_allowed", "The user may not use this tool.")
NEEDS_APPROVAL = Refusal("approval_required", "A person must approve this call before it runs.")


class ToolRights(Protocol):
    def decide(self, name: str) -> Decision:
        """By a tool's name alone."""

    async def refusal(self, name: str, args: Mapping[str, Any]) -> Refusal | None:
        """Why this very call of a tool that is allowed is refused; a call that is not refused
        counts towards the caller's limits. The arguments are whole and valid."""

    async def allows(self, name: str, args: Mapping[str, Any]) -> bool:
        """The same for a call that has been counted, with the arguments that a person has put in
        the place of the model's."""


class Everything:
    """The rights of callers that no policy restricts."""

    def decide(self, _name: str) -> Decision:
        return "allow"

    async def refusal(self, _name: str, _args: Mapping[str, Any]) -> Refusal | None:
        return None

    async def allows(self, _name: str, _args: Mapping[str, Any]) -> bool:
        return True


class Unenforced(Everything):
    """Rights of graphs that are not ours, in which others see to rights and approvals."""

    def decide(self, _name: str) -> Decision:
        return "waived"


EVERYTHING, UNENFORCED = Everything(), Unenforced()


def refusal_by_name(rights: ToolRights, name: str) -> Refusal | None:
    return NOT_ALLOWED if rights.decide(name) == "deny" else None
