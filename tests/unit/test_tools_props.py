"""A component's schema is the check of its props and what a model is told of them."""

from functools import reduce
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from turnstream.tools.props import Props
from turnstream.tools.schemas import SchemaFault


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties]}


def fits(schema: dict[str, Any], props: Any) -> bool:
    try:
        Props(schema).check(props)
    except ValueError:
        return False
    return True


ARRAY = {"type": "array", "items": {"type": "null"}}
NESTED: dict[str, Any] = reduce(
    lambda inner, _: {"type": "array", "items": inner}, range(1000), {"type": "null"}
)
VALUES: list[Any] = [None, True, 0, 1, 2, 2.0, 2.5, -1, "", "a", "abc", [], [1], [1, "a"], {}]
VALUES += [{"b": 1}, {"b": "x"}]
SCHEMAS: list[dict[str, Any]] = [
    {"type": "integer", "minimum": 1},
    {"type": "number", "maximum": 2},
    {"type": ["number", "null"], "minimum": 0, "maximum": 2},
    {"type": "boolean"},
    {"type": "null"},
    {"type": "string", "minLength": 1, "maxLength": 2},
    {"type": "string", "maxLength": 2.0},
    {"type": "array", "items": {"type": "integer"}, "maxItems": 1.0},
    {"enum": ["a", "abc"]},
    {"type": "array", "items": {"type": "integer"}, "minItems": 1},
    {"type": "object", "additionalProperties": {"type": "number"}},
    {"type": "object", "properties": {"b": {"type": "integer"}}},
    {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]},
    {"type": "object", "additionalProperties": False},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_props_are_checked_as_json_schema_says(schema: dict[str, Any]) -> None:
    whole = an_object(value=schema)
    for value in VALUES:
        props = {"value": value}
        assert fits(whole, props) == Draft202012Validator(whole).is_valid(props), value
    assert not fits(whole, {})
    assert not fits(whole, [])


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (an_object(a={"type": "string"}, b={"type": "integer"}), "a, b (whole number)"),
        ({"type": "object", "properties": {"a": {"type": "boolean"}}}, "a? (true or false)"),
        (an_object(a={"type": "array", "items": {"type": "string"}}), "a (any number of strings)"),
        (
            an_object(a={"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 1}),
            "a (at least 1 of x or y)",
        ),
        (
            an_object(a={"type": "array", "items": an_object(b={"type": "number"}), "maxItems": 9}),
            "a (up to 9 of {b: number})",
        ),
        (
            an_object(a=ARRAY | {"items": {"type": "string"}, "maxItems": 2.0}),
            "a (up to 2 strings)",
        ),
        (an_object(a={"type": "string", "description": "a day"}), "a (a day)"),
        (
            an_object(a={"type": "array", "items": {"type": "array", "items": {"type": "null"}}}),
            "a (any number of lists of any number of null)",
        ),
        (
            an_object(
                at=an_object(
                    lat={"type": "number", "minimum": -90, "maximum": 90}, name={"type": "string"}
                )
            ),
            "at ({lat: number from -90 to 90, name})",
        ),
        (
            an_object(a={"type": ["integer", "null"], "minimum": 0}),
            "a (whole number of at least 0 or null)",
        ),
        (
            an_object(a={"type": "array", "items": {"type": "number", "maximum": 2}}),
            "a (any number of numbers of at most 2)",
        ),
    ],
)
def test_a_model_reads_what_the_schema_says(schema: dict[str, Any], words: str) -> None:
    assert Props(schema).words() == words


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "array"}, '("type": "object")'),
        ({"type": "object", "enum": [{}]}, "without oneOf"),
        (an_object(a=NESTED), "nested deeper than"),
        ({"type": "object", "properties": []}, "#/properties is"),
        (an_object(a={"anyOf": []}), "#/properties/a"),
        (an_object(a={}), "#/properties/a needs a type"),
        (an_object(a={"type": ["array", "null"]}), "#/properties/a needs a type"),
        (
            an_object(a={"type": "string", "pattern": "a"}),
            "/a/pattern is not supported",
        ),
        (an_object(a={"type": "array"}), "#/properties/a needs items"),
        (an_object(a={"enum": [1]}), "#/properties/a/enum must list strings"),
        (an_object(a={"enum": []}), "/a/enum"),
        (an_object(a={"enum": ["x"], "pattern": "z"}), "/a/pattern is not supported"),
        (an_object(a={"enum": ["x"], "type": "integer"}), "/a/type must be string beside enum"),
        (an_object(a=True), "#/properties/a must be an object"),
        (
            {"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}]}},
            "#/additionalProperties",
        ),
        (an_object(a=ARRAY | {"sameLengthAs": 5}), "sameLengthAs names 5"),
        ({"type": "object", "required": ["b"]}, "#/required names 'b', which is no property"),
        (
            an_object(b=ARRAY) | {"additionalProperties": ARRAY | {"sameLengthAs": "b"}},
            "sameLengthAs is not supported in additionalProperties",
        ),
        (
            an_object(
                a={"type": "array", "items": {"type": "null"}, "sameLengthAs": "b"},
            ),
            "sameLengthAs names 'b'",
        ),
    ],
)
def test_a_schema_that_the_page_could_not_check_is_refused(
    schema: dict[str, Any], fault: str
) -> None:
    with pytest.raises(SchemaFault) as refused:
        Props(schema)
    assert fault in str(refused.value)


def test_an_array_has_as_many_items_as_the_property_that_it_names() -> None:
    of = {"type": "array", "items": {"type": "integer"}}
    schema = an_object(
        x=of, rows={"type": "array", "items": an_object(y=of | {"sameLengthAs": "x"})}
    )
    props = Props(schema)
    assert [*props.uneven({"x": [1], "rows": [{"y": [1]}]}, "props")] == []
    assert [*props.uneven({"x": [1], "rows": [{"y": [1]}, {"y": []}]}, "props")] == [
        "props.rows.1.y: should have as many items as x, 1, not 0"
    ]
