"""The graph's state: a thread's messages, and the reducer that keeps them in order."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage
from langgraph.channels import DeltaChannel

SNAPSHOT_EVERY = 1000
"""Updates between two full copies of the history: rarely, so that a turn's storage does not grow
with its thread; loading replays what came since the last copy."""


def add_messages_in_order(
    history: list[AnyMessage], writes: Sequence[list[AnyMessage] | AnyMessage]
) -> list[AnyMessage]:
    """Fold messages into the history, one by one, as a chat API demands them.

    A known id replaces its message. The answer of a tool call goes directly behind the message
    that made the call, whenever it comes; a second answer to one call is dropped. Folding one by
    one makes it deterministic and batching-invariant, as `DeltaChannel` requires.
    """
    messages = list(history)
    ids = {message.id for message in messages}
    for write in writes:
        for message in write if isinstance(write, list) else [write]:
            if isinstance(message, RemoveMessage):
                messages = [kept for kept in messages if kept.id != message.id]
                ids.discard(message.id)
            elif message.id is not None and message.id in ids:
                place = next(i for i, known in enumerate(messages) if known.id == message.id)
                messages[place] = message
            elif _add(messages, message):
                ids.add(message.id)
    return messages


def _add(messages: list[AnyMessage], message: AnyMessage) -> bool:
    """Put an answer behind its call and the answers already there, anything else, an orphan too,
    at the end. False: the call has its answer."""
    if not isinstance(message, ToolMessage):
        messages.append(message)
        return True
    end = len(messages)
    for place in range(len(messages) - 1, -1, -1):
        known = messages[place]
        if isinstance(known, ToolMessage):
            if known.tool_call_id == message.tool_call_id:
                return False
            continue
        if isinstance(known, AIMessage) and any(
            call["id"] == message.tool_call_id for call in known.tool_calls
        ):
            messages.insert(end, message)
            return True
        end = place
    messages.append(message)
    return True


class ChatState(TypedDict):
    messages: Annotated[
        list[AnyMessage],
        DeltaChannel(add_messages_in_order, snapshot_frequency=SNAPSHOT_EVERY),
    ]
