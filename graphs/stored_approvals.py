"""The data stored of the approvals of a message's calls: a part of `turnstream.graphs.stored`."""

from typing import Any, NotRequired, TypedDict


class Decision(TypedDict):
    """A person's decision on a call; the last one of a call counts."""

    approved: bool
    run_id: str
    """The run that brought the decision, and that alone may run the call."""
    by: str
    """The id of the principal."""
    at: float
    """Unix time."""
    name: NotRequired[str]
    """The name of the principal, if they are not shown by the id."""
    reason: NotRequired[str]
    args: NotRequired[dict[str, Any]]
    """Arguments in the place of the model's."""


class AskedApproval(TypedDict):
    """The question about a call that needs an approval; `by` is whose run made the call: the id,
    roles and name."""

    asked_at: float
    by: str
    roles: list[str]
    name: str
    decisions: list[Decision]
    """Several, if runs that were to run the call were cut off."""
