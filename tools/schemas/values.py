"""JSON values as nodes: equal values of a table are one node, and compared as references.

JSON Schema's equality: 1 is 1.0, true is not 1, the order of an object's keys says nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnstream.tools.schemas.budget import Budget

OBJECT, ARRAY, STRING, BOOLEAN, NULL = "object", "array", "string", "boolean", "null"
INTEGER, FRACTION = "integer", "fraction"
"""The two kinds of number."""

CHARS_A_STEP = 256


class NotJSON(Exception):
    """A value that no JSON text stands for; the message names it."""


@dataclass(slots=True, eq=False)
class Node:
    number: int
    """Its place in the table."""
    kind: str
    value: Any
    """An array's is a tuple of nodes, an object's a dict of nodes by the nodes of their names."""
    is_distinct: bool = True
    """Whether an array has no two equal items."""


class Table:
    """Makes nodes. Those of `base` are reused, so values of two tables can be compared.

    A node is found under a text that says its value, its parts by number. Python hashes texts with
    a secret of the process, so nobody can craft values that all collide.
    """

    def __init__(self, budget: Budget, base: Mapping[str, Node] | None = None) -> None:
        self.nodes: dict[str, Node] = {}
        self._base = base or {}
        self._budget = budget

    def node(self, value: Any) -> Node:
        """Raises NotJSON, and TooCostly. Values are nested as deep as they like."""
        done: list[Node] = []
        todo = [(value, False)]
        while todo:
            item, parts_done = todo.pop()
            if not isinstance(item, dict | list | tuple):
                done.append(self._scalar(item))
            elif parts_done:
                first = len(done) - len(item)
                parts = done[first:]
                del done[first:]
                done.append(self._compound(item, parts))
            else:
                self._budget.spend(5 + 2 * len(item))
                todo.append((item, True))
                inner = item.values() if isinstance(item, dict) else item
                todo += [(part, False) for part in reversed(inner)]
        return done[0]

    def string(self, text: Any) -> Node:
        if not isinstance(text, str):
            raise NotJSON(f"a {type(text).__name__} as the name of a property")
        self._budget.spend(3 + len(text) // CHARS_A_STEP)
        return self._node(f"s{text}", STRING, text)

    def _scalar(self, value: Any) -> Node:
        if isinstance(value, str):
            return self.string(value)
        self._budget.spend(3)
        if value is None:
            return self._node("null", NULL, None)
        if isinstance(value, bool):
            return self._node("true" if value else "false", BOOLEAN, value)
        if isinstance(value, int):
            self._budget.spend(value.bit_length() // CHARS_A_STEP)
            return self._node(f"i{value:x}", INTEGER, value)
        if not isinstance(value, float):
            raise NotJSON(f"a {type(value).__name__}")
        if value.is_integer():
            return self._node(f"i{int(value):x}", INTEGER, value)
        return self._node(f"f{value!r}", FRACTION, value)

    def _compound(self, item: Any, parts: list[Node]) -> Node:
        if isinstance(item, dict):
            members = dict(zip(map(self.string, item), parts, strict=True))
            pairs = sorted([f"{name.number}:{part.number}" for name, part in members.items()])
            return self._node("{" + ",".join(pairs), OBJECT, members)
        array = self._node(
            "[" + ",".join([str(part.number) for part in parts]), ARRAY, tuple(parts)
        )
        array.is_distinct = len(set(parts)) == len(parts)
        return array

    def _node(self, key: str, kind: str, value: Any) -> Node:
        known = self._base.get(key) or self.nodes.get(key)
        if known is None:
            known = Node(len(self._base) + len(self.nodes), kind, value)
            self.nodes[key] = known
        return known
