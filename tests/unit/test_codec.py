"""A log's items as JSON and back: nothing is lost, whatever a tool has said."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnstream.server.turns.chunks import (
    Chunk,
    Done,
    PartStart,
    Result,
    TextDelta,
    ToolCallPart,
    ToolProgress,
)
from turnstream.server.turns.codec import LogDecoder, LogItem, Unknown, from_json, to_json
from turnstream.server.turns.header import RunHeader, ThreadKey

KINDS = [RunHeader, *get_args(Chunk)]
OURS = ["type", "path", "part", "usage", "timing", "key", "TextDelta", "Usage"]
"""Keys and strings that the codec itself uses."""

words = st.text(max_size=4) | st.sampled_from(OURS)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
scalars: Mapping[Any, st.SearchStrategy[Any]] = {
    Any: json_values,
    str: words,
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a field's type."""
    if hint in scalars:
        scalar: st.SearchStrategy[Any] = scalars[hint]
        return scalar
    if isinstance(hint, type) and is_dataclass(hint):
        return items(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of([values(argument) for argument in arguments])
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=2).map(tuple)
    assert origin is Mapping, f"the codec's test knows no {hint}"
    return st.dictionaries(words, values(arguments[1]), max_size=3)


def items(kind: type) -> st.SearchStrategy[Any]:
    """Any object of a dataclass, by the types of its fields."""
    hints = get_type_hints(kind)
    return st.builds(kind, **{field.name: values(hints[field.name]) for field in fields(kind)})


def stored_and_loaded(item: LogItem) -> LogItem:
    return from_json(json.loads(json.dumps(to_json(item))))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_an_item_comes_back_as_it_was(kind: type, data: st.DataObject) -> None:
    item = data.draw(items(kind))
    back = stored_and_loaded(item)
    assert back == item
    assert type(back) is kind


SAID_LIKE_US = [
    {"type": "TextDelta", "path": [0], "text": "Hello"},
    {"type": "Nothing", "part": {"type": "TextPart"}, "usage": {"type": "Usage"}, "key": None},
    [{"path": [[1]], "type": {"type": "Done"}}],
]


@pytest.mark.parametrize("said", SAID_LIKE_US)
def test_what_a_tool_says_is_data_even_where_it_looks_like_an_item(said: Any) -> None:
    for item in (Result("s1", (0,), said, "result", "r1"), ToolProgress("c1", said)):
        assert stored_and_loaded(item) == item


def test_an_item_is_an_object_of_its_type_and_fields() -> None:
    assert to_json(TextDelta("s1", (0,), "Hello")) == {
        "type": "TextDelta",
        "step_id": "s1",
        "path": (0,),
        "text": "Hello",
    }
    assert to_json(Done()) == {"type": "Done"}
    assert to_json(PartStart("s1", (0,), ToolCallPart("c1", "add", "server"))) == {
        "type": "PartStart",
        "step_id": "s1",
        "path": (0,),
        "part": {
            "type": "ToolCallPart",
            "tool_call_id": "c1",
            "tool_name": "add",
            "disposition": "server",
            "predicts": {},
        },
    }


def test_a_headers_key_is_an_object_of_its_own() -> None:
    key = ThreadKey("local", "thread-1")
    header = RunHeader(key, "run", "chat", "m1", "u1", "assistant-transport", None)
    assert to_json(header)["key"] == {
        "type": "ThreadKey",
        "owner": "local",
        "thread_id": "thread-1",
    }


USAGE = {"type": "Usage", "input_tokens": 1, "output_tokens": 2}


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({}, "None"),
        ({"type": None}, "None"),
        ({"type": "Nothing"}, "'Nothing'"),
        ({"type": "textdelta", "path": [0], "text": ""}, "'textdelta'"),
        ({"type": ["Done"]}, "Done"),
        ({"type": "Chunk"}, "'Chunk'"),
        (USAGE, "'Usage' is not an item"),
        ({"type": "TextPart"}, "'TextPart' is not an item"),
        ({"type": "TextDelta", "path": [0]}, "TextDelta: .*text"),
        ({"type": "TextDelta", "path": [0], "text": ""}, "TextDelta: .*step_id"),
        ({"type": "TextDelta", "path": [0], "txt": ""}, "TextDelta: .*text"),
        ({"type": "TextDelta", "path": 0, "text": ""}, "TextDelta: "),
        ({"type": "PartStart", "part": {"type": "Nothing"}}, "'Nothing'"),
    ],
)
def test_what_is_not_one_of_ours_is_refused(value: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        from_json(value)


@pytest.mark.parametrize(
    "value",
    [
        {"type": "PartStart", "part": "TextPart"},
        {"type": "StepFinish", "reason": "stop", "usage": [1, 2]},
    ],
)
def test_a_nested_item_that_is_no_object_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        from_json(value)


def of_a_later_version(value: Any) -> Any:
    """An item whose objects of ours, the nested ones too, have fields that are unknown here."""
    nested = ("key", "part", "usage", "timing", "approval")
    known = {
        name: of_a_later_version(field) if name in nested and field else field
        for name, field in value.items()
    }
    return {"later": {"type": "Later"}, **known, "last": [1]}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_fields_that_only_a_later_version_has_are_ignored(kind: type, data: st.DataObject) -> None:
    item = data.draw(items(kind))
    value = of_a_later_version(json.loads(json.dumps(to_json(item))))
    assert LogDecoder().decode(value) == item


def test_a_chunk_of_a_kind_that_a_newer_version_has_is_passed_over() -> None:
    decoder = LogDecoder()
    assert decoder.decode({"type": "Applause", "loudness": 3}) == Unknown("Applause")
    assert decoder.decode({"type": "Done"}) == Done()


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"type": None},
        {"type": "TextDelta", "step_id": "s1", "path": [0], "later": 1},
        {"type": "PartStart", "part": {"type": "X"}},
        {"type": "TextDelta", "path": [0], "text": "of no part"},
        {"type": "PartFinish", "path": "none"},
        {"type": "PartFinish", "path": ["none"]},
    ],
)
def test_what_cannot_be_passed_over_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"type|TextDelta|has not started"):
        LogDecoder().decode(value)
