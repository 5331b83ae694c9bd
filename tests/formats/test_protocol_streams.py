"""What the streams say where the example conversation does not go: failures, stops, progress,
questions turned down, continued messages."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.example_conversation import (
    M2_ANSWERED,
    M2_PENDING,
    QUESTION_TEXT,
    T3,
    U1,
    U2,
    asked,
    call,
    text,
)
from tests.support.protocol_readers import UIMessageReader, decoded_state
from turnstream.server.formats import WIRE_FORMATS, WireFormat
from turnstream.server.formats.assistant_transport.state import snapshot as state_snapshot
from turnstream.server.formats.format import StreamContext, View
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Custom,
    Disposition,
    Done,
    Error,
    MessageFinish,
    PartFinish,
    PartStart,
    ReasoningPart,
    Result,
    RunEnded,
    StepFinish,
    StepStart,
    StepWithdrawn,
    TextDelta,
    TextPart,
    ToolCallPart,
    ToolProgress,
    ToolSettled,
    Usage,
)
from turnstream.server.turns.messages import (
    AssistantTurn,
    Reasoning,
    Step,
    Text,
    ToolCall,
    Turn,
    UserTurn,
)
from turnstream.server.turns.requests import ImageContent, TextContent

PARTS = WIRE_FORMATS["assistant-transport"]
UI = WIRE_FORMATS["ui-message-stream"]
NONE = Usage(0, 0)
UNREADABLE = {"error": {"code": "invalid_json", "message": "The arguments are no JSON object."}}


def said(
    format: WireFormat,
    chunks: list[Chunk],
    *turns: Turn,
    message_id: str = "m1",
    view: View = None,
    replay: bool = False,
) -> list[Any]:
    """The payloads as JSON; `[DONE]` as itself."""
    context = StreamContext("thread-1", message_id, turns or (U1,))
    encoder = format.encoder(context, view)
    ahead = format.prologue(context, view, replay)
    payloads = [*ahead, *(p for chunk in chunks for p in encoder.encode(chunk))]
    return [p if p == "[DONE]" else json.loads(p) for p in payloads]


def ui(chunks: list[Chunk], *turns: Turn, **options: Any) -> list[Any]:
    """The AI SDK's payloads after `start`."""
    start, *rest = said(UI, chunks, *turns, **options)
    assert start["type"] == "start"
    return rest


def types(payloads: list[Any]) -> list[str]:
    return [p if p == "[DONE]" else p["type"] for p in payloads]


def step(*parts: Chunk) -> list[Chunk]:
    return [StepStart("m1", "m1a"), *parts, StepFinish("m1a", "stop", NONE)]


FAILED: list[Chunk] = [
    *step(*text(0, "Let")),
    Error("model_failed", "The model failed.", "e7"),
    MessageFinish("error", NONE),
    Done(),
]


def test_an_error_has_its_code_and_its_id_in_assistant_transport() -> None:
    assert said(PARTS, FAILED)[-3:] == [
        {
            "type": "error",
            "error": "The model failed.",
            "code": "model_failed",
            "id": "e7",
            "path": [],
        },
        {
            "type": "message-finish",
            "finishReason": "error",
            "usage": {"inputTokens": 0, "outputTokens": 0},
            "path": [],
        },
        "[DONE]",
    ]
    unlogged = replace(Error("model_failed", "The model failed.", "e7"), error_id=None)
    assert "id" not in said(PARTS, [unlogged])[0]


def test_an_error_closes_the_step_first_and_still_ends_in_done_for_use_chat() -> None:
    assert types(ui(FAILED))[-4:] == ["finish-step", "error", "finish", "[DONE]"]
    assert ui(FAILED)[-3] == {"type": "error", "errorText": "The model failed. (e7)"}


