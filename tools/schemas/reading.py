"""A schema from JSON to objects that can check: once, and in time linear in its size."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from turnstream.tools.schemas.budget import Budget
from turnstream.tools.schemas.checking import Assertion, Schema
from turnstream.tools.schemas.keywords import APPLICATORS, ASSERTIONS, Place, SchemaFault
from turnstream.tools.schemas.sentences import pointer, shown
from turnstream.tools.schemas.shapes import SCHEMA, SHAPES, Shape
from turnstream.tools.schemas.values import Node, NotJSON, Table


def read(document: Mapping[str, Any], budget: Budget) -> tuple[Schema, Mapping[str, Node]]:
    """The schema, and the nodes of the values in it. Raises SchemaFault and TooCostly."""
    reader = Reader(document, budget)
    try:
        root = reader.schema(document, None)
        reader.read_all()
    except NotJSON as error:
        raise SchemaFault(f"it is not JSON: it holds {error}") from None
    reader.refuse_what_has_no_meaning()
    return root, reader.table.nodes


ANYTHING = Schema(None)
NOTHING = Schema(None, [Assertion("false", None, lambda _: False)])
"""The schemas `true` and `false`."""


@dataclass(slots=True)
class Reader:
    document: Mapping[str, Any]
    budget: Budget
    table: Table = field(init=False)
    _schemas: dict[int, Schema] = field(default_factory=dict)
    """By the identity of the JSON object that each was read from."""
    _unread: list[tuple[Schema, Mapping[str, Any]]] = field(default_factory=list)
    _reference: str = ""
    _inner_id: Any = None
    """Where there is a reference, and an `$id` below the top: both in one schema are refused."""

    def __post_init__(self) -> None:
        self.table = Table(self.budget)

    def schema(self, raw: Any, where: Any) -> Schema:
        """The schema that this JSON stands for; it may be read later."""
        self.budget.spend(2)
        _require(SCHEMA, raw, where)
        if isinstance(raw, bool):
            return ANYTHING if raw else NOTHING
        known = self._schemas.get(id(raw))
        if known is None:
            self.budget.spend(4)
            known = self._schemas[id(raw)] = Schema(where)
            self._unread.append((known, raw))
        return known

    def read_all(self) -> None:
        while self._unread:
            self._read(*self._unread.pop())

    def _read(self, schema: Schema, raw: Mapping[str, Any]) -> None:
        self.budget.spend(len(raw))
        for keyword, argument in raw.items():
            if keyword in SHAPES:
                if isinstance(argument, list | dict):
                    self.budget.spend(len(argument) // 4)
                _require(SHAPES[keyword], argument, (schema.where, keyword))
        place = Place(self.schema, self.resolve, self.table, schema, raw)
        for keyword, argument in raw.items():
            if keyword in ASSERTIONS:
                self.budget.spend(4)
                schema.assertions += ASSERTIONS[keyword](argument, self.table)
            elif keyword in APPLICATORS:
                self.budget.spend(4)
                schema.applicators += APPLICATORS[keyword](place)
        if "type" in raw:
            schema.assertions.sort(key=lambda assertion: assertion.keyword != "type")
        if "$id" in raw and schema.where is not None:
            self._inner_id = schema.where

    def resolve(self, reference: str, where: Any) -> Schema:
        """The schema that a `$ref` at this place means."""
        self._reference = reference
        if reference[:1] not in ("", "#") or reference[1:2] not in ("", "/"):
            raise SchemaFault(
                f"the $ref {shown(reference)} at {pointer(where)} is not supported: only those "
                "to a place in the schema itself are, such as '#/$defs/name'"
            )
        found: Any = self.document
        steps = unquote(reference[1:]).split("/")[1:]
        self.budget.spend(len(steps) + len(reference) // 64)
        for step in steps:
            found = _member(found, step.replace("~1", "/").replace("~0", "~"))
            if found is None:
                raise SchemaFault(
                    f"the $ref {shown(reference)} at {pointer(where)} cannot be resolved: nothing "
                    "is there"
                )
        return self.schema(found, (None, reference[2:]) if steps else None)

    def refuse_what_has_no_meaning(self) -> None:
        if self._inner_id and self._reference:
            raise SchemaFault(
                f"the $id at {pointer(self._inner_id)} changes what the $ref "
                f"{shown(self._reference)} refers to, which is not supported: leave it out"
            )
        circle = _circle(self._schemas.values())
        if circle:
            raise SchemaFault(f"{pointer(circle.where)} refers to itself in a circle")


def _require(shape: Shape, argument: Any, where: Any) -> None:
    holds, words = shape
    if not holds(argument):
        raise SchemaFault(f"{pointer(where)} is {shown(argument)}: it must be {words}")


def _member(container: Any, step: str) -> Any:
    if isinstance(container, dict):
        return container.get(step)
    if isinstance(container, list) and step.isdecimal() and len(step) < 10:
        return container[int(step)] if int(step) < len(container) else None
    return None


def _circle(schemas: Iterable[Schema]) -> Schema | None:
    """One that asks for its own answer before it can give it."""
    path: dict[Schema, Iterator[Schema]] = {}
    done: set[Schema] = set()
    for start in schemas:
        following: Schema | None = start
        while following or path:
            if following is None:
                done.add(path.popitem()[0])
            elif following in path:
                return following
            elif following not in done:
                path[following] = iter(following.at_same_node)
            following = next(path[next(reversed(path))], None) if path else None
    return None
