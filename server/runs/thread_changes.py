"""The changes of a graph to the messages of a thread, as the run that works on it sees them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.types import Overwrite

from turnstream.graphs.calls import call_ids
from turnstream.graphs.history import pending_calls
from turnstream.server.runs.shortening import (
    NO_FRONTS,
    Fronts,
    Removed,
    by_next_id,
    extends,
    fronts_of,
    shortened,
    with_fronts,
)


class ThreadBefore:
    """The thread as a run begins, and what its run asks of all of it. `messages` have those of
    `fronts`, which only people see."""

    def __init__(self, messages: Sequence[AnyMessage], fronts: Fronts = NO_FRONTS) -> None:
        self.messages = messages
        self.fronts = fronts
        self.call_ids = call_ids(messages)
        self.pending = {call["id"]: call["name"] for call in pending_calls(messages)}
        """The names of the tools of the calls that have no answer, by call id."""
        self.ids = {message.id for message in messages}

    @property
    def own(self) -> Sequence[AnyMessage]:
        """The messages that the graph has."""
        gone = {message.id for front in self.fronts.values() for message in front}
        return [one for one in self.messages if one.id not in gone] if gone else self.messages


class ThreadNow:
    """A thread while a run works on it. `keeps_removed`: messages by which the graph shortens it
    are still shown."""

    def __init__(self, before: ThreadBefore, *, keeps_removed: bool = True) -> None:
        self._before = before
        self._removed: set[str] = set()
        self._keeps_removed = keeps_removed
        self._fronts = before.fronts
        self._own = before.own
        """The messages that the graph had when this was asked last."""
        self.shortened: list[Removed] = []
        """All by which the run has shortened the thread, in order."""

    @property
    def removed(self) -> frozenset[str]:
        return frozenset(self._removed)

    def note_removed(self, ids: Iterable[str]) -> None:
        """These are gone, and it was told."""
        self._removed.update(ids)

    def shown(self, messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
        """The thread as people see it, whose graph has these messages by now."""
        if not self._keeps_removed:
            return messages
        if not extends(messages, self._own):
            gone = shortened(self._own, messages, self._fronts)
            self.shortened += gone
            removed = by_next_id(self._fronts) | {one.next_id: one.message for one in gone}
            self._fronts = fronts_of(messages, removed)
        self._own = messages
        return with_fronts(messages, self._fronts)

    def compared(
        self, messages: Sequence[AnyMessage]
    ) -> tuple[tuple[str, ...], Sequence[AnyMessage]]:
        """The thread by now: the ids of user's and model's messages that are gone since this was
        asked last, and the messages that are new since the run began, in order."""
        before = self._before.messages
        if not self._removed and extends(messages, before):
            return (), messages[len(before) :]
        left = {message.id for message in messages}
        gone = tuple(
            message.id or ""
            for message in before
            if isinstance(message, HumanMessage | AIMessage)
            and message.id not in left
            and message.id not in self._removed
        )
        self._removed.update(gone)
        return gone, [message for message in messages if message.id not in self._before.ids]


def writes_in(written: Any) -> Sequence[Any]:
    """Return the values that a task writes to a channel, an `Overwrite` by its value. LangGraph
    gives several as `{"$writes": [...]}`."""
    match written:
        case {"$writes": list(writes)}:
            return [value for write in writes for value in writes_in(write)]
        case Overwrite(value=value):
            return [value]
    return [written]


def messages_in(written: Any) -> Iterator[Any]:
    """Yield the messages that a task writes: one or a list, once or several times."""
    for one in writes_in(written):
        if isinstance(one, list | tuple):
            yield from (message for some in one for message in messages_in(some))
        else:
            yield one


def ids_in(written: Any) -> set[str]:
    """The ids of the messages that a task writes."""
    ids = (
        message.get("id") if isinstance(message, dict) else getattr(message, "id", None)
        for message in messages_in(written)
    )
    return {id for id in ids if isinstance(id, str)}


def added_messages(updates: Mapping[str, Any]) -> list[AnyMessage]:
    """The messages that nodes added, in order. A node that has written several times has a list."""
    messages: list[AnyMessage] = []
    for update in updates.values():
        for one in update if isinstance(update, list) else [update]:
            added = one.get("messages", []) if isinstance(one, dict) else []
            messages += added if isinstance(added, list) else [added]
    return messages