def test_a_stopped_run_says_so_in_both_formats() -> None:
    chunks: list[Chunk] = [*step(), RunEnded("stopped"), MessageFinish("other", NONE), Done()]
    assert said(PARTS, chunks)[-3] == {
        "type": "data",
        "data": [{"name": "run-ended", "data": {"reason": "stopped"}}],
        "path": [],
    }
    assert types(ui(chunks))[-4:] == ["finish-step", "abort", "finish", "[DONE]"]
    assert ui(chunks)[-2]["messageMetadata"]["ended"] == {"reason": "stopped"}
    assert ui(chunks)[-3] == {"type": "abort"}


def test_a_limit_is_named_with_its_value_in_both_formats() -> None:
    limit = {"reason": "limit", "limit": "max_steps", "value": 1}
    chunks: list[Chunk] = [RunEnded("limit", "max_steps", 1), MessageFinish("other", NONE), Done()]
    assert said(PARTS, chunks)[0]["data"] == [{"name": "run-ended", "data": limit}]
    assert ui(chunks)[-2]["messageMetadata"]["ended"] == limit


def test_reasoning_streams_as_reasoning() -> None:
    thought: list[Chunk] = [
        PartStart("m1a", (0,), ReasoningPart()),
        TextDelta("m1a", (0,), "Hm"),
        PartFinish("m1a", (0,)),
    ]
    assert ui(step(*thought))[1:-1] == [
        {"type": "reasoning-start", "id": "m1.0"},
        {"type": "reasoning-delta", "id": "m1.0", "delta": "Hm"},
        {"type": "reasoning-end", "id": "m1.0"},
    ]
    assert said(PARTS, thought)[0]["part"] == {"type": "reasoning"}


ASK = ToolCallPart("c1", "ask", "client")
RUN = ToolCallPart("c1", "get_weather")


@pytest.mark.parametrize("part", [ASK, RUN])
def test_unreadable_arguments_are_one_input_error_that_the_client_need_not_answer(
    part: ToolCallPart,
) -> None:
    result = Result("m1a", (0,), UNREADABLE, "error", "r1")
    *_, error, _ = ui(step(*call(0, part, ['{"a', "b"], None, result, disposition="invalid")))
    assert error == {
        "type": "tool-input-error",
        "toolCallId": "c1",
        "toolName": part.tool_name,
        "input": '{"ab',
        "errorText": "The arguments are no JSON object.",
        "providerExecuted": True,
    }


def test_a_question_turned_down_by_the_server_is_nothing_for_the_client_to_do() -> None:
    result = Result("m1a", (0,), UNREADABLE, "error", "r1")
    refused = call(0, ASK, ["{}"], {}, result, disposition="invalid")
    start, _, available, error = ui(step(*refused))[1:-1]
    assert "providerExecuted" not in start, "it streamed as a question"
    assert available["providerExecuted"] is True
    assert error == {
        "type": "tool-output-error",
        "toolCallId": "c1",
        "errorText": "The arguments are no JSON object.",
        "providerExecuted": True,
    }


@pytest.mark.parametrize("disposition", ["server", "shown", "approval", "invalid"])
def test_only_a_call_of_the_client_comes_without_the_mark_that_it_need_not_act(
    disposition: Disposition,
) -> None:
    """An unknown tool's call is one of the others from its first event on."""
    part = ToolCallPart("c1", "get_weather", disposition)
    result = Result("m1a", (0,), 1, "result", "r1")
    payloads = ui(step(*call(0, part, ["{}"], {}, result)))
    marked = [p["type"] for p in payloads if p.get("providerExecuted") is True]
    assert marked == ["tool-input-start", "tool-input-available", "tool-output-available"]
    asked_client = ui(step(*call(0, ASK, ["{}"], {}, result)))
    assert not any("providerExecuted" in p for p in asked_client)


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ({"error": {"code": "x", "message": "It broke.", "id": "e1"}}, "It broke. (e1)"),
        ({"error": {"code": "x", "message": "It broke."}}, "It broke."),
        ("Cancelled", "Cancelled"),
        ({"cancelled": True}, "The tool call failed."),
    ],
)
def test_a_failed_call_shows_its_sentence(result: Any, sentence: str) -> None:
    chunks = step(*call(0, RUN, ["{}"], {}, Result("m1a", (0,), result, "timeout", "r1")))
    assert ui(chunks)[-2]["errorText"] == sentence
    assert said(PARTS, chunks)[-3]["isError"] is True


