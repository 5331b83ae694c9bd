"""A value against a schema: pairs of a subschema and a node, each worked out once."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, TypeAlias

from turnstream.tools.schemas.budget import Budget
from turnstream.tools.schemas.sentences import misfit_sentence
from turnstream.tools.schemas.values import Node


@dataclass(slots=True, eq=False)
class Problem:
    """What does not fit: a keyword of the schema, at a node."""

    keyword: str
    argument: Any
    node: Node
    path: Any = None
    """From the value to the node: a pair of the first step and the path from there, or None."""
    depth: int = 0

    def under(self, step: str | int) -> "Problem":
        """The same, seen from the object or array that has the value at `step`."""
        path = (step, self.path)
        return Problem(self.keyword, self.argument, self.node, path, self.depth + 1)

    def sentence(self) -> str:
        return misfit_sentence(self.keyword, self.argument, self.node, self.path)


class Doubt(Enum):
    """Says that a value fits as far as it was checked: its schema has a keyword that is left out.

    It is false, as the absence of a problem is.
    """

    MAYBE = 0

    def __bool__(self) -> Literal[False]:
        return False


MAYBE = Doubt.MAYBE
Answer: TypeAlias = Problem | Doubt | None


@dataclass(slots=True, eq=False)
class Assertion:
    """A keyword that needs only the node itself, and constant time."""

    keyword: str
    argument: Any
    fits: Callable[[Node], bool]


@dataclass(slots=True, eq=False)
class Schema:
    """One subschema, as it was read."""

    where: Any
    assertions: list[Assertion] = field(default_factory=list)
    applicators: list["Applicator"] = field(default_factory=list)
    left_out: frozenset[str] = frozenset()
    """The kinds of node about which it says more than is checked."""
    at_same_node: list["Schema"] = field(default_factory=list)
    """The schemas that the applicators ask about the very same node."""


Pair: TypeAlias = tuple[Schema, Node]
Steps: TypeAlias = Generator[Pair, Answer, Problem | None]
"""Yields the pairs whose answers it needs, is sent each one, and returns the problem, if any.

One that was sent a doubt and finds no problem is in doubt itself.
"""

Applicator: TypeAlias = Callable[[Node, Budget], Steps]
"""A keyword that needs the answers of other pairs."""


def check(schema: Schema, node: Node, budget: Budget) -> Problem | None:
    """The first problem that is found, None if the value fits. Raises TooCostly."""
    answers: dict[Pair, Answer] = {}
    waiting: list[tuple[Pair, Steps]] = []
    pair: Pair | None = (schema, node)
    while pair:
        budget.spend(1)
        if pair not in answers:
            answers[pair] = _asserted(pair, budget)
            if not answers[pair] and pair[0].applicators:
                waiting.append((pair, _applied(pair, budget)))
                pair = _next(waiting, answers, None)
                continue
        pair = _next(waiting, answers, answers[pair])
    return answers[schema, node] or None


def _next(
    waiting: list[tuple[Pair, Steps]], answers: dict[Pair, Answer], answer: Answer
) -> Pair | None:
    """Hands an answer to the pair that waits for it. Returns the pair to work out next."""
    while waiting:
        pair, steps = waiting[-1]
        if answer is MAYBE:
            answers[pair] = MAYBE
        try:
            return steps.send(answer)
        except StopIteration as end:
            waiting.pop()
            answer = answers[pair] = end.value or answers[pair]
    return None


def _asserted(pair: Pair, budget: Budget) -> Answer:
    schema, node = pair
    budget.spend(2 + len(schema.assertions))
    for assertion in schema.assertions:
        if not assertion.fits(node):
            budget.spend(1)
            return Problem(assertion.keyword, assertion.argument, node)
    return MAYBE if node.kind in schema.left_out else None


def _applied(pair: Pair, budget: Budget) -> Steps:
    schema, node = pair
    budget.spend(6 + 3 * len(schema.applicators))
    for applicator in schema.applicators:
        problem = yield from applicator(node, budget)
        if problem:
            return problem
    return None
