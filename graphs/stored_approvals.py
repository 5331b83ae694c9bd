"""What is stored of the approvals of a message's calls: a part of `turnstream.graphs.stored`."""

from typing import Any, NotRequired, TypedDict


class Decision(TypedDict):
    """What a person decided about a call; the last one of a call counts."""

    approved: bool
    run_id: str
    """The run that brought the decision, and that alone may run the call."""
    by: str
    """The id of the principal."""
    at: float
    """Unix time."""
    name: NotRequired[str]
    """How the principal is shown, if not by the id."""
    reason: NotRequired[str]
    args: NotRequired[dict[str, Any]]
    """Arguments in the place of the model's."""


class AskedApproval(TypedDict):
    """Of a call that needs an approval; `by` is whose run made the call: the id, roles and name."""

    asked_at: float
    by: str
    roles: list[str]
    name: str
    decisions: list[Decision]
    """Several, if runs that were to run the call were cut off."""
