"""The messages that a graph has removed from the front of its thread, so that its model gets less:
people still see them.

LangChain's `SummarizationMiddleware` does that, and `RemoveMessage` as most graphs use it. A graph
that removes a message and leaves an older one takes that message back. So does one that leaves
nothing, and puts no summary in the place of it. Such messages are not kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import is_

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from turnstream.graphs.history import from_user


@dataclass(frozen=True, slots=True)
class Front:
    """The messages that a graph has removed from the front of a thread, in order."""

    messages: Sequence[AnyMessage] = ()
    next_id: str | None = None
    """The id of the message of the thread that stood behind them."""


NO_FRONT = Front()


@dataclass(frozen=True, slots=True)
class Removed:
    """A message that the graph has removed, and the id of the one that stood behind it."""

    message: AnyMessage
    next_id: str


def extends(messages: Sequence[AnyMessage], before: Sequence[AnyMessage]) -> bool:
    """Check that a thread has all messages that it had before, and where it had them."""
    if len(messages) < len(before):
        return False
    if all(map(is_, messages, before)):
        return True
    return all(one.id == known.id for one, known in zip(messages, before, strict=False))


def shortened(
    before: Sequence[AnyMessage], after: Sequence[AnyMessage], front: Front = NO_FRONT
) -> Sequence[Removed]:
    """Return the messages that are gone from the front of a thread, in order; of the graph's own
    summaries only the one that stands behind `front`, those that were gone before."""
    users = {id(message) for message in from_user(before)}
    left = {message.id for message in after}
    shown = [
        message
        for message in before
        if isinstance(message, AIMessage | ToolMessage)
        or id(message) in users
        or message.id == front.next_id
    ]
    end = next((place for place, one in enumerate(shown) if one.id in left), len(shown))
    gone = [message for message in shown[:end] if message.id]
    rest = shown[end : end + 1] or after[:1]
    if not rest or (isinstance(rest[0], AIMessage | ToolMessage) and end == len(shown)):
        return ()
    behind = [*gone[1:], rest[0]]
    return [Removed(one, next.id or "") for one, next in zip(gone, behind, strict=False)]


def in_front(messages: Sequence[AnyMessage], removed: Mapping[str, AnyMessage]) -> Front:
    """Return what the graph has removed from the front of these messages. `removed` is all that it
    has removed from any branch of the thread, by the ids of the messages behind."""
    if not removed:
        return NO_FRONT
    known = {message.id for message in messages}
    for message in messages:
        chain, next_id = list[AnyMessage](), message.id
        while next_id and (one := removed.get(next_id)) and one.id not in known:
            chain.append(one)
            known.add(one.id)
            next_id = one.id
        if chain:
            return Front(chain[::-1], message.id)
    return NO_FRONT
