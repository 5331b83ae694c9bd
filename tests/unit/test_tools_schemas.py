"""Foreign schemas: which are taken, what fits them, and what is said of what does not."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from turnstream.tools.schemas import SchemaFault, ToolSchema, fault, misfit

TREE = {"$ref": "#/$defs/tree"}
TREES = {
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {"leaf": {"type": "integer"}, "inner": {"items": TREE}},
        }
    }
}

FITS: dict[str, tuple[dict[str, Any], list[Any], list[Any]]] = {
    "type": ({"type": "integer"}, [1, 2.0, -(10**400)], [True, 1.5, "1", None, [], {}]),
    "types": ({"type": ["number", "null"]}, [1, 1.5, None], [False, "1"]),
    "enum": ({"enum": [1, "a", [True], {"a": None}]}, [1.0, [True], {"a": None}], [True, [1]]),
    "const": ({"const": {"a": [1, 2]}}, [{"a": [1.0, 2]}], [{"a": [2, 1]}, {}, {"a": [True, 2]}]),
    "const 0": ({"const": 0}, [0, 0.0, -0.0], [False, "0"]),
    "minimum": ({"minimum": 1.5}, [1.5, 2, "x", 10**400], [1, -(10**400)]),
    "maximum": ({"maximum": 2}, [2.0, True], [2.1, float("inf")]),
    "exclusive": ({"exclusiveMinimum": 1, "exclusiveMaximum": 2}, [1.5], [1, 2]),
    "multipleOf": ({"multipleOf": 3}, [9, 3.0, 0, "x", 3 * 10**400], [4, 3.5, float("inf")]),
    "multipleOf of a decimal": ({"multipleOf": 0.01}, [19.99, 4.02, 7], [0.075, 1e-300]),
    "multipleOf of a tiny number": ({"multipleOf": 5e-324}, [1e308, 10**400], [float("nan")]),
    "lengths": ({"minLength": 2, "maxLength": 3.0}, ["ab", "äöü", 1], ["a", "abcd"]),
    "an emoji": ({"maxLength": 1}, ["\N{PILE OF POO}"], ["\N{PILE OF POO}" * 2]),
    "items": ({"items": {"type": "null"}}, [[], [None], "x"], [[None, 1]]),
    "no items": ({"items": False}, [[]], [[1]]),
    "prefixItems": ({"prefixItems": [{"const": 1}], "items": {"const": 2}}, [[], [1, 2, 2]], [[2]]),
    "counts": ({"minItems": 1, "maxItems": 2}, [[1], {}], [[], [1, 2, 3]]),
    "uniqueItems": (
        {"uniqueItems": True},
        [[1, True, "1", [1], [True], {"a": 1}], {"a": 1}],
        [[1, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1}], [[[]], [[]]]],
    ),
    "uniqueItems false": ({"uniqueItems": False}, [[1, 1]], []),
    "contains": ({"contains": {"const": 1}}, [[2, 1], {}], [[], [2]]),
    "contains counted": (
        {"contains": {"const": 1}, "minContains": 2, "maxContains": 3},
        [[1, 1], [1, 1, 1, 2]],
        [[1], [1, 1, 1, 1]],
    ),
    "contains none": ({"contains": {"const": 1}, "minContains": 0}, [[], [1]], []),
    "properties": ({"properties": {"a": {"const": 1}, "b": False}}, [{}, {"a": 1}], [{"b": 1}]),
    "additional": (
        {"properties": {"a": {}}, "additionalProperties": {"type": "string"}},
        [{"a": 1, "b": "x"}, []],
        [{"b": 1}],
    ),
    "none additional": ({"additionalProperties": False}, [{}], [{"a": 1}]),
    "required": ({"required": ["a", "é"]}, [{"a": 1, "é": None}, []], [{"a": 1}]),
    "sizes": ({"minProperties": 1, "maxProperties": 1}, [{"a": 1}], [{}, {"a": 1, "b": 1}]),
    "propertyNames": ({"propertyNames": {"maxLength": 1}}, [{"a": 1}, "ab"], [{"ab": 1}]),
    "dependentRequired": ({"dependentRequired": {"a": ["b"]}}, [{"b": 1}, {}], [{"a": 1}]),
    "dependentSchemas": (
        {"dependentSchemas": {"a": {"maxProperties": 1}}},
        [{"a": 1}],
        [{"a": 1, "b": 1}],
    ),
    "allOf": ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, [1], [0, 3]),
    "anyOf": ({"anyOf": [{"type": "string"}, {"minimum": 2}]}, ["x", 2], [1]),
    "oneOf": ({"oneOf": [{"minimum": 1}, {"maximum": 2}]}, [0, 3], [1]),
    "not": ({"not": {"type": "string"}}, [1], ["x"]),
    "if": ({"if": {"minimum": 5}, "then": {"const": 7}, "else": {"const": 1}}, [7, 1], [5, 2]),
    "then alone": ({"then": False, "else": False}, [1], []),
    "$ref to the top": (
        {"properties": {"a": {"$ref": "#"}}, "maxProperties": 1},
        [{"a": {"a": {}}}],
        [{"a": {"a": 1, "b": 2}}],
    ),
    "$ref and more": (
        {"$ref": "#/$defs/a", "maximum": 3, "$defs": {"a": {"minimum": 1}}},
        [2],
        [0, 4],
    ),
    "$ref with escapes": (
        {"$ref": "#/definitions/a~1b~0c%25", "definitions": {"a/b~c%": {"const": 1}}},
        [1],
        [2],
    ),
    "$ref into an array": (
        {"allOf": [{"minimum": 1}], "items": {"$ref": "#/allOf/0"}},
        [[1]],
        [[0]],
    ),
    "$ref to an unknown keyword": ({"$ref": "#/x/y", "x": {"y": {"const": 1}}}, [1], [2]),
    "a recursive schema": (
        {**TREE, **TREES},
        [{"inner": [{"leaf": 1}, {"inner": [{"leaf": 2}]}]}],
        [{"inner": [{"inner": [{"leaf": "x"}]}]}],
    ),
    "unknown keywords": ({"minimun": 3, "x-y": {"type": 5}, "format": "date"}, [1, "no date"], []),
    "true in allOf": ({"allOf": [True, {"type": "null"}]}, [None], [1]),
}


@pytest.mark.parametrize("case", FITS)
def test_a_keyword_says_what_json_schema_has_it_say(case: str) -> None:
    schema, fitting, others = FITS[case]
    read = ToolSchema(schema)
    assert {str(value)[:80]: read.misfit(value) for value in fitting if read.misfit(value)} == {}
    assert [str(value)[:80] for value in others if not read.misfit(value)] == []


@pytest.mark.parametrize(
    ("schema", "value", "sentence"),
    [
        ({"properties": {"of": {"type": "string"}}}, {"of": 7}, "$.of: 7 is not of type string."),
        (
            {"items": {"required": ["a b"]}},
            [{}],
            "$[0]: an object of 0 lacks the required property 'a b'.",
        ),
        (
            {"propertyNames": {"maxLength": 2}},
            {"a b": 1},
            "$['a b']: 'a b' is longer than 2 characters.",
        ),
        (
            {"enum": ["red", None, True, [1]]},
            "x",
            "$: 'x' is not one of 'red', null, true, an array of 1.",
        ),
        ({"additionalProperties": False}, {"a": {}}, "$.a: an object of 0 is not allowed here."),
        (
            {"contains": {}, "minContains": 2},
            [1],
            "$: an array of 1 does not have at least 2 of the items it must contain.",
        ),
        (
            {"anyOf": [{"type": "null"}, {"properties": {"a": {"type": "null"}}}]},
            {"a": 1},
            "$.a: 1 is not of type null.",
        ),
        (
            {"anyOf": [{"type": "null"}, {"type": ["array", "object"]}]},
            1,
            "$: 1 fits none of the 2 schemas of its anyOf.",
        ),
        ({"oneOf": [{}, {}]}, 1, "$: 1 fits 2 of the schemas of its oneOf, not one."),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(
    schema: dict[str, Any], value: Any, sentence: str
) -> None:
    assert misfit(schema, value) == sentence


DEEP: Any = 1
for _ in range(100):
    DEEP = {"y" * 40: DEEP}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "null"}, "x" * 10**6),
        ({"type": "null"}, 10**4000),
        ({"const": "x" * 10**6}, ["x" * 10**5] * 1000),
        ({"enum": ["x" * 10**4] * 100}, {"y" * 10**6: 1}),
        ({"minimum": 10**4000}, 1),
        ({"required": ["x" * 10**5]}, {}),
        ({"additionalProperties": {"type": "null"}}, {"y" * 10**6: "z" * 10**6}),
        ({"additionalProperties": {"$ref": "#"}, "type": "object"}, DEEP),
    ],
    ids=range(8),
)
def test_a_sentence_is_short_whatever_it_is_about(schema: dict[str, Any], value: Any) -> None:
    assert 0 < len(misfit(schema, value) or "") < 1000


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "https://example.com/x"}, "'https://example.com/x'"),
        ({"$ref": "other.json#/$defs/a"}, "'other.json#/$defs/a'"),
        ({"$ref": "#name", "$defs": {"a": {"$anchor": "name"}}}, "'#name'"),
        ({"$ref": "#/$defs/a"}, "cannot be resolved"),
        ({"$ref": "#/x/1", "x": [{}]}, "cannot be resolved"),
        ({"$ref": "#/x", "x": 5}, "#/x is 5: it must be a schema"),
        ({"$dynamicRef": "#a"}, "#/$dynamicRef is not supported"),
        ({"patternProperties": {"a": {}}}, "#/patternProperties is not supported"),
        ({"items": {"$id": "b"}, "allOf": [{"$ref": "#/items"}]}, "#/items"),
        ({"allOf": [{"$ref": "#"}]}, "in a circle"),
        ({"not": {"$ref": "#/$defs/a"}, "$defs": {"a": {"if": {"$ref": "#/not"}}}}, "in a circle"),
        ({"$defs": {"a": {"$ref": "#/$defs/a"}}}, "#/$defs/a refers to itself in a circle"),
        ({"properties": {"a": {"items": [{}]}}}, "#/properties/a/items is an array of 1"),
        ({"const": {1: 2}}, "not JSON"),
        ({"const": {1, 2}}, "not JSON"),
    ],
    ids=str,
)
def test_a_schema_that_is_not_supported_is_refused_with_its_place(
    schema: dict[str, Any], words: str
) -> None:
    with pytest.raises(SchemaFault) as refused:
        ToolSchema(schema)
    assert words in str(refused.value)
    assert misfit(schema, {}) == f"The tool's schema cannot be used: {refused.value}."


def test_a_property_may_be_named_as_a_keyword_is() -> None:
    properties = {"patternProperties": {}, "$ref": {"type": "string"}, "pattern": {}, "$id": {}}
    schema = {"type": "object", "properties": properties, "required": ["$ref"]}
    assert fault(schema) is None
    assert misfit(schema, {"$ref": "x"}) is None
    assert misfit(schema, {"$ref": 1})


@pytest.mark.parametrize(
    ("schema", "fitting", "other"),
    [
        ({"not": {"pattern": "^a"}}, "b", 1),
        ({"not": {"pattern": "^a"}}, "a", []),
        ({"oneOf": [{"pattern": "^a"}, {"pattern": "^b"}]}, "a", None),
        ({"oneOf": [{"pattern": "^a"}, {"type": "string"}]}, "b", None),
        ({"oneOf": [{"pattern": "^a", "type": "string"}, {"type": "null"}]}, "x", 1),
        ({"if": {"pattern": "^a"}, "then": {"maxLength": 1}, "else": {"minLength": 3}}, "a", "xx"),
        (
            {"if": {"pattern": "^a"}, "then": {"maxLength": 1}, "else": {"minLength": 3}},
            "xxx",
            "xx",
        ),
        ({"contains": {"pattern": "^a"}, "maxContains": 1}, ["a", "b"], [1, 2]),
        ({"contains": {"pattern": "^a", "type": "string"}, "minContains": 2}, ["a", "b"], ["a"]),
        ({"not": {"items": {"allOf": [{"anyOf": [{"pattern": "^a"}]}]}}}, ["b"], [1]),
        ({"not": {"unevaluatedProperties": False}}, {"a": 1}, []),
        ({"not": {"unevaluatedItems": {"type": "null"}}}, [1], {}),
        ({"not": {"unevaluatedItems": True}}, None, [1]),
    ],
)
def test_a_keyword_that_is_left_to_the_client_never_refuses(
    schema: dict[str, Any], fitting: Any, other: Any
) -> None:
    """`other` does not fit whatever that keyword says; None: there is no such value."""
    if fitting is not None:
        assert misfit(schema, fitting) is None
    if other is not None:
        assert misfit(schema, other)


JUNK: list[Any] = [
    *(None, True, False, 0, 1, -1, 2.0, 2.5, "", "string", "x", [], {}, [[]], [{}], [1], ["x"]),
    *(["x", "x"], ["null"], ["null", "null"], {"a": 1}, {"a": {}}, {"a": ["x"]}, {"a": ["x", "x"]}),
    *({"a": True}, [True], [{"type": 5}], {"a": {"type": "x"}}, {"type": []}),
]
KEYWORDS = (
    *("type", "properties", "required", "additionalProperties", "items", "prefixItems", "enum"),
    *("const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("uniqueItems", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "propertyNames"),
    *("dependentRequired", "dependentSchemas", "contains", "minContains", "maxContains", "$defs"),
    *("definitions", "title", "description", "default", "examples", "format", "$schema"),
    *("$comment", "deprecated", "readOnly", "writeOnly", "pattern", "$id", "contentSchema"),
    *("contentEncoding", "contentMediaType", "unevaluatedItems", "unevaluatedProperties"),
)


def is_taken(schema: dict[str, Any]) -> bool:
    try:
        ToolSchema(schema)
    except SchemaFault:
        return False
    return True


def is_a_schema(schema: dict[str, Any]) -> bool:
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return False
    return True


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_what_the_meta_schema_refuses_is_refused_and_nothing_else(keyword: str) -> None:
    schemas = [{"properties": {"p": {keyword: junk}}} for junk in JUNK]
    assert [s for s in schemas if is_taken(s)] == [s for s in schemas if is_a_schema(s)]


def test_values_and_schemas_may_be_nested_without_end() -> None:
    value: Any = []
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(1_000):
        value, schema = [value], {"items": schema}
    assert "is not of type" in (misfit({"items": {"$ref": "#"}, "type": "array"}, [value, 1]) or "")
    assert "is not of type string" in (misfit(schema, value) or "")
    for _ in range(100_000):
        value = [value]
    assert "too costly to check" in (misfit({}, value) or "")
    for _ in range(100_000):
        schema = {"not": schema}
    assert not is_taken(schema)


def test_a_tools_schema_is_nested_200_levels_at_most() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(99):
        schema = {"type": "object", "properties": {"a": schema}}
    assert fault(schema) is None
    assert "deeper than 200" in (fault({"type": "object", "properties": {"a": schema}}) or "")
