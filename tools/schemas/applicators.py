"""Keywords that apply other schemas: to the same node, or to the parts of an array or object.

Each is a generator as `checking.Steps` says, made ready with `functools.partial`.
"""

from collections.abc import Container, Sequence
from itertools import islice

from turnstream.tools.schemas.budget import Budget
from turnstream.tools.schemas.checking import MAYBE, Problem, Schema, Steps
from turnstream.tools.schemas.values import ARRAY, OBJECT, Node

Named = Sequence[tuple[Node, Schema]]


def all_of(schemas: Sequence[Schema], node: Node, budget: Budget) -> Steps:
    budget.spend(len(schemas))
    for schema in schemas:
        problem = yield schema, node
        if problem:
            return problem
    return None


def any_of(schemas: Sequence[Schema], node: Node, budget: Budget) -> Steps:
    """Of those that do not fit, the one that fitted furthest down says why."""
    budget.spend(len(schemas))
    nearest = Problem("anyOf", len(schemas), node)
    for schema in schemas:
        problem = yield schema, node
        if not problem:
            return None
        nearest = _nearer(nearest, problem, len(schemas))
    return nearest


def one_of(schemas: Sequence[Schema], node: Node, budget: Budget) -> Steps:
    budget.spend(len(schemas))
    fitting = doubtful = 0
    nearest = Problem("oneOf", 0, node)
    for schema in schemas:
        problem = yield schema, node
        if problem:
            nearest = _nearer(nearest, problem, len(schemas))
        fitting += problem is None
        doubtful += problem is MAYBE
        if fitting > 1:
            return Problem("oneOf", fitting, node)
    return None if fitting or doubtful else nearest


def _nearer(nearest: Problem, problem: Problem, alternatives: int) -> Problem:
    return problem if problem.depth > nearest.depth or alternatives == 1 else nearest


def none_of(schemas: Sequence[Schema], node: Node, budget: Budget) -> Steps:
    budget.spend(len(schemas))
    for schema in schemas:
        problem = yield schema, node
        if problem is None:
            return Problem("not", None, node)
    return None


def if_then_else(schemas: Sequence[Schema], node: Node, budget: Budget) -> Steps:
    budget.spend(len(schemas))
    condition, then, otherwise = schemas
    unmet = yield condition, node
    if unmet is not MAYBE:
        return (yield (otherwise if unmet else then), node) or None
    problem = yield then, node
    return (yield otherwise, node) or None if problem else None


def dependent_schemas(schemas: Named, node: Node, budget: Budget) -> Steps:
    if node.kind != OBJECT:
        return None
    budget.spend(len(schemas))
    for name, schema in schemas:
        problem = (yield schema, node) if name in node.value else None
        if problem:
            return problem
    return None


def properties(schemas: Named, node: Node, budget: Budget) -> Steps:
    if node.kind != OBJECT:
        return None
    budget.spend(len(schemas))
    for name, schema in schemas:
        part = node.value.get(name)
        problem = (yield schema, part) if part else None
        if problem:
            return problem.under(name.value)
    return None


def additional_properties(
    named: Container[Node], schema: Schema, node: Node, budget: Budget
) -> Steps:
    if node.kind != OBJECT:
        return None
    budget.spend(len(node.value))
    for name, part in node.value.items():
        problem = None if name in named else (yield schema, part)
        if problem:
            return problem.under(name.value)
    return None


def property_names(schema: Schema, node: Node, budget: Budget) -> Steps:
    if node.kind != OBJECT:
        return None
    budget.spend(len(node.value))
    for name in node.value:
        problem = yield schema, name
        if problem:
            return problem.under(name.value)
    return None


def prefix_items(schemas: Sequence[Schema], node: Node, budget: Budget) -> Steps:
    if node.kind != ARRAY:
        return None
    budget.spend(len(schemas))
    for index, (schema, part) in enumerate(zip(schemas, node.value, strict=False)):
        problem = yield schema, part
        if problem:
            return problem.under(index)
    return None


def items(start: int, schema: Schema, node: Node, budget: Budget) -> Steps:
    """Of the items from `start` on."""
    if node.kind != ARRAY:
        return None
    budget.spend(len(node.value))
    for index, part in enumerate(islice(node.value, start, None), start):
        problem = yield schema, part
        if problem:
            return problem.under(index)
    return None


def contains(schema: Schema, least: float, most: float | None, node: Node, budget: Budget) -> Steps:
    if node.kind != ARRAY:
        return None
    budget.spend(len(node.value))
    fitting = doubtful = 0
    for part in node.value:
        problem = yield schema, part
        fitting += problem is None
        doubtful += problem is MAYBE
    if fitting + doubtful < least or (most is not None and fitting > most):
        return Problem("contains", (least, most), node)
    return None
