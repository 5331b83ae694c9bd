"""The operations of `update-state`: what takes a client's state to another."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnstream.server.protocols.json_text import dumps

Operation = dict[str, Any]

REFUSED = frozenset({"__proto__", "constructor", "prototype"})
"""Names that the client takes in no path."""


def update(operations: list[Operation]) -> str:
    return dumps({"type": "update-state", "operations": operations, "path": []})


def set_at(path: Sequence[str | int], value: Any) -> Operation:
    return {"type": "set", "path": [str(segment) for segment in path], "value": value}


def append_to(path: Sequence[str | int]) -> str:
    """The payload of an `append-text` up to its value."""
    target = dumps([str(segment) for segment in path])
    return f'{{"type":"update-state","operations":[{{"type":"append-text","path":{target},"value":'


def catch_up(posted: Mapping[str, Any], state: Operation) -> list[Operation]:
    """What takes the client's state to the server's: the whole, unless it is of the same thread,
    then the messages from the first that differs, the approvals, and the graph's own state if
    clients see any. What else the app keeps in it stays."""
    theirs = posted.get("messages")
    if posted.get("thread_id") != state["thread_id"] or type(theirs) is not list:
        return [set_at([], state)]
    ours, asked = state["messages"], state.get("approvals", {})
    same = posted.get("approvals", {}) == asked
    others = [] if same else [set_at(["approvals"], asked)]
    if "state" in state and posted.get("state") != state["state"]:
        others.append(set_at(["state"], state["state"]))
    if len(theirs) > len(ours):
        return [set_at(["messages"], ours), *others]
    return [*from_first_difference(theirs, ours), *others]


def from_first_difference(theirs: Sequence[Any], ours: Sequence[Any]) -> list[Operation]:
    pairs = zip(theirs, ours, strict=False)
    same = next((i for i, (their, our) in enumerate(pairs) if their != our), len(theirs))
    return [set_at(["messages", index], ours[index]) for index in range(same, len(ours))]
