"""What a keyword's argument may be, as JSON Schema's meta-schema has it.

Subschemas inside an argument are looked at when they are read themselves.
"""

from collections.abc import Callable, Mapping
from typing import Any

from turnstream.tools.schemas.assertions import KINDS, LIMITS, isfinite_number

Shape = tuple[Callable[[Any], bool], str]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite_number(value)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_text_list(value: Any) -> bool:
    return (
        isinstance(value, list)
        and all(isinstance(item, str) for item in value)
        and len(set(value)) == len(value)
    )


def _is_text_lists(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text_list, value.values()))


def _is_type(value: Any) -> bool:
    names = [value] if isinstance(value, str) else value
    return _is_text_list(names) and bool(names) and set(names) <= KINDS.keys()


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and "#" not in value[:-1]


TEXT: Shape = (lambda value: isinstance(value, str), "a string")
FLAG: Shape = (lambda value: isinstance(value, bool), "true or false")
NUMBER: Shape = (_is_number, "a number")
COUNT: Shape = (_is_count, "a whole number that is not negative")
ARRAY: Shape = (lambda value: isinstance(value, list), "an array")
OBJECT: Shape = (lambda value: isinstance(value, dict), "an object")
SCHEMA: Shape = (lambda value: isinstance(value, dict | bool), "a schema: an object or a boolean")
SCHEMAS: Shape = (
    lambda value: isinstance(value, list) and bool(value),
    "an array of at least one schema",
)

SHAPES: Mapping[str, Shape] = {
    **dict.fromkeys(("$schema", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor"), TEXT),
    **dict.fromkeys(("$comment", "title", "description", "format", "pattern"), TEXT),
    **dict.fromkeys(("contentEncoding", "contentMediaType"), TEXT),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly", "uniqueItems"), FLAG),
    **dict.fromkeys(LIMITS, COUNT),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), NUMBER),
    **dict.fromkeys(("minContains", "maxContains"), COUNT),
    **dict.fromkeys(("enum", "examples"), ARRAY),
    **dict.fromkeys(("properties", "dependentSchemas"), OBJECT),
    **dict.fromkeys(("$defs", "definitions", "dependencies", "$vocabulary"), OBJECT),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), SCHEMAS),
    "$id": (_is_id, "a string without a fragment"),
    "type": (_is_type, f"one of {', '.join(KINDS)}, or an array of some"),
    "required": (_is_text_list, "an array of different strings"),
    "dependentRequired": (_is_text_lists, "an object of arrays of different strings"),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above 0"),
}
