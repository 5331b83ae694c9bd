"""What the endpoint refuses and takes in Gemini's wire, with no HTTP."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.endpoint.refusal import Refusal
from tests.support.endpoint.wires.asked import Asked
from tests.support.endpoint.wires.gemini.rules import SKIP, refusal
from tests.support.endpoint.wires.gemini.sealed import call_text
from tests.support.endpoint.wires.seals import Seals
from tests.support.json_changes import changed

SEALS = Seals()
ARGS = {"zone": "x", "at": 1}
SIGNATURE = SEALS.sign(call_text("clock", ARGS))
RENAMED = SEALS.sign(call_text("0 clock!", ARGS))
SPOKEN = SEALS.sign("some words")
PIXEL = {"mimeType": "image/png", "data": "iVBORw0KGgo="}


def body(*contents: Any, **options: Any) -> dict[str, Any]:
    return {"contents": list(contents), **options}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def call(
    signature: str | None = None, name: str = "clock", args: Any = ARGS, **more: Any
) -> dict[str, Any]:
    part = {"functionCall": {"name": name, "args": args, **more}}
    return part if signature is None else {**part, "thoughtSignature": signature}


def response(name: str = "clock", value: Any = None, **more: Any) -> dict[str, Any]:
    said = {"output": "noon"} if value is None else value
    return {"functionResponse": {"name": name, "response": said, **more}}


def declared(**changes: Any) -> dict[str, Any]:
    return body(USER, tools=[{"functionDeclarations": [{**CLOCK, **changes}]}])


def parameters(**properties: Any) -> dict[str, Any]:
    return declared(parameters={"type": "OBJECT", "properties": properties})


USER = user({"text": "Hi"})
CLOCK = {
    "name": "clock",
    "description": "Tell the time.",
    "parameters": {
        "type": "OBJECT",
        "properties": {
            "zone": {"type": "STRING", "enum": ["x", "y"], "nullable": True},
            "days": {"type": "ARRAY", "items": {"type": "INTEGER", "minimum": 1}},
            "at": {"anyOf": [{"type": "NUMBER"}, {"type": "STRING", "format": "date-time"}]},
        },
        "required": ["zone"],
    },
}

VALID: dict[str, dict[str, Any]] = {
    "one question": body(USER),
    "keys with underscores": body(
        user({"text": "What is this?"}, {"inline_data": {"mime_type": "image/png", "data": "QUI="}})
    ),
    "an image": body(user({"text": "What is this?"}, {"inlineData": PIXEL})),
    "a system prompt and options": body(
        USER,
        systemInstruction={"parts": [{"text": "Be brief."}]},
        generationConfig={"candidateCount": 1, "thinkingConfig": {"includeThoughts": True}},
        safetySettings=[],
    ),
    "a thought": body(USER, model({"text": "Hm.", "thought": True}, {"text": "So."}), USER),
    "an empty text that is signed": body(
        USER, model({"text": "So."}, {"text": "", "thoughtSignature": SPOKEN}), USER
    ),
    "parallel calls, the first signed": body(
        USER, model({"text": "Let me see."}, call(SIGNATURE), call()), user(response(), response())
    ),
    "a signature in the other alphabet": body(
        USER, model(call(SIGNATURE.replace("+", "-").replace("/", "_"))), user(response())
    ),
    "arguments in another order": body(
        USER, model(call(SIGNATURE, args={"at": 1, "zone": "x"})), user(response())
    ),
    "a call whose name could not stay": body(
        USER, model(call(RENAMED, name="_0_clock")), user(response("_0_clock"))
    ),
    "a call of another model": body(USER, model(call(SKIP)), user(response())),
    "an earlier turn without signatures": body(
        USER, model(call()), user(response()), model({"text": "Noon."}), USER
    ),
    "calls with ids": body(USER, model(call(SIGNATURE, id="a")), user(response(id="a"))),
    "tools": declared(),
    "a tool without parameters": declared(parameters=None),
    "a tool with a JSON schema": declared(
        parameters=None, parametersJsonSchema={"type": "object", "$defs": {}}
    ),
}


def refused(request_body: Any, model_name: str = "gemini-3.5-flash") -> Refusal | None:
    return refusal(Asked(request_body, SEALS, model_name))


@pytest.mark.parametrize("request_body", VALID.values(), ids=VALID.keys())
def test_a_valid_request_is_taken(request_body: dict[str, Any]) -> None:
    assert refused(request_body) is None


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no contents": (body(), "contents is not specified"),
    "an unknown key of the body": (
        body(USER, model="x"),
        "Unknown name \"model\" at '': Cannot find field.",
    ),
    "an unknown key of a part": (
        body(user({"text": "Hi", "type": "text"})),
        "Unknown name \"type\" at 'contents[0].parts[0]': Cannot find field.",
    ),
    "an unknown key of a schema": (
        declared(parameters={"type": "OBJECT", "properties": {}, "additionalProperties": False}),
        'Unknown name "additionalProperties"',
    ),
    "an unknown role": (body({"role": "assistant", "parts": []}), "'contents[0].role'"),
    "no role": (body({"parts": [{"text": "Hi"}]}), "'contents[0].role'"),
    "a content is a string": (body("Hi"), "'contents[0]'"),
    "a bare string in a list": (body(user("Hi")), "'contents[0].parts[0]'"),
    "no parts": (body(user()), "contents[0].parts: must include at least one parts field"),
    "an empty part": (body(user({})), "contents[0].parts[0].data: required oneof"),
    "a thought that is nothing": (body(user({"thought": True})), "required oneof"),
    "two values in a part": (body(user({"text": "Hi", "inlineData": PIXEL})), "required oneof"),
    "an empty text": (body(user({"text": ""})), "contents[0].parts[0]: Unable to submit an empty"),
    "an empty system prompt": (
        body(USER, systemInstruction={"parts": [{"text": ""}]}),
        "system_instruction.parts[0]: Unable to submit an empty text",
    ),
    "a system prompt that is a string": (body(USER, systemInstruction="x"), "systemInstruction"),
    "a lone surrogate": (body(user({"text": "\ud800"})), ""),
    "an image with its scheme": (
        body(user({"inlineData": {**PIXEL, "data": "data:image/png;base64,QUI="}})),
        "'contents[0].parts[0].inlineData.data'",
    ),
    "an image of no type": (
        body(user({"inlineData": {"data": "QUI="}})),
        "'contents[0].parts[0].inlineData.mimeType'",
    ),
    "the model begins": (body(model({"text": "Hi"}), USER), "first content has the role user"),
    "the model is last": (body(USER, model({"text": "Hi"})), "last content has the role user"),
    "a call of the user": (body(user(call())), "function call turns have the role model"),
    "a response of the model": (
        body(USER, model(response()), USER),
        "function response turns have the role user",
    ),
    "a call behind words of the model": (
        body(USER, model({"text": "Hm."}), model(call(SIGNATURE)), user(response())),
        "function call turn comes immediately after a user turn",
    ),
    "an orphan": (body(user(response())), "number of function response parts"),
    "a call without an answer": (
        body(USER, model(call(SIGNATURE), call()), user(response())),
        "number of function response parts is equal",
    ),
    "a call that words answer": (
        body(USER, model(call(SIGNATURE)), user({"text": "Well?"})),
        "number of function response parts is equal",
    ),
    "an answer by another name": (
        body(USER, model(call(SIGNATURE)), user(response("calculator"))),
        "function responses have the names of their calls",
    ),
    "an answer by another id": (
        body(USER, model(call(SIGNATURE, id="a")), user(response(id="b"))),
        "function responses have the ids of their calls",
    ),
    "an answer that is text": (
        body(USER, model(call(SIGNATURE)), user(response(value="noon"))),
        "functionResponse.response'",
    ),
    "arguments that are text": (
        body(USER, model(call(SIGNATURE, args="{}")), user(response())),
        "functionCall.args'",
    ),
    "a name with a space": (
        body(USER, model(call(SIGNATURE, name="a b")), user(response())),
        "functionCall.name'",
    ),
    "no signature in this turn": (
        body(USER, model(call()), user(response())),
        "missing a thought_signature",
    ),
    "no signature in the second step": (
        body(USER, model(call(SIGNATURE)), user(response()), model(call()), user(response())),
        "missing a thought_signature",
    ),
    "a signature on the second call alone": (
        body(USER, model(call(), call(SIGNATURE)), user(response(), response())),
        "missing a thought_signature",
    ),
    "a signature of nobody": (
        body(USER, model(call("QUJD")), user(response())),
        "Corrupted thought signature",
    ),
    "a signature of another call": (
        body(USER, model(call(SIGNATURE, args={"zone": "y"})), user(response())),
        "Corrupted thought signature",
    ),
    "a signature of words": (
        body(USER, model(call(SPOKEN)), user(response())),
        "Corrupted thought signature",
    ),
    "a function's name with a space": (declared(name="a b"), "functionDeclarations[0].name'"),
    "a function's name of 65": (declared(name="x" * 65), "functionDeclarations[0].name'"),
    "a function twice": (
        body(USER, tools=[{"functionDeclarations": [CLOCK, CLOCK]}]),
        "Duplicate function declaration found: clock",
    ),
    "parameters of a string": (declared(parameters={"type": "STRING"}), "type should be OBJECT"),
    "a type that is not there": (parameters(x={"type": "DATE"}), "properties[x].type': 'DATE'"),
    "an array without items": (parameters(x={"type": "ARRAY"}), "properties[x].items: missing"),
    "a choice of numbers": (
        parameters(x={"type": "INTEGER", "enum": ["1"]}),
        "enum: only allowed for STRING type",
    ),
    "a nested fault": (
        parameters(x={"anyOf": [{"type": "ARRAY"}]}),
        "properties[x].any_of[0].items: missing",
    ),
    "a required property that is not there": (
        declared(parameters={"type": "OBJECT", "properties": {}, "required": ["x"]}),
        "property is not defined: x",
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


@pytest.mark.parametrize(
    ("model_name", "is_taken"),
    [
        ("gemini-2.5-flash", True),
        ("models/gemini-2.0-flash", True),
        ("gemini-3.5-flash", False),
        ("gemini-20-pro", False),
        ("learnlm", False),
    ],
)
def test_calls_of_the_second_generation_need_no_signature(model_name: str, is_taken: bool) -> None:
    unsigned = body(USER, model(call()), user(response()))
    assert (refused(unsigned, model_name) is None) is is_taken


@given(st.sampled_from(list(VALID.values())).flatmap(changed))
def test_the_rules_have_an_answer_for_any_json(changed_body: Any) -> None:
    found = refused(changed_body)
    assert found is None or found.message
