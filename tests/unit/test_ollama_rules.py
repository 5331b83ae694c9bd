"""What the endpoint refuses and takes in Ollama's wire, with no HTTP."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.endpoint.refusal import Refusal
from tests.support.endpoint.wires.asked import Asked, Models
from tests.support.endpoint.wires.ollama.rules import refusal
from tests.support.json_changes import changed

USER = {"role": "user", "content": "Hi"}
CLOCK = {"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}}


def body(*messages: Any, **options: Any) -> dict[str, Any]:
    return {"model": "qwen3", "messages": list(messages), "stream": True, **options}


def call(name: str = "clock", arguments: Any = None, **more: Any) -> dict[str, Any]:
    given = {} if arguments is None else arguments
    return {"function": {"name": name, "arguments": given}, **more}


def calling(*calls: Any) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": list(calls)}


def result(**named: Any) -> dict[str, Any]:
    return {"role": "tool", "content": "noon", **named}


VALID: dict[str, dict[str, Any]] = {
    "one question": body(USER),
    "a system prompt and an image": body(
        {"role": "system", "content": "Be brief."}, {**USER, "images": ["iVBORw0KGgo="]}
    ),
    "options": body(USER, options={"num_ctx": 4096}, keep_alive="5m", format="json"),
    **{f"think {value}": body(USER, think=value) for value in (None, True, False, "high")},
    "answers without a name": body(USER, calling(call(), call("x")), result(), result()),
    "answers by name, in any order": body(
        USER, calling(call(), call("x")), result(tool_name="x"), result(tool_name="clock")
    ),
    "answers by id": body(
        USER,
        calling(call(id="a"), call(id="b")),
        result(tool_call_id="b"),
        result(tool_call_id="a"),
    ),
    "an answer by the id of a call without one": body(
        USER, calling(call()), result(tool_call_id="a")
    ),
    "words, a thought and a call": body(
        USER,
        {"role": "assistant", "content": "Well.", "thinking": "Hm.", "tool_calls": [call()]},
        result(),
        {"role": "assistant", "content": "Noon."},
        USER,
        tools=[CLOCK],
        think=True,
    ),
}


def refused(request_body: Any, models: Models | None = None) -> Refusal | None:
    return refusal(Asked(request_body, models=models or Models()))


@pytest.mark.parametrize("request_body", VALID.values(), ids=VALID.keys())
def test_a_valid_request_is_taken(request_body: dict[str, Any]) -> None:
    assert refused(request_body) is None


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no model": ({"messages": [USER]}, "model: Field required"),
    "an empty model": (body(USER, model=""), "model: String should have at least 1"),
    "no messages": (body(), "messages: List should have at least 1"),
    "no stream": (body(USER, stream=False), "stream: Input should be True"),
    "an unknown key of the body": (body(USER, temperature=1), "temperature: Extra inputs"),
    "an unknown key of a message": (body({**USER, "name": "x"}), "messages.0.name: Extra inputs"),
    "a message is a string": (body("Hi"), "messages.0: "),
    "an unknown role": (body({"role": "model", "content": "x"}), "messages.0.role: "),
    "content in parts": (
        body({**USER, "content": [{"type": "text", "text": "Hi"}]}),
        "messages.0.content: Input should be a valid string",
    ),
    "a bare string in a list": (body({**USER, "content": ["Hi"]}), "messages.0.content: "),
    "a thought that is no text": (
        body({"role": "assistant", "content": "x", "thinking": True}),
        "messages.0.thinking: Input should be a valid string",
    ),
    "an image with its scheme": (
        body({**USER, "images": ["data:image/png;base64,QUI="]}),
        "messages.0.images.0: String should match",
    ),
    "an unknown level of thinking": (body(USER, think="on"), "think"),
    "a number for thinking": (body(USER, think=1), "think"),
    "arguments that are text": (
        body(USER, calling(call(arguments="{}")), result()),
        "function.arguments: Input should be a valid dictionary",
    ),
    "a call without a name": (body(USER, calling(call("")), result()), "function.name: "),
    "a lone surrogate": (body({**USER, "content": "\ud800"}), ""),
    "a call of the user": (body({**USER, "tool_calls": [call()]}), "the role user neither calls"),
    "a thought of the user": (body({**USER, "thinking": "Hm."}), "the role user neither calls"),
    "an answer of the user": (
        body(USER, calling(call()), {**USER, "tool_name": "clock"}),
        "a message of the role user answers no call",
    ),
    "an orphan": (body(USER, result()), "a tool message answers no call: without a name"),
    "a second answer": (
        body(USER, calling(call()), result(), result(tool_name="clock")),
        "a tool message answers no call: clock",
    ),
    "an answer by another name": (
        body(USER, calling(call()), result(tool_name="x")),
        "a tool message answers no call: x",
    ),
    "an answer by another id": (
        body(USER, calling(call(id="a")), result(tool_call_id="b")),
        "a tool message answers no call: b",
    ),
    "a call that nothing answers": (
        body(USER, calling(call()), USER),
        "tool calls have no answer: clock",
    ),
    "a last call that nothing answers": (
        body(USER, calling(call())),
        "tool calls have no answer: clock",
    ),
    "a tool twice": (body(USER, tools=[CLOCK, CLOCK]), "tool names must be unique"),
    "a tool in Anthropic's form": (body(USER, tools=[{"name": "clock"}]), "tools.0."),
}


@pytest.mark.parametrize(("request_body", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_an_invalid_request_is_refused_by_its_rule(
    request_body: dict[str, Any], sentence: str
) -> None:
    refusal = refused(request_body)
    assert refusal is not None
    assert sentence in refusal.message
    assert refusal.status == 400


def test_a_model_that_is_not_there_is_404() -> None:
    assert refused(body(USER), Models(("qwen3",))) is None
    refusal = refused(body(USER), Models(("llama3",)))
    assert refusal is not None
    assert (refusal.message, refusal.status) == ("model 'qwen3' not found", 404)


@pytest.mark.parametrize(
    ("asked", "what"), [({"think": True}, "thinking"), ({"tools": [CLOCK]}, "tools")]
)
def test_a_model_is_asked_for_what_it_can(asked: dict[str, Any], what: str) -> None:
    refusal = refused(body(USER, **asked), Models(capabilities=("completion",)))
    assert refusal is not None
    assert f"does not support {what}" in refusal.message


@given(st.sampled_from(list(VALID.values())).flatmap(changed))
def test_the_rules_have_an_answer_for_any_json(changed_body: Any) -> None:
    found = refused(changed_body)
    assert found is None or found.message
