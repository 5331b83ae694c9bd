"""The beginning of a new branch of a thread: a message is edited, or an answer is made anew."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage

from turnstream.graphs import stored, stored_user
from turnstream.graphs.history import from_user
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.runs.transcript import assistant_id, user_content
from turnstream.server.turns.requests import (
    Branch,
    InvalidRequest,
    TextContent,
    TurnRequest,
    UserContent,
)


@dataclass(frozen=True, slots=True)
class BranchPoint:
    """The user message that is replaced or asked again, and the checkpoint before it; or the last
    checkpoint of a branch that the thread has left, and no message."""

    message: HumanMessage | None
    checkpoint_id: str | None
    """None: there is nothing before the message."""
    answers: Sequence[ToolMessage] = ()
    """The user's answers that came along with the message: they stay."""
    version: str | None = None
    """The branch's name in the message that begins it; None: it goes on from the end of another
    branch."""


def branch_point(
    request: TurnRequest, messages: Sequence[AnyMessage]
) -> tuple[TurnRequest, BranchPoint | None]:
    """Return the place where the request branches off the thread, and what it asks for there.

    To make an answer anew a client may bring the question along. If the post of the question had
    failed, the thread does not hold it: then it is a new message like any other. If the question is
    in other words now, it is an edit.

    Raises InvalidRequest if the thread does not hold the message to branch at.
    """
    branch = request.branch
    if branch is None or branch.kind == "edit" or request.message is None:
        return request, find_branch_point(branch, messages) if branch else None
    held = next((message for message in messages if message.id == request.message.id), None)
    if held is None:
        return replace(request, branch=None), None
    point = find_branch_point(branch, messages)
    if _joined(request.message.content) == _joined(user_content(held)):
        return replace(request, message=None), point
    return request, point


def _joined(content: Sequence[UserContent]) -> Sequence[UserContent | str]:
    """Texts without an image between them are stored as one."""
    if all(isinstance(item, TextContent) for item in content):
        return ["".join(item.text for item in content if isinstance(item, TextContent))]
    return list(content)


def with_answers(
    point: BranchPoint, before: ThreadState, messages: Sequence[AnyMessage]
) -> BranchPoint:
    """Keep what the user answered together with the message: the checkpoint is from before."""
    pending = {call["id"] for call in before.unanswered}
    given = [
        message
        for message in messages
        if isinstance(message, ToolMessage)
        and message.tool_call_id in pending
        and stored.end_of(message) != "cancelled"
    ]
    return replace(point, answers=given)


def find_branch_point(branch: Branch, messages: Sequence[AnyMessage]) -> BranchPoint:
    """Raises InvalidRequest if the thread does not hold the message."""
    for message in reversed(from_user(messages)):
        if _is_meant(branch, message.id or ""):
            return BranchPoint(message, stored_user.checkpoint_before(message))
    if branch.message_id is None:
        raise InvalidRequest(
            "nothing_to_do", "The thread has no message yet to answer anew; send one.", 409
        )
    raise InvalidRequest(
        "unknown_message",
        f"The thread holds no message {branch.message_id[:100]!r} to {branch.kind}; GET the thread "
        "for the ids of its messages.",
        409,
    )


def _is_meant(branch: Branch, user_id: str) -> bool:
    ids = (user_id,) if branch.kind == "edit" else (None, user_id, assistant_id(user_id))
    return branch.message_id in ids
