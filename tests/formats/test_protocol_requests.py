"""Bodies of every client to what they ask for, or to one clear sentence and a code."""

import json
from typing import Any

import pytest

from turnstream.server.formats import WIRE_FORMATS, BodyLimits, PostedTurn, parse
from turnstream.server.formats.fields import keys
from turnstream.server.formats.format import View
from turnstream.server.formats.graph_values import NATIVE_KEYS
from turnstream.server.formats.native.body import ACTIONS, NativeBody
from turnstream.server.turns.requests import (
    AppContext,
    AttachRequest,
    Branch,
    ClientTool,
    ImageContent,
    InvalidRequest,
    TextContent,
    ToolAnswer,
    TurnRequest,
    UserMessage,
)

LIMITS = BodyLimits(max_message_chars=100)
PIXEL = "data:image/png;base64,iVBORw0KGgo="
SCHEMA = {"type": "object", "properties": {"day": {"type": "string"}}}
HALF = "\ud83d"
TRANSPORT_FORMAT = WIRE_FORMATS["assistant-transport"]
UI_FORMAT = WIRE_FORMATS["ui-message-stream"]


def said(text: str, message_id: str | None = None) -> UserMessage:
    return UserMessage((TextContent(text),), message_id)


def native(*, view: View = None, **fields: Any) -> PostedTurn:
    return PostedTurn(TurnRequest(**fields), TRANSPORT_FORMAT, view)


def attach(thread_id: str | None = None, view: View = None) -> PostedTurn:
    return PostedTurn(AttachRequest(thread_id), TRANSPORT_FORMAT, view)


def transport(*commands: Any, **fields: Any) -> dict[str, Any]:
    return {"commands": list(commands), **fields}


def add_message(*parts: Any, source: str | None = None) -> dict[str, Any]:
    message = {"role": "user", "parts": list(parts)}
    return {"type": "add-message", "message": message, "parentId": None, "sourceId": source}


def add_result(call: Any, result: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "add-tool-result", "toolCallId": call, "result": result, **fields}


def chat(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "c1", "messages": list(messages), "trigger": "submit-message", **fields}


def user(*parts: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "u9", "role": "user", "parts": list(parts), **fields}


def assistant(*parts: Any) -> dict[str, Any]:
    return {"id": "m9", "role": "assistant", "parts": list(parts)}


def text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value}


