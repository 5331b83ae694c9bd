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
    folded = _Folded(history)
    for write in writes:
        for message in write if isinstance(write, list) else [write]:
            folded.fold(message)
    return folded.messages


class _Folded:
    """A history while messages are folded into it. A message is found by its id, and None stands in
    the place of one that is removed, so that many changes cost no more than their number."""

    def __init__(self, history: Sequence[AnyMessage]) -> None:
        self._list: list[AnyMessage | None] = [*history]
        self._ids = {message.id for message in history}
        self._places: dict[str | None, int] | None = None
        """By id; None: to be made."""

    @property
    def messages(self) -> list[AnyMessage]:
        return [message for message in self._list if message is not None]

    def fold(self, message: AnyMessage) -> None:
        is_known = message.id is not None and message.id in self._ids
        if isinstance(message, RemoveMessage):
            if is_known:
                self._list[self._place(message.id)] = None
                self._ids.discard(message.id)
        elif is_known:
            self._list[self._place(message.id)] = message
        elif self._add(message):
            self._ids.add(message.id)

    def _place(self, id: str | None) -> int:
        if self._places is None:
            self._places = {one.id: place for place, one in enumerate(self._list) if one}
        return self._places[id]

    def _add(self, message: AnyMessage) -> bool:
        """Put an answer behind its call and the answers already there, anything else, an orphan
        too, at the end. False: the call has its answer."""
        if not isinstance(message, ToolMessage):
            return self._insert(len(self._list), message)
        end = len(self._list)
        for place in range(len(self._list) - 1, -1, -1):
            known = self._list[place]
            if isinstance(known, ToolMessage):
                if known.tool_call_id == message.tool_call_id:
                    return False
            elif isinstance(known, AIMessage) and any(
                call["id"] == message.tool_call_id for call in known.tool_calls
            ):
                return self._insert(end, message)
            elif known is not None:
                end = place
        return self._insert(len(self._list), message)

    def _insert(self, place: int, message: AnyMessage) -> bool:
        if place < len(self._list):
            self._places = None
        elif self._places is not None:
            self._places[message.id] = place
        self._list.insert(place, message)
        return True


class ChatState(TypedDict):
    messages: Annotated[
        list[AnyMessage],
        DeltaChannel(add_messages_in_order, snapshot_frequency=SNAPSHOT_EVERY),
    ]
