"""The messages that a graph has removed from its thread, so that its model gets less: people still
see them.

LangChain's `SummarizationMiddleware` removes the first ones; other graphs keep the first message
and the last ones. A graph that removes other messages, as the latest answer is, takes them
back. So does one that leaves nothing, and puts no summary in the place of it. What is taken back is
not kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, eq

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from turnstream.graphs.history import from_user

Fronts = Mapping[str, Sequence[AnyMessage]]
"""The messages that a graph has removed, in order, by the id of the thread's message that stands
behind them."""
NO_FRONTS: Fronts = {}
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
    before: Sequence[AnyMessage], after: Sequence[AnyMessage], fronts: Fronts
) -> Sequence[Removed]:
    """Return the messages by which a graph has shortened its thread, in order: `before` and `after`
    are its own, `fronts` those that it had removed before."""
    users = {id(message) for message in from_user(before)}
    gone_before = {message.id for front in fronts.values() for message in front}
    left = {message.id for message in after}
    # A summary of the graph's is left out, unless removed messages stand in front of it.
    told = [
        message
        for message in with_fronts(before, fronts)
        if isinstance(message, AIMessage | ToolMessage)
        or id(message) in users
        or message.id in fronts
        or message.id in gone_before
    ]
    first = next((n for n, one in enumerate(told) if one.id not in gone_before), len(told))
    keeps_first = first < len(told) and told[first].id in left
    start = first + 1 if keeps_first else 0
    end = next((n for n, one in enumerate(told) if n >= start and one.id in left), len(told))
    gone = told[start:end]
    if keeps_first and not (
        any(id(one) in users or one.id in gone_before for one in gone)
        or any(isinstance(one, AIMessage) for one in told[end:])
    ):
        return ()  # the latest answer
    behind = told[end] if end < len(told) else _summary(before, after)
    if behind is None:
        return ()
    gone = [message for message in gone if message.id]
    next_ids = [one.id or "" for one in [*gone[1:], behind]]
    removed = (Removed(one, next_id) for one, next_id in zip(gone, next_ids, strict=False))
    return [one for one in removed if one.message.id not in gone_before]


def _summary(before: Sequence[AnyMessage], after: Sequence[AnyMessage]) -> AnyMessage | None:
    """Return the message that stands in the place of all that people have seen, if one does: a
    graph that writes messages of the model too has made another thread."""
    known = {message.id for message in before}
    new = [message for message in after if message.id not in known]
    is_summary = new and not any(isinstance(one, AIMessage | ToolMessage) for one in new)
    return new[0] if is_summary else None


def fronts_of(messages: Sequence[AnyMessage], removed: Mapping[str, AnyMessage]) -> Fronts:
    """Return what the graph has removed from a thread that has these messages by now. `removed` is
    all that it has removed from any branch, by the ids of the messages behind."""
    if not removed:
        return NO_FRONTS
    known = {message.id for message in messages}
    fronts: dict[str, Sequence[AnyMessage]] = {}
    for message in messages:
        front, next_id = list[AnyMessage](), message.id or ""
        while (one := removed.get(next_id)) and one.id not in known:
            front.append(one)
            known.add(one.id)
            next_id = one.id or ""
        if front:
            fronts[message.id or ""] = front[::-1]
    return fronts


def by_next_id(fronts: Fronts) -> dict[str, AnyMessage]:
    """Return the removed messages, each by the id of the one that stands behind it."""
    return {
        behind: one
        for id, front in fronts.items()
        for one, behind in zip(front, [*(after.id or "" for after in front[1:]), id], strict=True)
    }


def with_fronts(messages: Sequence[AnyMessage], fronts: Fronts) -> Sequence[AnyMessage]:
    """Return a thread as people see it."""
    if not fronts:
        return messages
    return [one for message in messages for one in (*fronts.get(message.id or "", ()), message)]


def shown_ids(messages: Sequence[AnyMessage]) -> tuple[str, ...]:
    """Return the ids of user messages and steps among these messages."""
    users = {id(message) for message in from_user(messages)}
    return tuple(
        message.id or ""
        for message in messages
        if isinstance(message, AIMessage) or id(message) in users
    )
