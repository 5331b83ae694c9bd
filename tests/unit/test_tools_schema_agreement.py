"""Our verdict on a value against that of the `jsonschema` package, for schemas drawn at random."""

from typing import Any

from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.support.samples import sample
from turnstream.tools.schemas import SchemaFault, ToolSchema

NAMES = st.sampled_from(["a", "b", "cc"])
TYPES = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
NUMBERS = st.sampled_from([-1, 0, 1, 2, 3, 0.5, 1.0, 2.5, 10**20, True, False])
LIMITS = st.sampled_from([-1, 0, 1, 2, 0.5, 1.0, 2.5, 10**20])
COUNTS = st.sampled_from([0, 1, 2, 2.0])

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | NUMBERS | st.sampled_from(["", "a", "b", "cc", "ddd"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


def _keywords(inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    some = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(NAMES, inner, max_size=3)
    names = st.lists(NAMES, max_size=3, unique=True)
    return {
        "$ref": st.sampled_from(["#", "#/$defs/a", "#/$defs/b"]),
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
        "enum": st.lists(values, max_size=4),
        "const": values,
        **dict.fromkeys(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], LIMITS),
        # Not 1.5: jsonschema divides floats, and takes 10**20 for a multiple of it.
        "multipleOf": st.sampled_from([1, 2, 0.5, 2.5, 2.0, 10**19]),
        **dict.fromkeys(["minLength", "maxLength", "minItems", "maxItems"], COUNTS),
        **dict.fromkeys(["minProperties", "maxProperties", "minContains", "maxContains"], COUNTS),
        "uniqueItems": st.booleans(),
        "required": names,
        "dependentRequired": st.dictionaries(NAMES, names, max_size=2),
        **dict.fromkeys(["properties", "dependentSchemas"], named),
        **dict.fromkeys(["items", "contains", "propertyNames", "additionalProperties"], inner),
        **dict.fromkeys(["not", "if", "then", "else"], inner),
        **dict.fromkeys(["allOf", "anyOf", "oneOf", "prefixItems"], some),
        "format": st.just("date"),
        "unknown": values,
    }


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keywords = _keywords(inner)

    def of(chosen: list[str]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries({name: keywords[name] for name in chosen})

    return st.lists(st.sampled_from(list(keywords)), max_size=4, unique=True).flatmap(of)


subschemas = st.recursive(st.booleans() | _objects(st.booleans()), _objects, max_leaves=6)
schemas = st.builds(
    lambda top, a, b: {**top, "$defs": {"a": a, "b": b}},
    _objects(subschemas),
    subschemas,
    subschemas,
)


@settings(max_examples=sample(300, 60))
@given(schemas, st.lists(values, min_size=1, max_size=5))
@example({"uniqueItems": True}, [[1, True], [[1], [True]], [1, 1.0], [{"a": 1}, {"a": 1.0}]])
@example({"enum": [[1], {"a": False}]}, [[True], [1.0], {"a": 0}, {"a": False}])
@example({"items": {"$ref": "#"}, "maxItems": 2}, [[[[]], []], [[[], [], []]]])
def test_ours_and_jsonschemas_verdicts_are_the_same(
    schema: dict[str, Any], instances: list[Any]
) -> None:
    try:
        read = ToolSchema(schema)
    except SchemaFault as error:
        if "in a circle" not in str(error):
            raise
        event("refers to itself in a circle")
        assume(False)
    validator = Draft202012Validator(schema)
    for instance in instances:
        fits = read.misfit(instance) is None
        event(f"fits: {fits}")
        assert fits == validator.is_valid(instance)
