"""The changes of a graph to the messages of a thread, as the run that works on it sees them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.types import Overwrite

from turnstream.graphs.calls import call_ids
from turnstream.graphs.history import pending_calls
from turnstream.server.runs.shortening import NO_FRONT, Front, Removed, extends, shortened


class ThreadBefore:
    """The thread as a run begins, and what its run asks of all of it. `messages` begin with those
    of `front`, which only people see."""

    def __init__(self, messages: Sequence[AnyMessage], front: Front = NO_FRONT) -> None:
        self.messages = messages
        self.front = front
        self.call_ids = call_ids(messages)
        self.pending = {call["id"]: call["name"] for call in pending_calls(messages)}
        """The names of the tools of the calls that have no answer, by call id."""
        self.ids = {message.id for message in messages}


class ThreadNow:
    """A thread while a run works on it. `keeps_front`: what the graph removes from its front is
    still shown."""

    def __init__(self, before: ThreadBefore, *, keeps_front: bool = True) -> None:
        self._before = before
        self._removed: set[str] = set()
        self._keeps_front = keeps_front
        self._front = before.front
        self._own = before.messages[len(before.front.messages) :]
        """The messages that the graph had when this was asked last."""
        self.shortened: list[Removed] = []
        """All that the run has removed from the front, in order."""

    @property
    def removed(self) -> frozenset[str]:
        return frozenset(self._removed)

    def note_removed(self, ids: Iterable[str]) -> None:
        """These are gone, and it was told."""
        self._removed.update(ids)

    def shown(self, messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
        """The thread as people see it, whose graph has these messages by now."""
        if not self._keeps_front:
            return messages
        if not extends(messages, self._own):
            gone = shortened(self._own, messages, self._front)
            self.shortened += gone
            there = {message.id for message in messages}
            front = [*self._front.messages, *(one.message for one in gone)]
            left = [message for message in front if message.id not in there]
            next_id = gone[-1].next_id if gone else self._front.next_id
            # Of a graph that has taken all of its messages back nothing is shown any more.
            self._front = Front(left, next_id) if next_id in there else NO_FRONT
        self._own = messages
        return [*self._front.messages, *messages] if self._front.messages else messages

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


def ids_in(written: Any) -> set[str]:
    """The ids of the messages that a task writes: one, a list, an `Overwrite`, or several writes,
    which LangGraph gives as `{"$writes": [...]}`."""
    match written:
        case Overwrite(value=value):
            return ids_in(value)
        case {"$writes": list(writes)}:
            return {id for write in writes for id in ids_in(write)}
        case list() | tuple():
            return {id for message in written for id in ids_in(message)}
        case {"id": str(id)}:
            return {id}
    id_of_message = getattr(written, "id", None)
    return {id_of_message} if isinstance(id_of_message, str) else set()


def added_messages(updates: Mapping[str, Any]) -> list[AnyMessage]:
    """The messages that nodes added, in order. A node that has written several times has a list."""
    messages: list[AnyMessage] = []
    for update in updates.values():
        for one in update if isinstance(update, list) else [update]:
            added = one.get("messages", []) if isinstance(one, dict) else []
            messages += added if isinstance(added, list) else [added]
    return messages