def test_progress_is_a_preliminary_output_of_a_running_call_alone() -> None:
    progress = ToolProgress("c1", {"done": 0.5})
    other = ToolProgress("c9", 1)
    result = Result("m1a", (0,), {"done": 1}, "result", "r1")
    start, delta, available, _, finish = call(0, RUN, ["{}"], {}, result)
    running = [start, progress, delta, available, other, progress, result, progress, finish]
    outputs = [p for p in ui(step(*running, progress)) if p["type"] == "tool-output-available"]
    assert [(p["output"], p.get("preliminary")) for p in outputs] == [
        ({"done": 0.5}, True),
        ({"done": 1}, None),
    ]


def test_what_a_graph_writes_is_data_and_no_part_of_a_message() -> None:
    written = step(Custom({"done": 1}))
    transient = {"type": "data-custom", "data": {"value": {"done": 1}}, "transient": True}
    assert transient in ui(written)
    data = {"name": "custom", "data": {"value": {"done": 1}}}
    assert {"type": "data", "data": [data], "path": []} in said(PARTS, written)


@pytest.mark.parametrize("disposition", ["shown", "client", "approval", "invalid"])
def test_progress_of_a_call_that_does_not_run_here_is_no_output(disposition: Disposition) -> None:
    """`useChat` would take it for the call's answer."""
    part = ToolCallPart("c1", "ask", disposition)
    *opened, finish = call(0, part, ["{}"], {})
    said_of_it = types(ui(step(*opened, ToolProgress("c1", 1), finish)))
    assert "tool-output-available" not in said_of_it
    assert "tool-input-available" in said_of_it


CLOSED = {"error": {"code": "cancelled", "message": "Nobody answered."}}
SETTLED = ToolSettled("call_3", "cancelled", CLOSED, "r3")
M2_CLOSED = AssistantTurn("m2", (asked(end="cancelled", result=CLOSED, result_id="r3"),))


def test_a_call_closed_by_the_server_is_said_of_the_continued_message_only() -> None:
    for m2 in (M2_PENDING, M2_CLOSED):
        assert ui([SETTLED], U2, m2, message_id="m2") == [
            {
                "type": "tool-output-error",
                "toolCallId": "call_3",
                "errorText": "Nobody answered.",
                "providerExecuted": True,
            }
        ]
    assert ui([SETTLED], U2, M2_CLOSED, UserTurn("u3", U1.content), message_id="m3") == []
    (data,) = said(PARTS, [SETTLED])
    told = {"tool_call_id": "call_3", "end": "cancelled", "result": CLOSED, "result_id": "r3"}
    assert data["data"] == [{"name": "tool-settled", "data": {**told, "duration_ms": None}}]


def test_an_earlier_call_that_settles_now_enters_the_state_before_what_the_run_says() -> None:
    chunks: list[Chunk] = [
        SETTLED,
        StepStart("m2", "m2b"),
        PartStart("m2b", (0,), TextPart()),
    ]
    updates = said(PARTS, chunks, U2, M2_PENDING, message_id="m2", view={})
    operations = [
        operation
        for update in updates
        if update["type"] == "update-state"
        for operation in update["operations"][:1]
    ]
    placed = {tuple(operation["path"]): operation["value"] for operation in operations[1:]}
    assert placed["messages", "2"]["tool_call_id"] == "call_3"
    assert placed["messages", "3"]["id"] == "m2b"


