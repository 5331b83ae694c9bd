"""A 400 as OpenAI says it: `{"error": {"message", "type", "param", "code"}}`."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Body = Mapping[str, Any]
"""A parsed request body."""


@dataclass(frozen=True, slots=True)
class Refusal:
    message: str
    param: str | None = None
    """Where in the body, as in `messages[2].tool_calls[0].id`."""
    code: str | None = None
    status: int = 400

    def body(self) -> dict[str, Any]:
        return {
            "error": {
                "message": self.message,
                "type": "invalid_request_error",
                "param": self.param,
                "code": self.code,
            }
        }


Rule = Callable[[Body], Iterator[Refusal]]
"""Yields what it has against a body; only the first refusal is ever read."""

JSON_TYPES: dict[str, type | tuple[type, ...]] = {
    "an object": Mapping,
    "an array": list,
    "a string": str,
    "a boolean": bool,
}


def missing(param: str) -> Refusal:
    return Refusal(
        f"Missing required parameter: {param!r}.", param, code="missing_required_parameter"
    )


def mistyped(holder: Body, key: str, where: str, expected: str) -> Iterator[Refusal]:
    """Refuse `holder[key]` when it is missing, or not `expected` (a key of JSON_TYPES)."""
    param = f"{where}.{key}" if where else key
    if key not in holder:
        yield missing(param)
    elif not isinstance(holder[key], JSON_TYPES[expected]):
        yield wrong_type(param, expected, holder[key])


def wrong_type(param: str, expected: str, value: object) -> Refusal:
    kind = "null" if value is None else type(value).__name__
    return Refusal(
        f"Invalid type for {param!r}: expected {expected}, but got {kind} instead.",
        param,
        code="invalid_type",
    )


def empty_array(param: str) -> Refusal:
    return Refusal(
        f"Invalid {param!r}: empty array. Expected an array with minimum length 1.",
        param,
        code="empty_array",
    )


def unsupported(param: str, value: object, supported: Collection[str]) -> Refusal:
    names = ", ".join(repr(name) for name in supported)
    return Refusal(
        f"Invalid value for {param!r}: {value!r}. Supported values are: {names}.",
        param,
        code="invalid_value",
    )


def unknown_keys(holder: Body, where: str, known: Collection[str]) -> Iterator[Refusal]:
    for key in holder:
        if key not in known:
            param = f"{where}.{key}"
            yield Refusal(f"Unknown parameter: {param!r}.", param, code="unknown_parameter")


def too_long(param: str, text: str, limit: int) -> Iterator[Refusal]:
    if len(text) > limit:
        yield Refusal(
            f"Invalid {param!r}: string too long. Expected a string with maximum length {limit}, "
            f"but got a string with length {len(text)} instead.",
            param,
            code="string_above_max_length",
        )


def mismatch(param: str, text: str, pattern: re.Pattern[str]) -> Iterator[Refusal]:
    if not pattern.fullmatch(text):
        yield Refusal(
            f"Invalid {param!r}: string does not match pattern. Expected a string that matches "
            f"the pattern '^{pattern.pattern}$', but got {text!r}.",
            param,
            code="invalid_value",
        )
