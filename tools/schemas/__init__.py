"""JSON Schemas that come from elsewhere, a client's tools or a remote server's, checked at a
bounded cost.

A schema is read once into small objects (`reading.py`), in time linear in its size. A check
(`checking.py`) then costs at most a constant times |schema| x |value|:

1. Equal JSON values become one `Node` (`values.py`), so comparing two of them, whatever their
   size, compares two references. Making the nodes costs the size of the value.
2. A check answers pairs of a subschema and a node. Each answer is kept, so a pair is worked out
   once, by however many `$ref` and combining keywords it is reached.
3. Working a pair out costs at most the keywords that stand in that subschema itself plus, for each
   of the few keywords that visit an array or an object, the items of that node itself. The pairs
   that it asks for are counted as steps of the pair that asks.
4. Summed over all pairs, that is c x |schema| x |value|. A pair never waits for itself: keywords
   that stay at one node form no circle (the door refuses one), all others go to a smaller node.

That bound is still large for two large inputs, so both reading and checking also have a number of
steps to spend. A step takes constant time; work on long strings and large numbers counts as more.
No recursion is used, so no nesting overflows the stack.

Two kinds of keyword are not checked but left to whoever brought the schema: `pattern`, since a
regular expression can take minutes, and `unevaluatedItems` and `unevaluatedProperties`.
`patternProperties`, `$dynamicRef` and a `$ref` to another document or to an anchor are refused.
Unknown keywords and `format` say nothing, as JSON Schema has it.
"""

from collections.abc import Mapping
from typing import Any

from turnstream.tools.schemas.budget import Budget, TooCostly
from turnstream.tools.schemas.checking import check
from turnstream.tools.schemas.keywords import SchemaFault
from turnstream.tools.schemas.reading import read
from turnstream.tools.schemas.values import NotJSON, Table

__all__ = (
    "CHECKING_STEPS",
    "READING_STEPS",
    "Budget",
    "SchemaFault",
    "ToolSchema",
    "accept",
    "fault",
    "misfit",
)

TOP_LEVEL_REFUSED = ("oneOf", "anyOf", "allOf", "not", "enum", "$ref")
"""Keywords that model providers refuse at the top of a tool's schema."""

MAX_DEPTH = 200
"""Levels of JSON in a tool's schema: what sends it to a model recurses."""

READING_STEPS = 30_000
CHECKING_STEPS = 40_000
"""Some 20 ms each at their worst, in which no other run gets on."""


class ToolSchema(dict[str, Any]):
    """A schema as it came, and what was read of it. It must not be changed."""

    def __init__(self, schema: Mapping[str, Any], budget: Budget | None = None) -> None:
        """Raises SchemaFault if it is no JSON Schema, or one that is not supported."""
        super().__init__(schema)
        try:
            self._root, self._constants = read(self, budget or Budget(READING_STEPS))
        except TooCostly:
            raise SchemaFault("it is too large to be checked") from None

    def misfit(self, value: Any, budget: Budget | None = None) -> str | None:
        """Return the place where a value does not fit, in a sentence; None if it fits."""
        budget = budget or Budget(CHECKING_STEPS)
        try:
            problem = check(self._root, Table(budget, self._constants).node(value), budget)
        except TooCostly:
            return (
                "The tool's schema is too costly to check against this value; send a smaller one."
            )
        except NotJSON as error:
            return f"The value is not JSON: it holds {error}."
        return problem.sentence() if problem else None


def accept(schema: Mapping[str, Any], budget: Budget | None = None) -> ToolSchema:
    """The schema of a tool's arguments. Raises SchemaFault if it cannot be used as such."""
    if schema.get("type") != "object" or any(keyword in schema for keyword in TOP_LEVEL_REFUSED):
        raise SchemaFault(
            'it must be the JSON Schema of an object ("type": "object") without '
            f"{', '.join(TOP_LEVEL_REFUSED)} at the top"
        )
    if _is_deep(schema):
        raise SchemaFault(f"it is nested deeper than {MAX_DEPTH} levels")
    return ToolSchema(schema, budget)


def _is_deep(schema: Mapping[str, Any]) -> bool:
    layer: list[Any] = [schema]
    for _ in range(MAX_DEPTH):
        layer = [
            part
            for outer in layer
            if isinstance(outer, dict | list)
            for part in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(layer)


def fault(schema: Mapping[str, Any]) -> str | None:
    """Return what keeps a schema from being a tool's `parameters`; None if nothing does."""
    try:
        accept(schema)
    except SchemaFault as error:
        return str(error)
    return None


def misfit(schema: Mapping[str, Any], value: Any) -> str | None:
    """Return the place where a value does not fit a schema, in a sentence; None if it fits. Nothing
    is fetched: a schema with a `$ref` to another address fits no value.

    Nothing is fetched: a schema with a `$ref` to another address fits no value.
    """
    try:
        read_once = schema if isinstance(schema, ToolSchema) else ToolSchema(schema)
    except SchemaFault as error:
        return f"The tool's schema cannot be used: {error}."
    return read_once.misfit(value)