def test_a_closed_call_is_an_error_in_the_state_ahead_of_the_new_message() -> None:
    held = state_snapshot((U2, M2_PENDING), "thread-1")
    u3 = UserTurn("u3", (TextContent("Never mind"),))
    (update,) = said(
        PARTS,
        [],
        *(U2, M2_CLOSED, u3),
        message_id="m3",
        view=held,
    )
    tool, human = (operation["value"] for operation in update["operations"])
    assert (tool["type"], tool["status"], tool["tool_call_id"]) == ("tool", "error", "call_3")
    assert json.loads(tool["content"]) == CLOSED
    assert human == {"type": "human", "id": "u3", "content": "Never mind"}


def test_an_edit_drops_from_the_state_what_it_cuts_from_the_thread() -> None:
    held = {**state_snapshot((U1, U2, M2_PENDING), "thread-1"), "draft": "kept"}
    edited = UserTurn("u1", (TextContent("Weather in Rome?"),))
    (update,) = said(PARTS, [], edited, view=held)
    state = decoded_state(held, [json.dumps(update)])
    assert state == {**state_snapshot((edited,), "thread-1"), "draft": "kept"}


def test_a_replay_starts_with_what_earlier_runs_said_of_the_message() -> None:
    replayed = said(UI, T3, U1, U2, M2_ANSWERED, message_id="m2", replay=True)
    assert replayed[:6] == [
        {"type": "start", "messageId": "m2"},
        {"type": "start-step"},
        {
            "type": "tool-input-start",
            "toolCallId": "call_3",
            "toolName": "request_user_selection",
        },
        {"type": "tool-input-delta", "toolCallId": "call_3", "inputTextDelta": QUESTION_TEXT},
        {"type": "tool-output-available", "toolCallId": "call_3", "output": "Sat"},
        {"type": "finish-step"},
    ]
    assert replayed[6:] == ui(T3, U1, U2, M2_ANSWERED, message_id="m2")


def test_a_run_that_only_stores_an_answer_still_names_the_message() -> None:
    chunks: list[Chunk] = [MessageFinish("tool-calls", NONE), Done()]
    payloads = said(UI, chunks, U2, M2_ANSWERED, message_id="m2")
    assert types(payloads) == ["start", "finish", "[DONE]"]
    assert payloads[0]["messageId"] == "m2"


def state_of(chunks: list[Chunk]) -> list[Any]:
    context = StreamContext("thread-1", "m1")
    encoder = PARTS.encoder(context, {})
    payloads = PARTS.prologue(context, {}, False)
    payloads += [p for chunk in chunks for p in encoder.encode(chunk)]
    messages: list[Any] = decoded_state(None, payloads)["messages"]
    return messages


def test_content_is_a_string_for_one_text_and_blocks_beside_reasoning() -> None:
    assert state_of(step(*text(0, "One")))[0]["content"] == "One"
    thought: list[Chunk] = [
        PartStart("m1a", (0,), ReasoningPart()),
        TextDelta("m1a", (0,), "Hm"),
        PartFinish("m1a", (0,)),
    ]
    assert state_of(step(*thought, *text(1, "So")))[0]["content"] == [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]},
        {"type": "text", "text": "So"},
    ]


def test_text_that_goes_on_beside_a_second_text_keeps_its_place() -> None:
    chunks: list[Chunk] = [
        PartStart("m1a", (0,), TextPart()),
        TextDelta("m1a", (0,), "a"),
        PartStart("m1a", (1,), TextPart()),
        TextDelta("m1a", (1,), "b"),
        TextDelta("m1a", (0,), "c"),
        PartFinish("m1a", (0,)),
        PartFinish("m1a", (1,)),
    ]
    assert state_of(step(*chunks))[0]["content"] == [
        {"type": "text", "text": "ac"},
        {"type": "text", "text": "b"},
    ]


def test_tool_messages_stand_in_the_order_of_the_calls_whichever_ends_first() -> None:
    first = call(0, RUN, ["{}"], {}, Result("m1a", (0,), "one", "result", "r1"))
    second = call(1, ToolCallPart("c2", "b"), ["{}"], {}, Result("m1a", (1,), 2, "result", "r2"))
    *opened, result, finish = first
    messages = state_of([*step(*opened, *second, result, finish), *step(*text(2, "So"))])
    assert [message["id"] for message in messages] == ["m1a", "r1", "r2", "m1a"]
    assert [message["content"] for message in messages] == ["", "one", "2", "So"]


