"""Where a thread is cut when a message is edited or an answer is made anew."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AnyMessage, HumanMessage

from server.protocols.requests import Fork, InvalidRequest
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
