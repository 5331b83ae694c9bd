"""Foreign schemas that are costly to check, and arguments for them; a strategy for more of them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from turnstream.tools.schemas import fault

MAX_SCHEMA_CHARS = 30_000
MAX_VALUE_CHARS = 20_000
MAX_CALLS_CHARS, MAX_CALLS = 800_000, 200

Attack = Callable[[int], tuple[dict[str, Any], Any]]
"""A schema of so many levels or members, and a value for it."""


@dataclass(frozen=True)
class Hostile:
    """A tool's parameters, and what the model calls it with, call by call."""

    parameters: dict[str, Any]
    arguments: Sequence[Any]

    def __repr__(self) -> str:
        return f"{json.dumps(self.parameters):.1000}, {json.dumps(self.arguments[0]):.200}"


def hostile(schema: dict[str, Any], value: Any) -> Hostile:
    """A tool that takes the value as `x`, and calls with it, each of them another's."""
    definitions = schema.get("$defs", {})
    own = {keyword: said for keyword, said in schema.items() if keyword != "$defs"}
    parameters = {"type": "object", "properties": {"x": own}, "$defs": definitions}
    count = min(MAX_CALLS, 1 + MAX_CALLS_CHARS // (chars(value) + 20))
    return Hostile(parameters, [{"x": value, "n": number} for number in range(count)])


def largest(attack: Attack) -> list[Hostile]:
    """The attack as large as a schema or a value may be, and twice as large."""
    levels, made = 2, hostile(*attack(2))
    while True:
        levels *= 2
        larger = hostile(*attack(levels))
        sizes = chars(larger.parameters), chars(larger.arguments[0])
        too_large = sizes[0] > MAX_SCHEMA_CHARS or sizes[1] > MAX_CALLS_CHARS
        if too_large or fault(larger.parameters):
            return [made, larger]
        made = larger


def chars(value: Any) -> int:
    return len(json.dumps(value))


PATTERNS = ("(a+)+$", "(a|a)*b", "(a{1,99}){1,99}", "^(([a-z])+.)+[A-Z]([a-z])+$")

MORE: dict[str, Attack] = {
    "patterns": lambda n: (
        {"allOf": [{"pattern": PATTERNS[i % len(PATTERNS)]} for i in range(n)]},
        "a" * 50_000,
    ),
    "a long pattern": lambda n: ({"pattern": "(a+)+" * n}, "a" * 50_000),
    "a large enum": lambda n: ({"items": {"enum": list(range(n))}}, [-1] * n),
    "a long text": lambda n: ({"anyOf": [{"maxLength": i} for i in range(n)]}, "x" * 400 * n),
    "names": lambda n: (
        {"additionalProperties": {"anyOf": [{"minimum": i} for i in range(n)]}},
        {f"k{i}": -1 for i in range(10 * n)},
    ),
}

Wrap = Callable[[dict[str, Any]], dict[str, Any]]


def many(keyword: str, count: int) -> Wrap:
    return lambda inner: {keyword: [inner] * count}


def named(keyword: str, count: int) -> Wrap:
    return lambda inner: {keyword: {f"k{number}": inner for number in range(count)}}


def one(keyword: str) -> Wrap:
    return lambda inner: {keyword: inner}


counts = st.sampled_from([1, 2, 3, 10, 100])
wraps: st.SearchStrategy[Wrap] = st.one_of(
    st.builds(many, st.sampled_from(["allOf", "anyOf", "oneOf", "prefixItems"]), counts),
    st.builds(named, st.sampled_from(["properties", "dependentSchemas"]), counts),
    st.builds(
        one,
        st.sampled_from(
            ["items", "contains", "not", "if", "then", "additionalProperties", "propertyNames"]
        ),
    ),
    st.just(lambda inner: {"if": inner, "then": inner, "else": inner}),
)
leaves: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.sampled_from(["integer", "string", "array", "object"]).map(lambda kind: {"type": kind}),
    counts.map(lambda count: {"enum": [[number] * count for number in range(count)]}),
    counts.map(lambda count: {"required": [f"k{number}" for number in range(count)]}),
    st.sampled_from(PATTERNS).map(lambda pattern: {"pattern": pattern}),
    st.just({"uniqueItems": True}),
    st.just({"multipleOf": 0.01}),
)


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """A leaf, wrapped again and again; some of what is wrapped becomes a definition, which is then
    referred to."""
    schema = draw(leaves)
    definitions: dict[str, Any] = {}
    for wrap in draw(st.lists(wraps, max_size=12)):
        if draw(st.booleans()):
            name = f"d{len(definitions)}"
            definitions[name], schema = schema, {"$ref": f"#/$defs/{name}"}
        wrapped = wrap(schema)
        if chars(wrapped) + chars(definitions) > MAX_SCHEMA_CHARS:
            break
        schema = wrapped
    return {**schema, "$defs": definitions}


@st.composite
def arguments(draw: st.DrawFn) -> Any:
    """A value, multiplied again and again."""
    value: Any = draw(st.sampled_from([0, 0.1, "", "a", None, True, 10**40, [], {}]))
    for kind in draw(st.lists(st.sampled_from(["array", "items", "object", "text"]), max_size=8)):
        larger: Any
        if kind == "array":
            larger = [value] * 10
        elif kind == "items":
            larger = [[number, value] for number in range(10)]
        elif kind == "object":
            larger = {f"k{number}": value for number in range(10)}
        else:
            larger = f"{value}" * 10
        if chars(larger) > MAX_VALUE_CHARS:
            break
        value = larger
    return value


@st.composite
def attacks(draw: st.DrawFn) -> Hostile:
    return hostile(draw(schemas()), draw(arguments()))
