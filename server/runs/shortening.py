"""The messages that a graph has removed from the front of its thread, so that its model gets less:
people still see them.

LangChain's `SummarizationMiddleware` does that, and `RemoveMessage` as most graphs use it. A graph
that removes a message and leaves an older one takes that message back. So does one that leaves
nothing, and puts no summary in the place of it. Such messages are not kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, eq

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from turnstream.graphs.history import from_user


@dataclass(frozen=True, slots=True)
class Front:
    """The messages that a graph has removed from the front of a thread, in order."""

    messages: Sequence[AnyMessage] = ()
    next_id: str | None = None
    """The id of the message of the thread that stood behind them."""


NO_FRONT = Front()
_ID = attrgetter("id")


@dataclass(frozen=True, slots=True)
class Removed:
    """A message that the graph has removed, and the id of the one that stood behind it."""

    message: AnyMessage
    next_id: str


def extends(messages: Sequence[AnyMessage], before: Sequence[AnyMessage]) -> bool:
    """Check that a thread has all messages that it had before, and where it had them: without a
    line of Python for each, since a run asks it after each step."""
    ids = map(_ID, messages), map(_ID, before)
    return len(messages) >= len(before) and all(map(eq, *ids))


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
    rest = shown[end] if end < len(shown) else _summary(before, after)
    if rest is None:
        return ()
    behind = [*gone[1:], rest]
    return [Removed(one, next.id or "") for one, next in zip(gone, behind, strict=False)]


def _summary(before: Sequence[AnyMessage], after: Sequence[AnyMessage]) -> AnyMessage | None:
    """Return the message that stands in the place of all that people have seen, if one does: a
    graph that writes messages of the model too has made another thread."""
    known = {message.id for message in before}
    new = [message for message in after if message.id not in known]
    is_summary = new and not any(isinstance(one, AIMessage | ToolMessage) for one in new)
    return new[0] if is_summary else None


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


def shown_ids(messages: Sequence[AnyMessage]) -> tuple[str, ...]:
    """Return the ids of user messages and steps among these messages."""
    users = {id(message) for message in from_user(messages)}
    return tuple(
        message.id or ""
        for message in messages
        if isinstance(message, AIMessage) or id(message) in users
    )
