"""The graph's own state as a run tells it: the whole first, then what has changed.

A node may emit values ahead of its end, by a custom event of LangChain's:

    await adispatch_custom_event("manually_emit_state", {key: value})

AG-UI's adapter for LangGraph reads this name, and CopilotKit's `copilotkit_emit_state` dispatches
the other one. What the thread then has instead of them is told again.
"""

from collections.abc import Mapping
from typing import Any

from turnstream.graphs.client_state import ClientState
from turnstream.server.turns.graph_state import GraphState, Values
from turnstream.tools import strict_json

_EMITTED = ("manually_emit_state", "copilotkit_manually_emit_intermediate_state")


class ToldState:
    """`before` are the values as the run begins; of a graph whose state clients do not see nothing
    is ever told."""

    def __init__(self, view: ClientState, before: Values | None) -> None:
        self._view = view
        self._newest = _texts(before or {})
        self._told: dict[str, str] | None = None

    def note(self, item: Mapping[str, Any]) -> None:
        """Take an item of LangGraph's stream of values. Those of a subgraph are its own; one that
        names interrupts has the state ahead of what the step's other tasks do."""
        if self._view.names and not (item.get("ns") or item.get("interrupts")):
            self._newest = self._view.texts(item["data"])

    def emitted(self, item: Mapping[str, Any]) -> list[GraphState] | None:
        """Take an item of LangGraph's custom stream: return what is new of the values that a node
        of the root graph emits. None: it is something else."""
        match item:
            case {"type": "custom", "data": {"name": name, "data": dict(values)}} if (
                name in _EMITTED and self._view.names and not item.get("ns")
            ):
                told = self._told
                if told is None:
                    return []
                texts = self._view.texts(values)
                changed = {key: text for key, text in texts.items() if told.get(key) != text}
                self._told = {**told, **changed}
                return [GraphState(_values(changed))] if changed else []
        return None

    def tell(self, values: Values | None = None) -> list[GraphState]:
        """Return what is new since it was told last; `values` are those that the thread has by
        now."""
        if values is not None:
            self._newest = _texts(values)
        told, newest = self._told, self._newest
        if told is newest or not self._view.names:
            return []
        self._told = newest
        if told is None or told.keys() - newest.keys():
            return [GraphState(_values(newest), is_whole=True)]
        changed = {name: text for name, text in newest.items() if told.get(name) != text}
        return [GraphState(_values(changed))] if changed else []


def _texts(values: Values) -> dict[str, str]:
    return {name: strict_json.write(value) for name, value in values.items()}


def _values(texts: Mapping[str, str]) -> Values:
    return {name: strict_json.read(text) for name, text in texts.items()}
