"""What the endpoint refuses and takes in Anthropic's wire, with no HTTP."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.endpoint.refusal import Refusal
from tests.support.endpoint.wires.anthropic.rules import refusal
from tests.support.endpoint.wires.asked import Asked
from tests.support.endpoint.wires.seals import Seals
from tests.support.json_changes import changed

SEALS = Seals()
THOUGHT = "Hm."
THINKING = {"type": "thinking", "thinking": THOUGHT, "signature": SEALS.sign(THOUGHT)}
USER = {"role": "user", "content": "Hi"}
TOOL = {
    "name": "clock",
    "description": "Tell the time.",
    "input_schema": {"type": "object", "properties": {"zone": {"type": "string"}}},
}
BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}
PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}


def body(*messages: Any, **options: Any) -> dict[str, Any]:
    given = {"model": "claude-haiku-4-5", "max_tokens": 100, "stream": True}
    return {**given, "messages": list(messages), **options}


def text(words: Any) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def use(id: Any = "a", **changes: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "clock", "input": {}, **changes}


def result(id: str = "a", content: Any = "noon") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def image(**source: Any) -> dict[str, Any]:
    return {"type": "image", "source": source}


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in body(USER).items() if name != key}


def tool(**changes: Any) -> dict[str, Any]:
    return body(USER, tools=[{**TOOL, **changes}])


VALID: dict[str, dict[str, Any]] = {
    "one question": body(USER),
    "a system prompt": body(USER, system="Be brief."),
    "a system prompt in blocks": body(
        USER, system=[{**text("Be brief."), "cache_control": {"type": "ephemeral"}}]
    ),
    "images": body(
        user(text("What is this?"), image(**PIXEL), image(type="url", url="https://e.org/a.png"))
    ),
    "two messages of the user": body(USER, USER),
    "parallel calls": body(
        USER,
        assistant(text("Let me see."), use("a"), use("toolu_B-2")),
        user(result("toolu_B-2", [text("noon"), image(**PIXEL)]), result("a", ""), text("Well?")),
        assistant(text("Noon.")),
        USER,
        tools=[TOOL],
        tool_choice={"type": "tool", "name": "clock"},
    ),
    "calls of a thought": body(USER, assistant(THINKING, use()), user(result()), **BUDGET),
    "an earlier turn that did not think": body(
        USER, assistant(use()), user(result()), assistant(text("Noon.")), USER, **BUDGET
    ),
    "calls without a thought where thinking is adaptive": body(
        USER, assistant(use()), user(result()), thinking={"type": "adaptive"}
    ),
    "calls without a thought where nothing thinks": body(USER, assistant(use()), user(result())),
}


def refused(request_body: Any) -> Refusal | None:
    return refusal(Asked(request_body, SEALS))


@pytest.mark.parametrize("request_body", VALID.values(), ids=VALID.keys())
def test_a_valid_request_is_taken(request_body: dict[str, Any]) -> None:
    assert refused(request_body) is None


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no model": (without("model"), "model: Field required"),
    "no max_tokens": (without("max_tokens"), "max_tokens: Field required"),
    "no tokens at all": (body(USER, max_tokens=0), "max_tokens: Input should be greater"),
    "no stream": (without("stream"), "stream: Field required"),
    "no messages": (without("messages"), "messages: Field required"),
    "empty messages": (body(), "messages: List should have at least 1 item"),
    "a message is a string": (body("Hi"), "messages.0: "),
    "an unknown role": (body({"role": "system", "content": "x"}), "'user', 'assistant'"),
    "an unknown key of the body": (body(USER, n=1), "n: Extra inputs are not permitted"),
    "an unknown key of a message": (
        body({**USER, "id": "m"}),
        "messages.0.id: Extra inputs are not permitted",
    ),
    "an unknown key of a block": (
        body(user({**text("x"), "index": 0})),
        "messages.0.content.0.text.index: Extra inputs are not permitted",
    ),
    "an unknown block": (body(user({"type": "input_text", "text": "x"})), "'input_text'"),
    "a call of the user": (body(user(use())), "'tool_use'"),
    "a bare string in a list": (body(user("Hi")), "messages.0.content.0: "),
    "no content": (body(user()), "messages.0: all messages must have non-empty content"),
    "an empty string": (body({**USER, "content": ""}), "text content blocks must be non-empty"),
    "an empty text": (body(user(text(""))), "messages: text content blocks must be non-empty"),
    "a thought at the end of an earlier message": (
        body(USER, assistant(text("Well,"), THINKING), USER),
        "messages.1: The final block in an assistant message cannot be `thinking`.",
    ),
    "a blank text": (
        body(USER, assistant(text(" \n")), USER),
        "messages: text content blocks must be non-empty",
    ),
    "an empty text in a result": (
        body(USER, assistant(use()), user(result("a", [text("")]))),
        "messages: text content blocks must be non-empty",
    ),
    "a blank system prompt": (body(USER, system=" "), "system: text content blocks must be"),
    "no block of a system prompt": (body(USER, system=[]), "system: text content blocks must be"),
    "a system message in the system prompt": (body(USER, system=[USER]), "system.0.type"),
    "a lone surrogate": (body({**USER, "content": "\ud800"}), ""),
    "the assistant begins": (body(assistant(text("Hi")), USER), 'must use the "user" role'),
    "the assistant is last": (body(USER, assistant(text("Hi "))), "assistant message prefill"),
    "a call without an answer": (
        body(USER, assistant(use("a"), use("b")), user(result("a"))),
        "without `tool_result` blocks immediately after: b.",
    ),
    "an answer that is late": (
        body(USER, assistant(use()), USER, user(result())),
        "messages.3: unexpected `tool_use_id`",
    ),
    "an orphan": (body(user(result())), "messages.0: unexpected `tool_use_id`"),
    "an answer to another call": (
        body(USER, assistant(use()), user(result("b"))),
        "unexpected `tool_use_id` found in `tool_result` blocks: b.",
    ),
    "a second answer": (
        body(USER, assistant(use()), user(result(), result())),
        "each tool_use must have a single result",
    ),
    "an answer behind words": (
        body(USER, assistant(use()), user(text("Well?"), result())),
        "messages.2: `tool_result` blocks must come first",
    ),
    "an id twice": (
        body(USER, assistant(use()), user(result()), assistant(use()), user(result())),
        "`tool_use` ids must be unique",
    ),
    "an id with a dot": (body(USER, assistant(use("a.b"))), "tool_use.id: String should match"),
    "an id with an end of line": (body(USER, assistant(use("a\n"))), "String should match"),
    "a name with a space": (body(USER, assistant(use(name="a b"))), "tool_use.name: String should"),
    "an input that is text": (
        body(USER, assistant(use(input="{}"))),
        "tool_use.input: Input should be a valid dictionary",
    ),
    "an image of another kind": (
        body(user(image(**{**PIXEL, "media_type": "image/bmp"}))),
        "source.base64.media_type",
    ),
    "an image that is no base64": (
        body(user(image(**{**PIXEL, "data": "data:image/png;base64,iVBORw=="}))),
        "source.base64.data",
    ),
    "an image at no https address": (
        body(user(image(type="url", url="file:///a.png"))),
        "source.url.url",
    ),
    "a thought without a signature": (
        body(USER, assistant({"type": "thinking", "thinking": THOUGHT}), USER),
        "thinking.signature: Field required",
    ),
    "a signature of nobody": (
        body(USER, assistant({**THINKING, "signature": "QUJD"}, text("x")), USER),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    "another thought": (
        body(USER, assistant({**THINKING, "thinking": "Hm!"}, text("x")), USER),
        "Invalid `signature` in `thinking` block",
    ),
    "a hidden thought of nobody": (
        body(USER, assistant({"type": "redacted_thinking", "data": "QUJD"}, text("x")), USER),
        "Invalid `data` in `redacted_thinking` block",
    ),
    "a call of this turn without a thought": (
        body(USER, assistant(use()), user(result()), **BUDGET),
        "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    ),
    "a thought behind the words": (
        body(USER, assistant(text("So."), THINKING, use()), user(result()), **BUDGET),
        "Expected `thinking` or `redacted_thinking`, but found `text`",
    ),
    "a small budget": (
        body(USER, thinking={"type": "enabled", "budget_tokens": 1023}, max_tokens=4096),
        "budget_tokens: Input should be greater than or equal to 1024",
    ),
    "a budget of all tokens": (
        body(USER, **{**BUDGET, "max_tokens": 1024}),
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    "a temperature of a thinker": (
        body(USER, **BUDGET, temperature=0.5),
        "`temperature` may only be set to 1",
    ),
    "a thinker that must call": (
        body(USER, **BUDGET, tools=[TOOL], tool_choice={"type": "any"}),
        "Thinking may not be enabled when tool_choice forces tool use",
    ),
    "a tool's name with a dot": (tool(name="a.b"), "tools.0.name: String should match"),
    "a tool's name of 129": (tool(name="x" * 129), "tools.0.name: String should match"),
    "a schema of an array": (tool(input_schema={"type": "array"}), "tools.0.input_schema.type"),
    "a tool in OpenAI's form": (
        body(USER, tools=[{"type": "function", "function": TOOL}]),
        "tools.0.type",
    ),
    "a tool twice": (body(USER, tools=[TOOL, TOOL]), "Tool names must be unique"),
    "a choice without tools": (body(USER, tool_choice={"type": "auto"}), "while providing tools"),
    "a choice that is not offered": (
        body(USER, tools=[TOOL], tool_choice={"type": "tool", "name": "x"}),
        "Tool 'x' not found",
    ),
}


@pytest.mark.parametrize(("request_body", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_an_invalid_request_is_refused_by_its_rule(
    request_body: dict[str, Any], sentence: str
) -> None:
    refusal = refused(request_body)
    assert refusal is not None
    assert sentence in refusal.message
    assert refusal.status == 400


@given(st.sampled_from(list(VALID.values())).flatmap(changed))
def test_the_rules_have_an_answer_for_any_json(changed_body: Any) -> None:
    found = refused(changed_body)
    assert found is None or found.message