def test_a_users_image_is_shown_in_every_format() -> None:
    url = "data:image/webp;base64,AAAA"
    turn = UserTurn("u1", (TextContent("See"), ImageContent(url), ImageContent("https://a.org/b")))
    (ui_message,) = UI.snapshot([turn])
    assert ui_message["parts"][1:] == [
        {"type": "file", "mediaType": "image/webp", "url": url},
        {"type": "file", "mediaType": "image/*", "url": "https://a.org/b"},
    ]
    (parts_message,) = PARTS.snapshot([turn])
    assert parts_message["parts"][1] == {"type": "image", "image": url}
    content = state_snapshot([turn], "thread-1")["messages"][0]["content"]
    assert content[1] == {"type": "image_url", "image_url": {"url": url}}


def test_a_snapshot_tells_how_a_turn_ended_and_holds_no_null() -> None:
    failed = {"code": "x", "message": "It broke."}
    calls = (
        Reasoning("Hm"),
        Text("So"),
        ToolCall("c1", "ask", '{"a', None, "client"),
        ToolCall("c2", "ask", '{"a', None, "invalid", "error", UNREADABLE, "r1"),
        ToolCall("c3", "ask", "{}", {}, "client"),
        ToolCall("c4", "get_weather", "{}", {}),
    )
    turn = AssistantTurn("m1", (Step("m1a", calls),), None, RunEnded("stopped"), failed)
    (parts_message,) = PARTS.snapshot([turn])
    (ui_message,) = UI.snapshot([turn])
    assert parts_message["steps"] == [{"stepId": "m1a", "finishReason": "stop"}]
    assert {"finishReason", "usage"}.isdisjoint(parts_message)
    assert parts_message["ended"] == {"reason": "stopped"}
    assert parts_message["error"] == failed
    assert ui_message["metadata"] == {"ended": {"reason": "stopped"}, "error": failed}
    states = [(p["state"], p.get("providerExecuted")) for p in ui_message["parts"][3:]]
    assert states == [
        ("input-streaming", None),
        ("output-error", True),
        ("input-available", None),
        ("input-available", True),
    ]
    assert ui_message["parts"][4]["rawInput"] == '{"a'
    assert "null" not in json.dumps([parts_message, ui_message])


@pytest.mark.parametrize("keeps_place", [True, False], ids=["ai 6.0.0", "ai 6.0.326"])
def test_a_call_that_is_told_again_counts_once_in_use_chat(keeps_place: bool) -> None:
    """An older client grows the part that it has, a newer one begins another."""

    def called(path: int) -> list[Chunk]:
        args: list[Chunk] = [
            TextDelta("m1a", (path,), "{}"),
            ArgsFinish("m1a", (path,), {}, "server"),
        ]
        end: list[Chunk] = [
            Result("m1a", (path,), path, "result", "t1"),
            PartFinish("m1a", (path,)),
        ]
        return [PartStart("m1a", (path,), ToolCallPart("c1", "look")), *args, *end]

    chunks = [
        *step(*text(0, "Wait."), *called(1)),
        StepWithdrawn("m1a", (0, 1)),
        *step(*text(2, "Here."), *called(3)),
        MessageFinish("stop", NONE),
        Done(),
    ]
    reader = UIMessageReader(keeps_place=keeps_place)
    kept = reader.read([p if p == "[DONE]" else json.dumps(p) for p in ui(chunks)]).kept_parts
    assert sorted(part["type"] for part in kept) == ["step-start", "text", "tool-look"]
    assert [part["output"] for part in kept if part["type"] == "tool-look"] == [3]
    assert [part["text"] for part in kept if part["type"] == "text"] == ["Here."]
