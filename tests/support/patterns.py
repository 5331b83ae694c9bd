"""The project's regular expressions, and texts that bring out the worst in each."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import groupby, product
from random import Random
from re import Pattern
from typing import Any, NamedTuple

PACKAGES = ("turnstream.server", "turnstream.graphs", "turnstream.tools")
NOT_SERVED = "turnstream.tools.solar.build"
"""Builds the data of the fleet: it meets no text of a user, and needs packages of its own."""
SAMPLES = 6
"""So many alternatives of each choice in a pattern are gone through."""
MAX_TEXTS = 1200
"""Of a pattern; where there are more, a fixed draw of them."""
ALWAYS = (" ", "\n", "0", "a", "A ", ",")
"""Pumped through every pattern, whatever it mentions."""


def held_patterns() -> dict[str, Pattern[str]]:
    """Every compiled pattern that a module of the project holds, by where it was found first."""
    found: dict[Pattern[str], str] = {}
    for module in _modules():
        for name, value in vars(module).items():
            for place, pattern in enumerate(_held(value, module.__name__, set())):
                found.setdefault(pattern, f"{module.__name__}.{name}[{place}]")
    return {place: pattern for pattern, place in found.items()}


def _modules() -> Iterator[Any]:
    for package in map(importlib.import_module, PACKAGES):
        yield package
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not info.name.startswith(NOT_SERVED) and not info.name.endswith("__main__"):
                yield importlib.import_module(info.name)


def _held(value: Any, module: str, seen: set[int]) -> Iterator[Pattern[str]]:
    """The patterns in a value of a module: itself, its items, fields, or attributes of a class."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Pattern):
        yield value
        return
    for item in _items(value, module):
        yield from _held(item, module, seen)


def _items(value: Any, module: str) -> Sequence[Any]:
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return [*value]
    if isinstance(value, type):
        return [*vars(value).values()] if value.__module__ == module else []
    if is_dataclass(value):
        return [getattr(value, field.name) for field in fields(value)]
    return []


def inline_patterns(source: str) -> list[int]:
    """The lines that write a pattern where it is used, so that no module holds it.

    `re.compile(name)` in a function is none: its pattern comes from elsewhere.
    """
    tree = ast.parse(source)
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    inside = {
        node
        for function in ast.walk(tree)
        if isinstance(function, functions)
        for node in ast.walk(function)
    }
    return sorted(
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (name := _of_re(node.func))
        and name not in ("escape", "purge")
        and (name != "compile" or (node in inside and not isinstance(node.args[0], ast.Name)))
    )


def _of_re(function: ast.expr) -> str:
    """The name of a function of the module `re`."""
    is_re = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
    return function.attr if is_re and function.value.id == "re" else ""  # type: ignore[attr-defined]


class Pumped(NamedTuple):
    """A text of any length: `before`, then `pump` over and over, then `behind`."""

    before: str
    pump: str
    behind: str

    def text(self, length: int) -> str:
        return self.before + self.pump * (length // len(self.pump)) + self.behind


def worst_texts(pattern: Pattern[str]) -> list[Pumped]:
    """Texts that the pattern nearly matches, each stretched at one place.

    They are made of samples of what the pattern matches, cut between two of its pieces: such a
    text goes far into the pattern before it fails, or fails anew from each repetition.
    """
    tree = re._parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    samples = [list(_sample(tree, choice)) for choice in range(SAMPLES)]
    befores = {"": None} | {
        "".join(sample[:end]): None for sample in samples for end in range(len(sample) + 1)
    }
    pieces = dict.fromkeys(piece for sample in samples for piece in sample if piece)
    wholes = dict.fromkeys("".join(sample) for sample in samples)
    pumps = dict.fromkeys([*pieces, *(f"{whole} " for whole in wholes), *filter(None, befores)])
    drawn = [Pumped(*parts) for parts in product(befores, pumps, ("", "!x"))]
    Random(0).shuffle(drawn)
    simple = [Pumped(*parts) for parts in product(befores, ALWAYS, ("!x",))]
    return [*simple, *drawn][:MAX_TEXTS]


def _sample(tree: Any, choice: int) -> Iterator[str]:
    """A text that the pattern matches, in pieces, but for what it looks ahead or behind for."""
    for literal, nodes in groupby(tree, key=lambda node: str(node[0]) == "LITERAL"):
        if literal:
            yield "".join(chr(value) for _, value in nodes)
        else:
            for kind, value in nodes:
                yield from _piece(str(kind), value, choice)


def _piece(kind: str, value: Any, choice: int) -> Iterator[str]:
    if kind in ("ANY", "NOT_LITERAL"):
        yield "." if kind == "ANY" or chr(value) != "." else "-"
    elif kind == "IN":
        members = [_member(*member) for member in value if str(member[0]) != "NEGATE"]
        yield "." if len(members) < len(value) else members[choice % len(members)]
    elif kind == "BRANCH":
        yield from _sample(value[1][choice % len(value[1])], choice)
    elif kind == "SUBPATTERN":
        yield from _sample(value[3], choice)
    elif kind == "ATOMIC_GROUP":
        yield from _sample(value, choice)
    elif kind.endswith("_REPEAT"):
        yield from [*_sample(value[2], choice)] * max(value[0], 1)
    elif kind not in ("AT", "ASSERT", "ASSERT_NOT"):
        raise NotImplementedError(f"a pattern with {kind}")


def _member(kind: Any, value: Any) -> str:
    """A character of a set."""
    if str(kind) == "RANGE":
        return chr(value[0])
    if str(kind) == "CATEGORY":
        name = str(value).removeprefix("CATEGORY_").removeprefix("UNI_")
        return {"DIGIT": "1", "WORD": "w", "SPACE": " "}.get(name, ".")
    return chr(value)
