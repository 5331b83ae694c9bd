"""AI SDK: data chunks that are no part of a message, for the app's `onData`.

A client that loads the thread finds what is open, and the graph's state, beside the messages, or on
their parts; custom events are not kept.
"""

from collections.abc import Mapping
from typing import Any

from turnstream.server.protocols.metadata import custom_json, interrupt_json, tool_approval_json
from turnstream.server.turns.chunks import (
    Custom,
    GraphState,
    Interrupt,
    InterruptsDiscarded,
    MessagesRemoved,
    ToolApproval,
)
from turnstream.server.turns.graph_state import Values, merged

Payload = dict[str, Any]


def custom(chunk: Custom) -> list[Payload]:
    return _transient("custom", custom_json(chunk))


def messages_removed(chunk: MessagesRemoved) -> list[Payload]:
    return _transient("messages-removed", {"ids": chunk.ids})


def interrupt(chunk: Interrupt) -> list[Payload]:
    return _transient("interrupt", interrupt_json(chunk))


def interrupts_discarded(chunk: InterruptsDiscarded) -> list[Payload]:
    return _transient("interrupts-discarded", {"ids": chunk.ids})


def tool_approval(chunk: ToolApproval) -> list[Payload]:
    return _transient("tool-approval", tool_approval_json(chunk))


class ToldGraphState:
    """The graph's state, the whole each time: the app replaces what it has."""

    def __init__(self) -> None:
        self._values: Values = {}

    def take(self, chunk: GraphState) -> list[Payload]:
        self._values = merged(self._values, chunk)
        return _transient("state", self._values)


def _transient(name: str, data: Mapping[str, Any]) -> list[Payload]:
    return [{"type": f"data-{name}", "data": data, "transient": True}]
