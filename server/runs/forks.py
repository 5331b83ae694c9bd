"""Where a thread is cut when a message is edited or an answer is made anew."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage

from graphs.answers import end_of
from graphs.history import pending_calls
from server.protocols.requests import Fork, InvalidRequest, TurnRequest
from server.runs.transcript import assistant_id

CHECKPOINT = "checkpoint_id"
"""Key in a user message's `response_metadata`: the checkpoint before it. The first has none."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The user message that is replaced or asked again, and the checkpoint before it.

    None: there is nothing before it.
    """

    message: HumanMessage
    checkpoint_id: str | None
    answers: Sequence[ToolMessage] = ()
    """The user's answers that came along with the message: they stay."""


def cut_of(request: TurnRequest, messages: Sequence[AnyMessage]) -> tuple[TurnRequest, Cut | None]:
    """Where the request cuts the thread, and what it asks for then.

    To make an answer anew a client may bring the question along. The thread does not hold it when
    the post of it failed: then it is a new message like any other.

    Raises InvalidRequest if the thread does not hold the message to cut at.
    """
    fork = request.fork
    if fork is None or fork.kind == "edit" or request.message is None:
        return request, find_cut(fork, messages) if fork else None
    if all(message.id != request.message.id for message in messages):
        return replace(request, fork=None), None
    return replace(request, message=None), find_cut(fork, messages)


def with_answers(cut: Cut, before: Sequence[AnyMessage], messages: Sequence[AnyMessage]) -> Cut:
    """Keep what the user answered with the message that is cut: the checkpoint is from before."""
    pending = {call["id"] for call in pending_calls(before)}
    given = [
        message
        for message in messages
        if isinstance(message, ToolMessage)
        and message.tool_call_id in pending
        and end_of(message) != "cancelled"
    ]
    return replace(cut, answers=given)


def find_cut(fork: Fork, messages: Sequence[AnyMessage]) -> Cut:
    """Raises InvalidRequest if the thread does not hold the message."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage) and _is_meant(fork, message.id or ""):
            return Cut(message, message.response_metadata.get(CHECKPOINT))
    if fork.message_id is None:
        raise InvalidRequest(
            "nothing_to_do", "The thread has no message yet to answer anew; send one.", 409
        )
    raise InvalidRequest(
        "unknown_message",
        f"The thread holds no message {fork.message_id[:100]!r} to {fork.kind}; GET the thread "
        "for the ids of its messages.",
        409,
    )


def _is_meant(fork: Fork, user_id: str) -> bool:
    ids = (user_id,) if fork.kind == "edit" else (None, user_id, assistant_id(user_id))
    return fork.message_id in ids
