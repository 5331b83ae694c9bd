"""What the endpoint refuses, and what it takes: its rules, with no HTTP."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.endpoint import refusal
from tests.support.endpoint.posted import (
    CALCULATOR,
    USER,
    body,
    call,
    calling,
    function,
    offering,
    result,
    schema,
)
from tests.support.endpoint.rules import read
from tests.support.json_changes import changed


def user(*parts: Any) -> dict[str, Any]:
    return body({"role": "user", "content": list(parts)})


def image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


VALID: dict[str, dict[str, Any]] = {
    "one question": body(USER),
    "system and developer": body(
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "Briefer."}]},
        {"role": "user", "content": "Hi", "name": "ann"},
    ),
    "parts": user(
        {"type": "text", "text": "What is this?"},
        image("https://example.org/a.png"),
        image("data:image/png;base64,iVBORw0KGgo="),
    ),
    "parallel calls": body(
        USER,
        calling(call("a"), call("b", "clock"), content="Let me see."),
        result("b", [{"type": "text", "text": "noon"}]),
        result("a", ""),
        {"role": "assistant", "content": "Two, at noon."},
        USER,
    ),
    "the same id in two turns": body(
        USER, calling(call("call_0")), result("call_0"), calling(call("call_0")), result("call_0")
    ),
    "calls without the key content": body(
        USER,
        {"role": "assistant", "tool_calls": [call("a", arguments='{"x": [1, null]}')]},
        result("a"),
    ),
    "an id of 40 characters": body(USER, calling(call("x" * 40)), result("x" * 40)),
    "tools": offering(
        CALCULATOR,
        function(name="clock-2_B", parameters={"type": "object", "properties": {}}),
        schema(properties={"rows": {"type": "array", "items": {"anyOf": [{"type": "string"}]}}})
        | {"function": {"name": "no_parameters"}},
        tool_choice={"type": "function", "function": {"name": "calculator"}},
        parallel_tool_calls=True,
    ),
    "a nested union": offering(
        schema(properties={"at": {"anyOf": [{"type": "string"}, {"type": "null"}]}})
    ),
    "a stream with usage": body(USER, stream=True, stream_options={"include_usage": True}),
}


@pytest.mark.parametrize("request_body", VALID.values(), ids=VALID.keys())
def test_a_valid_request_is_taken(request_body: dict[str, Any]) -> None:
    assert refusal(request_body) is None


ANSWERED = (USER, calling(call("a")), result("a"))
REFUSED: dict[str, tuple[Any, str | None]] = {
    "no object": ([USER], None),
    "a lone surrogate": (body({"role": "user", "content": "\ud800"}), None),
    "a lone surrogate in a key": (body(USER, metadata={"\udfff": "x"}), None),
    "no model": ({"messages": [USER]}, "model"),
    "an empty model": ({"model": "", "messages": [USER]}, "model"),
    "stream is no boolean": (body(USER, stream="yes"), "stream"),
    "stream options without a stream": (body(USER, stream_options={}), "stream_options"),
    "stream options are no object": (body(USER, stream=True, stream_options=1), "stream_options"),
    "no messages": ({"model": "any"}, "messages"),
    "messages are no array": ({"model": "any", "messages": {}}, "messages"),
    "empty messages": (body(), "messages"),
    "a message is a string": (body("Hi"), "messages[0]"),
    "no role": (body({"content": "Hi"}), "messages[0].role"),
    "an unknown role": (body({"role": "ai", "content": "Hi"}), "messages[0].role"),
    "an unknown key": (body({**USER, "id": "m1"}), "messages[0].id"),
    "tool calls of a user": (body({**USER, "tool_calls": []}), "messages[0].tool_calls"),
    "a name with a space": (body({**USER, "name": "a b"}), "messages[0].name"),
    "no content": (body({"role": "user"}), "messages[0].content"),
    "null content": (body({"role": "user", "content": None}), "messages[0].content"),
    "null content of a result": (
        body(USER, calling(call("a")), result("a", None)),
        "messages[2].content",
    ),
    "content is a number": (body({"role": "user", "content": 1}), "messages[0].content"),
    "content is an object": (
        body(USER, {"role": "assistant", "content": {"text": "x"}}),
        "messages[1].content",
    ),
    "empty parts": (body({"role": "user", "content": []}), "messages[0].content"),
    "an assistant with neither": (body(USER, {"role": "assistant"}), "messages[1].content"),
    "an assistant with null": (
        body(USER, {"role": "assistant", "content": None}),
        "messages[1].content",
    ),
    "an assistant with empty text": (
        body(USER, {"role": "assistant", "content": ""}),
        "messages[1].content",
    ),
    "an assistant with empty parts": (
        body(USER, {"role": "assistant", "content": []}),
        "messages[1].content",
    ),
    "a part is a string": (user("Hi"), "messages[0].content[0]"),
    "a part without a type": (user({"text": "Hi"}), "messages[0].content[0].type"),
    "an unknown part": (user({"type": "video"}), "messages[0].content[0].type"),
    "an image in a result": (
        body(USER, calling(call("a")), result("a", [image("https://example.org/a.png")])),
        "messages[2].content[0].type",
    ),
    "a text part without text": (user({"type": "text"}), "messages[0].content[0].text"),
    "a text part with an id": (
        user({"type": "text", "text": "x", "id": "1"}),
        "messages[0].content[0].id",
    ),
    "an image that is a string": (
        user({"type": "image_url", "image_url": "https://example.org/a.png"}),
        "messages[0].content[0].image_url",
    ),
    "an image without a scheme": (user(image("a.png")), "messages[0].content[0].image_url.url"),
    "an image that is a page": (
        user(image("data:text/html;base64,aGk=")),
        "messages[0].content[0].image_url.url",
    ),
    "a file that is a string": (
        user({"type": "file", "file": "x"}),
        "messages[0].content[0].file",
    ),
    "a result without its call id": (
        body(USER, calling(call("a")), {"role": "tool", "content": "2"}),
        "messages[2].tool_call_id",
    ),
    "tool calls are null": (
        body(USER, {"role": "assistant", "content": "x", "tool_calls": None}),
        "messages[1].tool_calls",
    ),
    "empty tool calls": (body(USER, calling(content="x")), "messages[1].tool_calls"),
    "a call is a string": (
        body(USER, {"role": "assistant", "tool_calls": ["a"]}),
        "messages[1].tool_calls[0]",
    ),
    "a call with an index": (
        body(USER, calling({**call("a"), "index": 0}), result("a")),
        "messages[1].tool_calls[0].index",
    ),
    "a call of another type": (
        body(USER, calling({**call("a"), "type": "custom"}), result("a")),
        "messages[1].tool_calls[0].type",
    ),
    "a call without a function": (
        body(USER, calling({"id": "a", "type": "function"}), result("a")),
        "messages[1].tool_calls[0].function",
    ),
    "a call without an id": (
        body(USER, calling({"type": "function", "function": {"name": "x", "arguments": "{}"}})),
        "messages[1].tool_calls[0].id",
    ),
    "a null id": (
        body(USER, calling({**call("a"), "id": None})),
        "messages[1].tool_calls[0].id",
    ),
    "an empty id": (
        body(USER, calling(call("")), result("")),
        "messages[1].tool_calls[0].id",
    ),
    "an id of 41 characters": (
        body(USER, calling(call("x" * 41)), result("x" * 41)),
        "messages[2].tool_call_id",
    ),
    "an unanswered id of 41 characters": (
        body(USER, calling(call("x" * 41))),
        "messages[1].tool_calls[0].id",
    ),
    "a called name with a space": (
        body(USER, calling(call("a", "the calculator")), result("a")),
        "messages[1].tool_calls[0].function.name",
    ),
    "a called name with a line's end": (
        body(USER, calling(call("a", "calculator\n")), result("a")),
        "messages[1].tool_calls[0].function.name",
    ),
    "an empty called name": (
        body(USER, calling(call("a", "")), result("a")),
        "messages[1].tool_calls[0].function.name",
    ),
    "a called name of 65 characters": (
        body(USER, calling(call("a", "x" * 65)), result("a")),
        "messages[1].tool_calls[0].function.name",
    ),
    "an id twice in a message": (
        body(USER, calling(call("a"), call("a")), result("a")),
        "messages[1].tool_calls[1].id",
    ),
    "a call without its answer": (body(USER, calling(call("a"))), "messages[1].tool_calls"),
    "one of two calls without its answer": (
        body(USER, calling(call("a"), call("b")), result("b"), USER),
        "messages[1].tool_calls",
    ),
    "an answer after another role": (
        body(USER, calling(call("a")), USER, result("a")),
        "messages[3].tool_call_id",
    ),
    "an answer split from its call by an assistant": (
        body(*ANSWERED[:2], {"role": "assistant", "content": "x"}, result("a")),
        "messages[3].tool_call_id",
    ),
    "an answer at the start": (body(result("a"), USER), "messages[0].tool_call_id"),
    "an answer to nothing": (body(USER, result("a")), "messages[1].tool_call_id"),
    "an answer to another call": (
        body(*ANSWERED, result("b")),
        "messages[3].tool_call_id",
    ),
    "a second answer": (body(*ANSWERED, result("a")), "messages[3].tool_call_id"),
    "a second answer in a later turn": (
        body(*ANSWERED, USER, result("a")),
        "messages[4].tool_call_id",
    ),
    "tools are no array": (body(USER, tools={}), "tools"),
    "empty tools": (offering(), "tools"),
    "a tool is a string": (offering("calculator"), "tools[0]"),
    "a tool of another type": (offering({**CALCULATOR, "type": "custom"}), "tools[0].type"),
    "a tool without a function": (offering({"type": "function"}), "tools[0].function"),
    "an unknown key of a tool": (offering(function(args={})), "tools[0].function.args"),
    "a tool without a name": (
        offering({"type": "function", "function": {}}),
        "tools[0].function.name",
    ),
    "a tool's name with a dot": (offering(function(name="a.b")), "tools[0].function.name"),
    "a tool's name of 65": (offering(function(name="x" * 65)), "tools[0].function.name"),
    "a tool's name twice": (offering(CALCULATOR, CALCULATOR), "tools[1].function.name"),
    "129 tools": (offering(*(function(name=f"t{n}") for n in range(129))), "tools"),
    "a description that is null": (
        offering(function(description=None)),
        "tools[0].function.description",
    ),
    "parameters that are null": (
        offering(function(parameters=None)),
        "tools[0].function.parameters",
    ),
    "a schema without a type": (
        offering(function(parameters={"properties": {}})),
        "tools[0].function.parameters",
    ),
    "a schema of a string": (offering(schema(type="string")), "tools[0].function.parameters"),
    "a schema without properties": (
        offering(function(parameters={"type": "object"})),
        "tools[0].function.parameters",
    ),
    "an array without items": (
        offering(schema(properties={"rows": {"type": "array"}})),
        "tools[0].function.parameters",
    ),
    "a nested array without items": (
        offering(schema(properties={"rows": {"anyOf": [{"type": "array"}, {"type": "null"}]}})),
        "tools[0].function.parameters",
    ),
    "a choice without tools": (body(USER, tool_choice="auto"), "tool_choice"),
    "parallel calls without tools": (
        body(USER, parallel_tool_calls=False),
        "parallel_tool_calls",
    ),
    "an unknown choice": (offering(CALCULATOR, tool_choice="any"), "tool_choice"),
    "a choice that is not offered": (
        offering(CALCULATOR, tool_choice={"type": "function", "function": {"name": "clock"}}),
        "tool_choice",
    ),
    **{
        f"{key} at the top of a schema": (
            offering(schema(**{key: [{}]})),
            "tools[0].function.parameters",
        )
        for key in ("oneOf", "anyOf", "allOf", "enum", "not")
    },
    **{
        f"the arguments {text!r}": (
            body(USER, calling(call("a", arguments=text)), result("a")),
            "messages[1].tool_calls[0].function.arguments",
        )
        for text in ("", "{bad", '{"a": 1', "[]", "null", '"x"', '{"a": NaN}', "{} {}", "[" * 5000)
    },
    "arguments that are an object": (
        body(
            USER,
            calling({"id": "a", "type": "function", "function": {"name": "x", "arguments": {}}}),
        ),
        "messages[1].tool_calls[0].function.arguments",
    ),
}


@pytest.mark.parametrize(("request_body", "param"), REFUSED.values(), ids=REFUSED.keys())
def test_an_invalid_request_is_refused_by_the_name_of_its_fault(
    request_body: Any, param: str | None
) -> None:
    refused = refusal(request_body)
    assert refused is not None
    assert refused.param == param


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b'{"model": NaN}', b'{"model": "\xff"}', b"[" * 100_000],
    ids=["nothing", "broken", "array", "NaN", "not UTF-8", "bottomless"],
)
def test_bytes_that_are_no_json_object_are_refused(raw: bytes) -> None:
    assert not isinstance(read(raw), dict)


@given(st.sampled_from(list(VALID.values())), st.data())
def test_the_rules_have_an_answer_for_any_json(valid: dict[str, Any], data: st.DataObject) -> None:
    refused = refusal(data.draw(changed(valid)))
    assert refused is None or refused.message
