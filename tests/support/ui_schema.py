"""The contract of the UI tools as JSON Schema, and strategies for what it allows and forbids."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from jsonschema import Draft202012Validator

DEFS: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "data" / "ui-tools.schema.json").read_text()
)["$defs"]
COMPONENTS: list[str] = DEFS["render_ui_component"]["properties"]["component"]["enum"]
LENGTHS = [0, 1, 2, 8, 9, 12, 13, 20, 21, 40, 41, 100, 101, 200, 201, 500, 501]
"""The limits of the arrays, and one beyond."""

TEXTS = ["", "x", "5", "line_chart", "info", "left", "date", "2025-02-30", "2025-1-1", "20250101"]
LONG_TEXTS = ["x" * length for length in (80, 81, 500, 501, 2000, 2001, 20_000, 20_001)]
JUNK: list[Any] = [None, True, False, 0, 1, 1.0, -1, 2.5, 10**30, [], {}, [None], {"value": "x"}]


def schema_accepts(name: str, instance: Any) -> bool:
    schema = {"$ref": f"#/$defs/{name}", "$defs": DEFS}
    return bool(Draft202012Validator(schema).is_valid(instance))


def conforming(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Small instances of a schema, its `allOf` and `if` aside."""
    if "$ref" in schema:
        return conforming(DEFS[schema["$ref"].removeprefix("#/$defs/")])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return st.one_of([OF_TYPE[kind](schema) for kind in types])


def _text(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "pattern" in schema:
        return st.dates().map(lambda day: day.isoformat())
    return st.text(min_size=schema.get("minLength", 0), max_size=5)


def _integer(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    whole = st.integers(schema["minimum"], 5)
    return whole | whole.map(float)


def _array(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    least = schema.get("minItems", 0)
    return st.lists(conforming(schema["items"]), min_size=least, max_size=least + 2)


def _object(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    if isinstance(schema.get("additionalProperties"), dict):
        return st.dictionaries(st.text(), conforming(schema["additionalProperties"]), max_size=3)
    fields = {name: conforming(field) for name, field in schema.get("properties", {}).items()}
    required = {name: fields.pop(name) for name in schema.get("required", [])}
    return st.fixed_dictionaries(required, optional=fields)


OF_TYPE = {
    "string": _text,
    "integer": _integer,
    "number": lambda _: st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    "boolean": lambda _: st.booleans(),
    "null": lambda _: st.none(),
    "array": _array,
    "object": _object,
}


@st.composite
def renderings(draw: st.DrawFn) -> dict[str, Any]:
    component = draw(st.sampled_from(COMPONENTS))
    rendering = draw(conforming(DEFS["render_ui_component"]))
    return {**rendering, "component": component, "props": draw(conforming(DEFS[component]))}


selections: st.SearchStrategy[dict[str, Any]] = conforming(DEFS["request_user_selection"])


def _places(instance: Any) -> Iterator[tuple[Any, Any]]:
    items: list[tuple[Any, Any]] = []
    if isinstance(instance, dict):
        items = list(instance.items())
    elif isinstance(instance, list):
        items = list(enumerate(instance))
    for key, value in items:
        yield instance, key
        yield from _places(value)


@st.composite
def mutated(draw: st.DrawFn, instances: st.SearchStrategy[Any]) -> Any:
    """An instance with one or two things changed in it: most no longer conform, some still do."""
    instance = copy.deepcopy(draw(instances))
    for _ in range(draw(st.integers(1, 2))):
        places = list(_places(instance))
        if places:
            _change(draw, *draw(st.sampled_from(places)))
    return instance


def _change(draw: st.DrawFn, container: Any, key: Any) -> None:
    value = container[key]
    change = draw(st.sampled_from(["replace", "vary", "vary", "remove", "add", "stretch"]))
    if change == "remove":
        del container[key]
    elif change == "add" and isinstance(container, dict):
        container[draw(st.sampled_from(["title", "tone", "extra", "data_from"]))] = value
    elif change == "stretch" and isinstance(value, list) and value:
        length = draw(st.sampled_from(LENGTHS))
        container[key] = (value * length)[:length]
    elif change == "vary":
        alike = [other for other in JUNK + TEXTS + LONG_TEXTS if type(other) is type(value)]
        container[key] = draw(st.sampled_from(alike or [value]))
    else:
        container[key] = copy.deepcopy(draw(st.sampled_from(JUNK + TEXTS + LONG_TEXTS)))
