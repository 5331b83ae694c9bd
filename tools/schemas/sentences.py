"""What does not fit, in words. A sentence costs the same however large the value is."""

from collections.abc import Callable, Mapping
from typing import Any

from turnstream.tools.schemas.values import Node

MAX_CHARS, MAX_LISTED, MAX_STEPS, MAX_BITS = 60, 8, 16, 256


def shown(value: Any) -> str:
    """A JSON value in few characters; of an array or an object only how much it holds."""
    if isinstance(value, str):
        return repr(value[:MAX_CHARS]) + ("..." if len(value) > MAX_CHARS else "")
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, list | tuple):
        return f"an array of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    return repr(value) if isinstance(value, int | float) else f"a {type(value).__name__}"


def listed(values: Any) -> str:
    """The first few of an array."""
    more = ", ..." if len(values) > MAX_LISTED else ""
    return ", ".join(map(shown, values[:MAX_LISTED])) + more


def pointer(where: Any) -> str:
    """A place in a schema: a pair of the place around it and a step, or None for the top."""
    steps: list[str] = []
    while where is not None and len(steps) < MAX_STEPS:
        where, step = where
        steps.append(str(step)[:MAX_CHARS])
    return "/".join(["#" if where is None else "...", *reversed(steps)])


def misfit_sentence(keyword: str, argument: Any, node: Node, path: Any) -> str:
    return f"{_json_path(path)}: {shown(node.value)} {WORDS[keyword](argument)}."


def _json_path(path: Any) -> str:
    steps: list[str] = []
    while path is not None and len(steps) < MAX_STEPS:
        step, path = path
        if isinstance(step, str) and step[:MAX_CHARS].isidentifier():
            steps.append(f".{step[:MAX_CHARS]}")
        else:
            steps.append(f"[{shown(step)}]")
    return "$" + "".join(steps) + ("..." if path else "")


def _names(argument: Any) -> str:
    return " or ".join(argument) if isinstance(argument, list) else str(argument)


def _counted(least: Any, most: Any) -> str:
    return f"at least {shown(least)}" + ("" if most is None else f", at most {shown(most)},")


WORDS: Mapping[str, Callable[[Any], str]] = {
    "false": lambda _: "is not allowed here",
    "type": lambda types: f"is not of type {_names(types)}",
    "enum": lambda values: f"is not one of {listed(values)}",
    "const": lambda value: f"is not {shown(value)}",
    "minimum": lambda limit: f"is less than the minimum of {shown(limit)}",
    "maximum": lambda limit: f"is more than the maximum of {shown(limit)}",
    "exclusiveMinimum": lambda limit: f"is not more than {shown(limit)}",
    "exclusiveMaximum": lambda limit: f"is not less than {shown(limit)}",
    "multipleOf": lambda step: f"is not a multiple of {shown(step)}",
    "minLength": lambda limit: f"is shorter than {shown(limit)} characters",
    "maxLength": lambda limit: f"is longer than {shown(limit)} characters",
    "minItems": lambda limit: f"has fewer than {shown(limit)} items",
    "maxItems": lambda limit: f"has more than {shown(limit)} items",
    "uniqueItems": lambda _: "has two equal items",
    "minProperties": lambda limit: f"has fewer than {shown(limit)} properties",
    "maxProperties": lambda limit: f"has more than {shown(limit)} properties",
    "required": lambda name: f"lacks the required property {shown(name)}",
    "dependentRequired": lambda names: (
        f"has the property {shown(names[0])} and so needs {shown(names[1])}"
    ),
    "contains": lambda counts: f"does not have {_counted(*counts)} of the items it must contain",
    "anyOf": lambda count: f"fits none of the {count} schemas of its anyOf",
    "oneOf": lambda fitting: f"fits {fitting} of the schemas of its oneOf, not one",
    "not": lambda _: "fits a schema that it must not fit",
}
