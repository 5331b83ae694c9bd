"""The graph's own state in the state that assistant-ui renders, as a run tells it."""

from turnstream.server.protocols.assistant_transport.state_operations import (
    REFUSED,
    Operation,
    set_at,
)
from turnstream.server.turns.graph_state import GraphState, Values, merged


class StateOfGraph:
    def __init__(self, before: Values | None) -> None:
        """`before` are its values as the run begins."""
        self._values: Values = before or {}

    def take(self, chunk: GraphState) -> list[Operation]:
        self._values = merged(self._values, chunk)
        if chunk.is_whole or not REFUSED.isdisjoint(chunk.values):
            return [set_at(["state"], self._values)]
        return [set_at(["state", name], value) for name, value in chunk.values.items()]
