"""Keywords that need only the node: its kind, its value, how much it holds."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from math import isfinite
from typing import Any

from turnstream.tools.schemas.budget import Budget
from turnstream.tools.schemas.checking import Assertion, Problem, Steps
from turnstream.tools.schemas.values import (
    ARRAY,
    BOOLEAN,
    FRACTION,
    INTEGER,
    NULL,
    OBJECT,
    STRING,
    Node,
    Table,
)

KINDS: Mapping[str, tuple[str, ...]] = {
    **{kind: (kind,) for kind in (ARRAY, BOOLEAN, INTEGER, NULL, OBJECT, STRING)},
    "number": (INTEGER, FRACTION),
}
"""The kinds of node that a `type` of JSON Schema means."""

LIMITS: Mapping[str, tuple[tuple[str, ...], Callable[[Any], Any], Callable[[Any, Any], bool]]] = {
    "minimum": (KINDS["number"], operator.pos, operator.ge),
    "maximum": (KINDS["number"], operator.pos, operator.le),
    "exclusiveMinimum": (KINDS["number"], operator.pos, operator.gt),
    "exclusiveMaximum": (KINDS["number"], operator.pos, operator.lt),
    "minLength": ((STRING,), len, operator.ge),
    "maxLength": ((STRING,), len, operator.le),
    "minItems": ((ARRAY,), len, operator.ge),
    "maxItems": ((ARRAY,), len, operator.le),
    "minProperties": ((OBJECT,), len, operator.ge),
    "maxProperties": ((OBJECT,), len, operator.le),
}
"""Of which kinds of node, what is measured, and how it compares with the limit."""


def types(argument: str | Sequence[str]) -> Assertion:
    names = [argument] if isinstance(argument, str) else argument
    kinds = frozenset(kind for name in names for kind in KINDS[name])
    return Assertion("type", argument, lambda node: node.kind in kinds)


def limit(keyword: str, argument: float) -> Assertion:
    kinds, measure, holds = LIMITS[keyword]
    return Assertion(
        keyword,
        argument,
        lambda node: node.kind not in kinds or holds(measure(node.value), argument),
    )


def one_of_values(argument: Sequence[Any], table: Table) -> Assertion:
    allowed = frozenset(map(table.node, argument))
    return Assertion("enum", argument, lambda node: node in allowed)


def constant(argument: Any, table: Table) -> Assertion:
    only = table.node(argument)
    return Assertion("const", argument, lambda node: node is only)


UNIQUE = Assertion("uniqueItems", True, lambda node: node.kind != ARRAY or node.is_distinct)


def required(argument: Sequence[str], table: Table) -> Iterator[Assertion]:
    for text in argument:
        name = table.string(text)
        yield Assertion("required", text, partial(_has, name))


def dependent_required(argument: Mapping[str, Sequence[str]], table: Table) -> Iterator[Assertion]:
    for text, needed in argument.items():
        name = table.string(text)
        for other in needed:
            fits = partial(_has_with, name, table.string(other))
            yield Assertion("dependentRequired", (text, other), fits)


def _has(name: Node, node: Node) -> bool:
    return node.kind != OBJECT or name in node.value


def _has_with(name: Node, other: Node, node: Node) -> bool:
    return node.kind != OBJECT or name not in node.value or other in node.value


BITS_A_UNIT, FREE_UNITS = 256, 8


def multiple_of(argument: float, node: Node, budget: Budget) -> Steps:
    """Of numbers as they are written: 0.3 is a multiple of 0.1.

    No assertion, since the time of a division grows with both numbers.
    """
    yield from ()
    if node.kind not in KINDS["number"]:
        return None
    if not isfinite_number(node.value):
        return Problem("multipleOf", argument, node)
    above, below = _ratio(node.value)
    step_above, step_below = _ratio(argument)
    sizes = [1 + number.bit_length() // BITS_A_UNIT for number in (above, below)]
    step_sizes = [1 + number.bit_length() // BITS_A_UNIT for number in (step_above, step_below)]
    budget.spend(FREE_UNITS + sum(sizes) * sum(step_sizes))
    if above * step_below % (below * step_above):
        return Problem("multipleOf", argument, node)
    return None


def isfinite_number(value: float) -> bool:
    return isinstance(value, int) or isfinite(value)


def _ratio(value: float) -> tuple[int, int]:
    return (value, 1) if isinstance(value, int) else Decimal(repr(value)).as_integer_ratio()
