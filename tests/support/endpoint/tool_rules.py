"""The tools that a request offers, and how it may choose among them."""

from collections.abc import Iterator
from typing import Any

from tests.support.endpoint.call_rules import TOOL_NAME
from tests.support.endpoint.refusal import (
    Body,
    Refusal,
    empty_array,
    mismatch,
    mistyped,
    unknown_keys,
    unsupported,
    wrong_type,
)

MOST_TOOLS = 128
FORBIDDEN_AT_THE_TOP = ("oneOf", "anyOf", "allOf", "enum", "not")
NOT_SCHEMAS = {"const", "default", "enum", "examples"}
CHOICES = ("none", "auto", "required")


def functions(body: Body) -> Iterator[tuple[str, Body]]:
    """Each offered function with its place in the body."""
    for index, tool in enumerate(body.get("tools", ())):
        yield f"tools[{index}].function", tool["function"]


def tools_are_functions(body: Body) -> Iterator[Refusal]:
    if "tools" not in body:
        return
    yield from mistyped(body, "tools", "", "an array")
    if not body["tools"]:
        yield empty_array("tools")
    for index, tool in enumerate(body["tools"]):
        yield from _tool(tool, f"tools[{index}]")


def _tool(tool: Any, where: str) -> Iterator[Refusal]:
    if not isinstance(tool, dict):
        yield wrong_type(where, "an object", tool)
    yield from unknown_keys(tool, where, ("type", "function"))
    yield from mistyped(tool, "type", where, "a string")
    if tool["type"] != "function":
        yield unsupported(f"{where}.type", tool["type"], ("function",))
    yield from mistyped(tool, "function", where, "an object")
    known = ("name", "description", "parameters", "strict")
    yield from unknown_keys(tool["function"], f"{where}.function", known)


def tools_are_not_too_many(body: Body) -> Iterator[Refusal]:
    count = len(body.get("tools", ()))
    if count > MOST_TOOLS:
        yield Refusal(
            f"Invalid 'tools': array too long. Expected an array with maximum length {MOST_TOOLS}, "
            f"but got an array with length {count} instead.",
            "tools",
            code="array_above_max_length",
        )


def tool_names_are_words(body: Body) -> Iterator[Refusal]:
    for where, function in functions(body):
        yield from mistyped(function, "name", where, "a string")
        yield from mismatch(f"{where}.name", function["name"], TOOL_NAME)


def tool_names_are_unique(body: Body) -> Iterator[Refusal]:
    seen: set[str] = set()
    for where, function in functions(body):
        if function["name"] in seen:
            param = f"{where}.name"
            yield Refusal(
                f"Duplicate value for {param!r}: {function['name']!r}. Tool names must be unique.",
                param,
                code="duplicate",
            )
        seen.add(function["name"])


def descriptions_are_text(body: Body) -> Iterator[Refusal]:
    for where, function in functions(body):
        if "description" in function:
            yield from mistyped(function, "description", where, "a string")


def schemas_are_plain_objects(body: Body) -> Iterator[Refusal]:
    for where, function in functions(body):
        if "parameters" not in function:
            continue
        yield from mistyped(function, "parameters", where, "an object")
        schema = function["parameters"]
        if schema.get("type") != "object" or any(key in schema for key in FORBIDDEN_AT_THE_TOP):
            yield _bad_schema(
                where,
                function,
                "schema must have type 'object' and not have "
                f"{'/'.join(map(repr, FORBIDDEN_AT_THE_TOP))} at the top level",
            )
        elif not isinstance(schema.get("properties"), dict):
            yield _bad_schema(where, function, "In context=(), object schema missing properties")


def schema_arrays_have_items(body: Body) -> Iterator[Refusal]:
    for where, function in functions(body):
        for context in _arrays_without_items(function.get("parameters")):
            yield _bad_schema(where, function, f"In context={context}, array schema missing items")


def _arrays_without_items(parameters: Any) -> Iterator[tuple[str, ...]]:
    """Where they are; values that are data, not schemas, are passed over."""
    left: list[tuple[tuple[str, ...], Any]] = [((), parameters)]
    while left:
        context, schema = left.pop()
        if isinstance(schema, list):
            left += [((*context, str(index)), item) for index, item in enumerate(schema)]
        elif isinstance(schema, dict):
            if schema.get("type") == "array" and not schema.keys() & {"items", "prefixItems"}:
                yield context
            left += [
                ((*context, key), value) for key, value in schema.items() if key not in NOT_SCHEMAS
            ]


def _bad_schema(where: str, function: Body, problem: str) -> Refusal:
    return Refusal(
        f"Invalid schema for function {function['name']!r}: {problem}.",
        f"{where}.parameters",
        code="invalid_function_parameters",
    )


def choices_need_tools(body: Body) -> Iterator[Refusal]:
    for key in ("tool_choice", "parallel_tool_calls"):
        if body.get(key) is not None and "tools" not in body:
            yield Refusal(
                f"Invalid value for {key!r}: {key!r} is only allowed when 'tools' are specified.",
                key,
            )


def choices_are_offered(body: Body) -> Iterator[Refusal]:
    choice = body.get("tool_choice")
    offered = [{"type": "function", "function": {"name": f["name"]}} for _, f in functions(body)]
    if choice is not None and choice not in CHOICES and choice not in offered:
        yield unsupported("tool_choice", choice, (*CHOICES, *map(str, offered)))
