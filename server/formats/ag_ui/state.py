"""AG-UI: the graph's own state that clients see, as a snapshot and as JSON Patches (RFC 6902)."""

from collections.abc import Iterator
from typing import Any

from turnstream.server.formats.json_text import dumps
from turnstream.server.turns.graph_state import GraphState, Values, merged

Payload = dict[str, Any]


def state_snapshot(values: Values) -> Payload:
    return {"type": "STATE_SNAPSHOT", "snapshot": values}


class AgUiState:
    """The state as one run tells it."""

    def __init__(self) -> None:
        self._values: Values = {}

    def take(self, chunk: GraphState) -> list[Payload]:
        before, self._values = self._values, merged(self._values, chunk)
        if chunk.is_whole:
            return [state_snapshot(self._values)]
        delta: list[Payload] = []
        for name, value in chunk.values.items():
            path = f"/{_token(name)}"
            change: list[Payload] = [{"op": "add", "path": path, "value": value}]
            if name in before:
                change = min(change, [*patch(before[name], value, path)], key=_size)
            delta += change
        return [{"type": "STATE_DELTA", "delta": delta}] if delta else []


def _size(operations: list[Payload]) -> int:
    return len(dumps(operations))


def patch(before: Any, after: Any, path: str) -> Iterator[Payload]:
    """Turn one JSON value into another at a path. Items of a list are compared place by place, also
    behind a change."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _of_object(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_list(before, after, path)
    elif type(before) is not type(after) or before != after:
        yield {"op": "replace", "path": path, "value": after}


def _of_object(before: dict[str, Any], after: dict[str, Any], path: str) -> Iterator[Payload]:
    for name in before.keys() - after.keys():
        yield {"op": "remove", "path": f"{path}/{_token(name)}"}
    for name, value in after.items():
        place = f"{path}/{_token(name)}"
        if name in before:
            yield from patch(before[name], value, place)
        else:
            yield {"op": "add", "path": place, "value": value}


def _of_list(before: list[Any], after: list[Any], path: str) -> Iterator[Payload]:
    for place, (old, new) in enumerate(zip(before, after, strict=False)):
        yield from patch(old, new, f"{path}/{place}")
    for place in range(len(before) - 1, len(after) - 1, -1):
        yield {"op": "remove", "path": f"{path}/{place}"}
    for value in after[len(before) :]:
        yield {"op": "add", "path": f"{path}/-", "value": value}


def _token(name: str) -> str:
    """A part of a JSON Pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")
