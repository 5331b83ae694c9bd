"""A tool's JSON Schema as the fields of a form, and what is typed there as arguments."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.support.serving import Client

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
COUNT: Json = {"type": "integer"}
COLOURS: Json = {"enum": ["red", "green"], "type": "string"}
MANY: Json = {f"a{number}": TEXT for number in range(41)}


def schema(required: tuple[str, ...] = (), **properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": [*required]}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def module(browser: Browser, page_server: Client) -> AsyncIterator[Page]:
    """A page that has the module: one for all tests, none of which leaves anything on it."""
    page = await browser.new_page()
    await page.goto(page_server.url)
    yield page
    await page.close()


async def fields(module: Page, schema: Any, args: Json) -> Any:
    """Kind and text of each field."""
    return await module.evaluate(
        """async (given) => {
          const [schema, args] = JSON.parse(given);
          const { fieldsOf } = await import("/js/arguments.js");
          return fieldsOf(schema, args)?.map(({ name, kind, text }) => [name, kind, text]) ?? null;
        }""",
        json.dumps([schema, args]),
    )


async def typed(module: Page, schema: Json, args: Json, texts: Json) -> Any:
    """What becomes of the arguments when these fields are filled so."""
    return await module.evaluate(
        """async (given) => {
          const [schema, args, texts] = JSON.parse(given);
          const { argsOf, fieldsOf } = await import("/js/arguments.js");
          const fields = fieldsOf(schema, args);
          return argsOf(fields, fields.map(({ name, text }) => texts[name] ?? text));
        }""",
        json.dumps([schema, args, texts]),
    )


@pytest.mark.parametrize(
    ("declared", "value", "kind", "text"),
    [
        (TEXT, "a\nb", "text", "a\nb"),
        (COUNT, 7, "text", "7"),
        ({"type": "number"}, 0.5, "text", "0.5"),
        ({"type": "boolean"}, False, "choice", "1"),
        (COLOURS, "green", "choice", "1"),
        ({"const": "red"}, "red", "choice", "0"),
        ({"anyOf": [{"const": 1}, {"const": 2}]}, 2, "choice", "1"),
        ({"anyOf": [TEXT, {"type": "null"}]}, None, "text", ""),
        ({"type": ["integer", "null"]}, 3, "text", "3"),
        ({"anyOf": [TEXT, COUNT]}, 3, "text", "3"),
        ({"$ref": "#/$defs/Colour"}, "red", "choice", "0"),
        ({"allOf": [{"$ref": "#/$defs/Colour"}]}, "red", "choice", "0"),
        ({"anyOf": [{"$ref": "#/$defs/Colour"}, {"type": "null"}]}, None, "choice", ""),
        # What a form would not show as it is, or cannot hold.
        (TEXT, "a\rb", "json", r'"a\rb"'),
        (TEXT, "a\u200bb", "json", r'"a\u200bb"'),
        (TEXT, 7, "json", "7"),
        (TEXT, None, "json", "null"),
        (COLOURS, "blue", "json", '"blue"'),
        ({"type": "array", "items": TEXT}, ["a"], "json", '[\n  "a"\n]'),
        ({"anyOf": [TEXT, {"type": "array"}]}, "a", "json", '"a"'),
        ({"$ref": "#/$defs/Loop"}, "a", "json", '"a"'),
        ({"$ref": "#/$defs/constructor"}, "a", "json", '"a"'),
        ({"$ref": "https://example.org/schema"}, "a", "json", '"a"'),
        ({"enum": []}, "a", "json", '"a"'),
        ({}, "a", "json", '"a"'),
        (True, "a", "json", '"a"'),
    ],
)
async def test_an_argument_has_the_field_that_shows_it_as_it_is(
    module: Page, declared: Any, value: Any, kind: str, text: str
) -> None:
    whole = schema(x=declared) | {"$defs": {"Colour": COLOURS, "Loop": {"$ref": "#/$defs/Loop"}}}
    assert await fields(module, whole, {"x": value}) == [["x", kind, text]]
    unchanged = await typed(module, whole, {"x": value}, {})
    assert unchanged == {"args": {"x": value}, "isChanged": False}


@pytest.mark.parametrize(
    ("given", "args"),
    [(None, {"x": 1}), ({"properties": None}, {"x": 1}), (schema(), {}), (schema(**MANY), {})],
)
async def test_arguments_without_a_fitting_schema_have_no_fields(
    module: Page, given: Any, args: Json
) -> None:
    assert await fields(module, given, args) is None


async def test_arguments_that_are_given_come_first_those_of_no_schema_among_them(
    module: Page,
) -> None:
    shown = await fields(module, schema(a=TEXT, b=TEXT), {"z": 1, "b": "x", "__proto__": 2})
    assert shown == [
        ["b", "text", "x"],
        ["z", "json", "1"],
        ["__proto__", "json", "2"],
        ["a", "text", ""],
    ]


@pytest.mark.parametrize(
    ("declared", "before", "text", "after"),
    [
        (TEXT, "a", "7", "7"),
        (TEXT, "a", "  ", "  "),
        (COUNT, 1, "-7", -7),
        ({"type": "number"}, 1, " 1.5e3 ", 1500),
        ({"anyOf": [TEXT, COUNT]}, 3, "4", 4),
        ({"anyOf": [TEXT, COUNT]}, 3, "four", "four"),
        ({"anyOf": [TEXT, COUNT]}, "3", "4", "4"),
        (COLOURS, "red", "1", "green"),
        ({"type": "boolean"}, False, "0", True),
        ({"type": "array"}, [], "[1, null]", [1, None]),
        ({"anyOf": [COUNT, {"type": "null"}]}, 3, "", None),
        (TEXT, "a", "", ""),
    ],
)
async def test_what_is_typed_becomes_a_value_of_the_declared_type(
    module: Page, declared: Json, before: Any, text: str, after: Any
) -> None:
    changed = await typed(module, schema(("x",), x=declared), {"x": before}, {"x": text})
    assert changed == {"args": {"x": after}, "isChanged": True}


@pytest.mark.parametrize(
    ("declared", "text", "problem"),
    [
        (COUNT, "1.5", "Enter a whole number."),
        (COUNT, "0x10", "Enter a whole number."),
        (COUNT, "12345678901234567890", "Enter a whole number."),
        (COUNT, "", "A value is needed."),
        ({"type": "number"}, "1,5", "Enter a number."),
        ({"type": "number"}, "1e999", "Enter a number."),
        ({"type": "array"}, "[1", "This is not valid JSON."),
    ],
)
async def test_what_is_no_value_of_the_type_is_said(
    module: Page, declared: Json, text: str, problem: str
) -> None:
    args: Json = {"x": [] if declared["type"] == "array" else 1}
    read = await typed(module, schema(("x",), x=declared), args, {"x": text})
    assert read == {"problems": [problem]}


async def test_an_optional_argument_can_be_left_out_and_added(module: Page) -> None:
    optional = schema(a=TEXT, b=COUNT)
    left_out = await typed(module, optional, {"a": "x"}, {"a": ""})
    assert left_out == {"args": {}, "isChanged": True}
    added = await typed(module, optional, {"a": "x"}, {"b": "2"})
    assert added == {"args": {"a": "x", "b": 2}, "isChanged": True}


async def test_json_that_says_the_same_is_no_change(module: Page) -> None:
    same = await typed(module, schema(a={"type": "array"}), {"a": [1, 2]}, {"a": "[1,2]"})
    assert same == {"args": {"a": [1, 2]}, "isChanged": False}