def call(state: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool-ask", "toolCallId": "call_1", "state": state, "input": {}, **fields}


NATIVE: list[tuple[dict[str, Any], PostedTurn]] = [
    ({"message": "Hi"}, native(message=said("Hi"))),
    (
        {"message": "Hi", "thread_id": "t-1", "on_busy": "stop"},
        native(message=said("Hi"), thread_id="t-1", on_busy="stop"),
    ),
    (
        {"message": {"id": "u1", "parts": [text("See"), {"type": "image", "image": PIXEL}]}},
        native(message=UserMessage((TextContent("See"), ImageContent(PIXEL)), "u1")),
    ),
    (
        {"message": {"parts": [text(" "), {"type": "image", "image": "https://a.org/b.png"}]}},
        native(message=UserMessage((ImageContent("https://a.org/b.png"),))),
    ),
    (
        {"tool_results": [{"tool_call_id": "c", "result": None}], "message": "Hi"},
        native(message=said("Hi"), answers=(ToolAnswer("c", None),)),
    ),
    (
        {"tool_results": [{"tool_call_id": "c", "result": {"a": [1]}, "is_error": True}]},
        native(answers=(ToolAnswer("c", {"a": [1]}, is_error=True),)),
    ),
    ({"continue": True}, native(continue_=True)),
    ({"regenerate": True}, native(branch=Branch("regenerate", None))),
    ({"regenerate": "m1"}, native(branch=Branch("regenerate", "m1"))),
    (
        {"edit": {"message_id": "u1", "message": "Again"}},
        native(message=said("Again"), branch=Branch("edit", "u1")),
    ),
    (
        {"message": "Hi", "client_tools": [{"name": "pick-day", "parameters": SCHEMA}]},
        native(
            message=said("Hi"),
            client_tools=(ClientTool("pick-day", "", SCHEMA),),
            needs_tools=True,
        ),
    ),
    (
        {"message": "Hi", "thread_id": None, "edit": None, "client_tools": None},
        native(message=said("Hi")),
    ),
    ({"message": "Hi", "tool_results": []}, native(message=said("Hi"))),
]


@pytest.mark.parametrize(("body", "expected"), NATIVE)
def test_a_native_body_asks_for_its_turn(body: dict[str, Any], expected: PostedTurn) -> None:
    assert parse(body, LIMITS) == expected


TRANSPORT: list[tuple[dict[str, Any], PostedTurn]] = [
    (transport(), attach()),
    (transport(state={"a": 1}), attach(view={"a": 1})),
    (transport(state={"thread_id": "t1"}), attach("t1", view={"thread_id": "t1"})),
    (transport(threadId="t2"), attach("t2")),
    (transport(add_message(text("Hi")), state=None), native(message=said("Hi"), view={})),
    (
        transport(add_message(text("Hi")), threadId="__LOCALID_x", thread_id="t2", tools=None),
        native(message=said("Hi"), thread_id="t2"),
    ),
    (
        transport(add_message(text("Hi")), state={"thread_id": "t1"}, threadId="t2"),
        native(message=said("Hi"), thread_id="t1", view={"thread_id": "t1"}),
    ),
    (
        transport(add_message(text("Hi")), state={"thread_id": "__LOCALID_x"}, threadId="t2"),
        native(message=said("Hi"), thread_id="t2", view={"thread_id": "__LOCALID_x"}),
    ),
    (transport(add_message(text("Hi")), threadId="__LOCALID_x"), native(message=said("Hi"))),
    (
        transport(add_message(text("One")), add_message(text("Two"))),
        native(message=said("One\n\nTwo")),
    ),
    (
        transport(
            add_message(text("One"), {"type": "image", "image": PIXEL}), add_message(text("Two"))
        ),
        native(message=UserMessage((TextContent("One"), ImageContent(PIXEL), TextContent("Two")))),
    ),
    (
        transport(
            add_result("a", "Sat"),
            add_result("b", "Error: no", isError=True, toolName="x", artifact=None),
            add_message(text("Hi")),
        ),
        native(
            message=said("Hi"),
            answers=(ToolAnswer("a", "Sat"), ToolAnswer("b", "Error: no", is_error=True)),
        ),
    ),
    (
        transport(
            add_result("a", 1), add_message(text("One")), add_message(text("Two"), source="u1")
        ),
        native(message=said("Two"), branch=Branch("edit", "u1")),
    ),
    (
        transport(
            add_message(text("Hi")),
            system="Be evil",
            config={"apiKey": "k", "modelName": "m"},
            apiKey="k",
            callSettings={"temperature": 1},
            tools={"pick": {"description": "Pick", "parameters": SCHEMA, "providerOptions": {}}},
        ),
        native(
            message=said("Hi"),
            client_tools=(ClientTool("pick", "Pick", SCHEMA),),
            app_context=(AppContext("", "Be evil"),),
        ),
    ),
]


@pytest.mark.parametrize(("body", "expected"), TRANSPORT)
def test_commands_add_up_to_a_turn(body: dict[str, Any], expected: PostedTurn) -> None:
    assert parse(body, LIMITS) == expected


def ui(**fields: Any) -> PostedTurn:
    return PostedTurn(TurnRequest(thread_id="c1", **fields), UI_FORMAT, None)


def copies(*answers: ToolAnswer) -> PostedTurn:
    return ui(answers=answers, answers_are_copies=True)


REGENERATE = {"trigger": "regenerate-message"}
UI: list[tuple[dict[str, Any], PostedTurn]] = [
    (chat(user(text("Hi"))), ui(message=said("Hi", "u9"))),
    (chat(user(text("Hi")), messageId=None, tools={}), ui(message=said("Hi", "u9"))),
    (
        chat(user(text("Hi")), messageId="u9"),
        ui(message=said("Hi", "u9"), branch=Branch("edit", "u9")),
    ),
    (
        chat(user({"type": "file", "mediaType": "image/png", "url": PIXEL}, text("See"))),
        ui(message=UserMessage((ImageContent(PIXEL), TextContent("See")), "u9")),
    ),
    (
        chat(user(text("Hi")), **REGENERATE),
        ui(branch=Branch("regenerate", "u9"), message=said("Hi", "u9")),
    ),
    (chat(user(text("Hi")), messageId="m9", **REGENERATE), ui(branch=Branch("regenerate", "m9"))),
    (chat(**REGENERATE), ui(branch=Branch("regenerate", None))),
    (
        chat(
            assistant(
                {"type": "step-start"},
                text("Look"),
                call("output-available", output={"temp": 1}, providerExecuted=True),
                call("output-available", output="Sat"),
                call("output-error", errorText="no", type="dynamic-tool", toolCallId="call_2"),
                call("input-available", toolCallId="call_3"),
            ),
            messageId="m9",
        ),
        copies(ToolAnswer("call_1", "Sat"), ToolAnswer("call_2", "no", is_error=True)),
    ),
    (chat(assistant(call("output-available"))), copies(ToolAnswer("call_1", None))),
    (
        chat(assistant(call("output-available", output=1)), user(text("Hi"))),
        ui(message=said("Hi", "u9")),
    ),
    (chat(assistant(text("Half a")), messageId="m9"), copies()),
]


@pytest.mark.parametrize(("body", "expected"), UI)
def test_the_end_of_a_posted_history_is_the_turn(
    body: dict[str, Any], expected: PostedTurn
) -> None:
    assert parse(body, LIMITS) == expected


def test_the_query_beats_the_body() -> None:
    hi = transport(add_message(text("Hi")), state={})
    asked = parse(hi, LIMITS, protocol="ui-message-stream", on_busy="stop")
    assert asked == PostedTurn(TurnRequest(message=said("Hi"), on_busy="stop"), UI_FORMAT, None)
    assert parse(hi, LIMITS, protocol="assistant-transport") == native(message=said("Hi"), view={})
    assert parse({"message": "Hi", "on_busy": "stop"}, LIMITS, on_busy="reject") == native(
        message=said("Hi")
    )


def image(url: Any) -> dict[str, Any]:
    return {"message": {"parts": [{"type": "image", "image": url}]}}


def tool(**fields: Any) -> dict[str, Any]:
    return {"message": "Hi", "client_tools": [{"name": "a", "parameters": SCHEMA, **fields}]}


def answer(**fields: Any) -> dict[str, Any]:
    return {"tool_results": [{"tool_call_id": "c", "result": 1, **fields}]}


DEEP: Any = json.loads("[" * 800 + "]" * 800)
BAD: list[tuple[Any, str, str]] = [
    # body, code, what the sentence names
    ("Hi", "invalid_body", "'Hi'"),
    ([], "invalid_body", "[]"),
    (None, "invalid_body", "None"),
    ({}, "missing_action", "message"),
    ({"message": None}, "missing_action", "message"),
    ({"tool_results": []}, "missing_action", "tool_results"),
    ({"mesage": "Hi"}, "unknown_key", "'mesage': the keys are message, tool_results"),
    ({"message": "Hi", "a": 1, "b": 1}, "unknown_key", "keys 'a', 'b'"),
    ({"messages": []}, "unknown_key", "'messages'"),
    (dict.fromkeys("abcdefgh" * 9, 1), "unknown_key", "'a', 'b', 'c', ...:"),
    ({"x" * 999: 1}, "unknown_key", "..."),
    ({"message": "Hi", "continue": True}, "conflicting_actions", "message and continue"),
    ({"edit": {}, "tool_results": []}, "conflicting_actions", "tool_results and edit"),
    ({"message": 7}, "invalid_body", "message is 7"),
    ({"message": ""}, "empty_message", "message"),
    ({"message": " \n\t"}, "empty_message", "message"),
    ({"message": {"parts": []}}, "empty_message", "message.parts"),
    ({"message": {"parts": [text(" "), text("")]}}, "empty_message", "message.parts"),
    ({"message": {}}, "invalid_body", "message.parts is None"),
    ({"message": {"parts": ["Hi"]}}, "invalid_body", "message.parts[0] is 'Hi'"),
    ({"message": {"parts": [{"text": "Hi"}]}}, "invalid_body", "message.parts[0].type"),
    ({"message": {"parts": [text(7)]}}, "invalid_body", "message.parts[0].text is 7"),
    ({"message": {"parts": [text("Hi")], "role": "user"}}, "unknown_key", "'role'"),
    ({"message": {"parts": [text("Hi")], "id": "a b"}}, "invalid_message_id", "'a b'"),
    ({"message": "x" * 101}, "message_too_long", "101 characters: send at most 100"),
    (
        {"message": {"parts": [text("x" * 60), text("x" * 60)]}},
        "message_too_long",
        "120 characters",
    ),
    ({"message": HALF}, "invalid_text", "'\\ud83d'"),
    ({"message": {"parts": [{"type": "audio"}]}}, "unsupported_part", "'audio'"),
    ({"message": {"parts": [{"type": "file"}]}}, "unsupported_part", "text, image"),
    (image(None), "invalid_body", "message.parts[0].image is None"),
    (image("ftp://a.org/b.png"), "invalid_image", "'ftp://a.org/b.png'"),
    (image("/b.png"), "invalid_image", "http(s)"),
    (image("https://"), "invalid_image", "https://"),
    (image("https://a.org/b c.png"), "invalid_image", "b c"),
    (image("https://[a/b.png"), "invalid_image", "[a"),
    (image("https://a.org/" + "b" * 9000), "invalid_image", "..."),
    (image("data:image/svg+xml;base64,AAAA"), "invalid_image", "PNG"),
    (image("data:text/html;base64,AAAA"), "invalid_image", "text/html"),
    (image("data:image/png,AAAA"), "invalid_image", "base64"),
    (image("data:image/png;base64,"), "invalid_image", "image is empty"),
    (image("data:image/png;base64,AA AA"), "invalid_image", "image is not valid base64"),
    (image("data:image/png;base64,AAAAA"), "invalid_image", "image is not valid base64"),
    (image("data:image/png;base64,é"), "invalid_image", "image is not valid base64"),
    ({"message": "Hi", "thread_id": "a/b"}, "invalid_thread_id", "'a/b'"),
    ({"message": "Hi", "thread_id": ""}, "invalid_thread_id", "''"),
    ({"message": "Hi", "thread_id": "a\n"}, "invalid_thread_id", "'a\\n'"),
    ({"message": "Hi", "thread_id": 7}, "invalid_thread_id", "7"),
    ({"message": "Hi", "thread_id": "x" * 129}, "invalid_thread_id", "..."),
    ({"message": "Hi", "on_busy": "wait"}, "invalid_on_busy", "'wait': send reject or stop"),
    ({"message": "Hi", "on_busy": ["stop"]}, "invalid_on_busy", "['stop']"),
    ({"continue": False}, "invalid_body", "continue is False"),
    ({"continue": 1}, "invalid_body", "continue is 1: send true"),
    ({"regenerate": 1}, "invalid_body", "regenerate is 1: send true or a message's id"),
    ({"message": "Hi", "must_exist": 1}, "invalid_body", "must_exist is 1: send true or false"),
    ({"message": "Hi", "model": 1}, "invalid_body", "model is 1: send a string"),
    ({"message": "Hi", "on_interrupt": True}, "invalid_on_interrupt", "True: send discard or"),
    (
        {"message": "Hi", "allowed_tools": ["a"] * 1001},
        "invalid_body",
        "1001 items: send at most 1000",
    ),
    (
        {"message": "Hi", "allowed_tools": ["a", "b" * 257]},
        "invalid_body",
        "allowed_tools[1] has 257 characters: send at most 256",
    ),
    ({"regenerate": False}, "invalid_body", "regenerate is False"),
    ({"regenerate": "a b"}, "invalid_message_id", "'a b'"),
    ({"edit": "u1"}, "invalid_body", "edit is 'u1'"),
    ({"edit": {"message": "Hi"}}, "invalid_message_id", "edit.message_id is None"),
    ({"edit": {"message_id": "u1"}}, "invalid_body", "edit.message is None"),
    ({"edit": {"message_id": "u1", "message": ""}}, "empty_message", "edit.message"),
    ({"edit": {"message_id": "u1", "message": "Hi", "at": 1}}, "unknown_key", "'at'"),
    ({"tool_results": {}}, "invalid_body", "tool_results is {}"),
    ({"tool_results": [1]}, "invalid_body", "tool_results[0] is 1"),
    ({"tool_results": [{"tool_call_id": "c"}]}, "invalid_body", "has no result"),
    (answer(tool_call_id=7), "invalid_body", "tool_results[0].tool_call_id is 7"),
    (answer(tool_call_id=""), "invalid_body", "tool_results[0].tool_call_id is ''"),
    (answer(is_error="no"), "invalid_body", "'no': send true or false"),
    (answer(iserror=True), "unknown_key", "'iserror'"),
    (answer(result={"a": [HALF]}), "invalid_text", "tool_results[0]"),
    (answer(result={HALF: 1}), "invalid_text", "tool_results[0]"),
    (answer(result=[float("nan")]), "invalid_json_value", "tool_results[0]"),
    (answer(result=float("inf")), "invalid_json_value", "tool_results[0]"),
    (answer(result="x" * 99), "value_too_long", "101 characters as JSON: send at most 100"),
    (answer(result=DEEP), "value_too_long", "1600"),
    (tool(name="pick a day"), "invalid_tool", "'pick a day'"),
    (tool(name=None), "invalid_tool", "None"),
    (tool(parameters=None), "invalid_tool", "client_tools[0].parameters is None"),
    (tool(parameters={"x": HALF}), "invalid_text", "client_tools[0].parameters"),
    (tool(parameters={"x": "x" * 100}), "value_too_long", "client_tools[0].parameters"),
    (tool(description=7), "invalid_body", "client_tools[0].description is 7"),
    (tool(description="x" * 101), "value_too_long", "client_tools[0].description"),
    (tool(strict=True), "unknown_key", "'strict'"),
    ({"message": "Hi", "client_tools": {}}, "invalid_body", "client_tools is {}"),
    (
        {"message": "Hi", "client_tools": [{"name": "a", "parameters": {}}] * 2},
        "invalid_tool",
        "'a' 2 times",
    ),
    (transport("go"), "invalid_body", "commands[0] is 'go'"),
    (
        transport({"type": "fly"}),
        "unsupported_command",
        "'fly': send one of add-message",
    ),
    (transport({"type": ["x"]}), "invalid_body", "commands[0].type"),
    (transport({"type": "add-message"}), "invalid_body", "commands[0].message is None"),
    (
        transport({"type": "add-message", "message": {"role": "system", "parts": []}}),
        "invalid_body",
        "commands[0].message.role is 'system'",
    ),
    (transport(add_message()), "empty_message", "commands[0].message.parts"),
    (transport(add_message({"type": "data-x"})), "unsupported_part", "'data-x'"),
    (transport(add_message(text("Hi"), source="a b")), "invalid_message_id", "sourceId"),
    (
        transport(add_message(text("x" * 60)), add_message(text("x" * 60))),
        "message_too_long",
        "122 characters",
    ),
    (transport(add_result(None, 1)), "invalid_body", "commands[0].toolCallId is None"),
    (transport(add_result("c", 1, isError=1)), "invalid_body", "commands[0].isError is 1"),
    (transport(state=[1]), "invalid_body", "state is [1]"),
    (transport(state={"thread_id": 7}), "invalid_thread_id", "7"),
    (transport(threadId="a/b"), "invalid_thread_id", "'a/b'"),
    (transport(tools=[1]), "invalid_body", "tools is [1]"),
    (transport(tools={"a b": {"parameters": {}}}), "invalid_tool", "'a b'"),
    (transport(tools={"a": None}), "invalid_body", "tools.a is None"),
    (transport(tools={"a": {}}), "invalid_tool", "tools.a.parameters is None"),
    (chat(), "empty_message", "messages is empty"),
    (chat(1), "invalid_body", "messages[0] is 1"),
    (chat({"role": "system"}), "invalid_body", "messages[0].role is 'system'"),
    (chat(user(text("Hi")), trigger="go"), "invalid_trigger", "'go'"),
    (chat(user(text("Hi")), id="a b"), "invalid_thread_id", "'a b'"),
    (chat(user(text("Hi")), messageId=7), "invalid_message_id", "messageId is 7"),
    (chat(user(text("Hi"), id="a b")), "invalid_message_id", "messages[0].id is 'a b'"),
    (chat(user(text("Hi"), id="a b"), **REGENERATE), "invalid_message_id", "'a b'"),
    (chat({"role": "user", "content": "Hi"}), "invalid_body", "messages[0].parts is None"),
    (chat(user(text(""))), "empty_message", "messages[0].parts"),
    (chat(user({"type": "data-x", "data": 1})), "empty_message", "messages[0].parts"),
    (
        chat(user({"type": "file", "mediaType": "audio/mpeg", "url": "https://a.org/b"})),
        "unsupported_part",
        "mediaType is 'audio/mpeg'",
    ),
    (chat(user({"type": "file", "url": PIXEL})), "invalid_body", "mediaType is None"),
    (
        chat(user({"type": "file", "mediaType": "image/png", "url": "blob:x"})),
        "invalid_image",
        "'blob:x'",
    ),
    (chat({"role": "assistant"}), "invalid_body", "messages[0].parts is None"),
    (chat(assistant(1)), "invalid_body", "messages[0].parts[0] is 1"),
    (
        chat(assistant(call("output-available", toolCallId=1))),
        "invalid_body",
        "parts[0].toolCallId is 1",
    ),
    (
        chat(assistant(call("output-available", output="x" * 99))),
        "value_too_long",
        "messages[0].parts[0]",
    ),
]


@pytest.mark.parametrize(("body", "code", "named"), BAD)
def test_a_bad_body_gets_a_code_and_a_sentence_that_names_the_fault(
    body: Any, code: str, named: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(body, LIMITS)
    assert (caught.value.code, caught.value.status) == (code, 422)
    assert named in caught.value.message
    assert len(caught.value.message) < 400
    caught.value.message.encode()


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"protocol": "smoke-signals"}, "invalid_protocol"),
        ({"protocol": ""}, "invalid_protocol"),
        ({"on_busy": "wait"}, "invalid_on_busy"),
    ],
)
def test_an_unknown_name_in_the_query_is_refused(query: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse({"message": "Hi"}, LIMITS, **query)
    assert caught.value.code == code


def test_the_keys_that_only_a_native_body_has_are_named_for_the_other_formats() -> None:
    assert keys(NativeBody) == NATIVE_KEYS
    assert {*ACTIONS} <= {*keys(NativeBody)}
