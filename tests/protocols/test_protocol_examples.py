"""The wire to the byte: the example conversation, in and out of every format."""

import json
import re
from typing import Any

import pytest

from server.protocols import WIRE_FORMATS, Limits, parse
from server.protocols.frames import dumps, frame
from server.protocols.langchain_state import snapshot as state_snapshot
from server.protocols.opening import Opening
from server.protocols.requests import (
    ProtocolName,
    TextContent,
    ToolAnswer,
    TurnRequest,
    UserMessage,
)
from tests.support.example_conversation import AFTER, EXAMPLES, RUNS
from tests.support.protocol_readers import decoded_state, payloads

TURNS = pytest.mark.parametrize("turn", ["t1", "t2", "t3"])
LIMITS = Limits(max_message_chars=1000)


def example(name: str) -> bytes:
    return (EXAMPLES / name).read_bytes()


def request(name: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(example(f"{name}.request.json"))
    return body


def streamed(turn: str, protocol: ProtocolName, **reader: Any) -> bytes:
    message_id, turns, chunks = RUNS[turn]
    encoder = WIRE_FORMATS[protocol].encoder(Opening("thread-1", message_id, turns, **reader))
    prologue = frame(encoder.prologue(), None)
    events = [frame(encoder.encode(c), f"run:{n}") for n, c in enumerate(chunks, start=1)]
    return b"".join([prologue, *events])


def without_ids(stream: bytes) -> bytes:
    return re.sub(rb"^id: .*\n", b"", stream, flags=re.MULTILINE)


def without_metadata(stream: bytes) -> bytes:
    return re.sub(rb',"messageMetadata":\{.*\}\}(?=\n)', b"}", stream)


@TURNS
def test_the_parts_are_the_bytes_of_the_example(turn: str) -> None:
    stream = streamed(turn, "assistant-transport")
    assert without_ids(stream) == example(f"{turn}.assistant.sse")


@TURNS
def test_the_ui_message_stream_is_the_bytes_of_the_example(turn: str) -> None:
    stream = streamed(turn, "ui-message-stream")
    assert without_metadata(without_ids(stream)) == example(f"{turn}.ui.sse")


def test_the_metadata_of_finish_sums_the_usage_of_all_runs_of_the_message() -> None:
    *_, finish, _ = payloads(streamed("t3", "ui-message-stream"))
    usage = {"inputTokens": 70, "outputTokens": 13}
    assert json.loads(finish)["messageMetadata"] == {"usage": usage}


@TURNS
def test_the_state_becomes_the_state_of_the_example(turn: str) -> None:
    posted = request(f"{turn}.assistant")["state"]
    stream = streamed(turn, "assistant-transport", with_state=True, posted_state=posted)
    ours = decoded_state(posted, payloads(stream))
    theirs = decoded_state(posted, payloads(example(f"{turn}.state.sse")))
    assert without_partial_json(ours) == without_partial_json(theirs)
    assert ours == state_snapshot(AFTER[turn], "thread-1")


def without_partial_json(value: Any) -> Any:
    """The examples keep the arguments' text of some calls."""
    if isinstance(value, dict):
        return {k: without_partial_json(v) for k, v in value.items() if k != "partial_json"}
    return [without_partial_json(item) for item in value] if isinstance(value, list) else value


def test_a_first_run_sets_the_whole_state_and_later_runs_add_to_it() -> None:
    def prologue(turn: str, posted: Any) -> list[Any]:
        message_id, turns, _ = RUNS[turn]
        opening = Opening("thread-1", message_id, turns, with_state=True, posted_state=posted)
        said = WIRE_FORMATS["assistant-transport"].encoder(opening).prologue()
        return [op for payload in said for op in json.loads(payload)["operations"]]

    first = example("t1.state.sse").split(b"\n\n")[0].removeprefix(b"data: ").decode()
    assert prologue("t1", {"messages": []}) == json.loads(first)["operations"]
    human = {"type": "human", "id": "u2", "content": "Book a trip."}
    assert prologue("t2", state_snapshot(AFTER["t1"], "thread-1")) == [
        {"type": "set", "path": ["messages", "5"], "value": human}
    ]
    answered = prologue("t3", state_snapshot(AFTER["t2"], "thread-1"))
    assert [op["path"] for op in answered] == [["messages", "7"]]
    assert answered[0]["value"]["content"] == "Sat"


def test_the_history_is_the_message_that_the_client_of_the_example_posts_back() -> None:
    posted = request("t3.ui")["messages"]
    ours = WIRE_FORMATS["ui-message-stream"].snapshot(AFTER["t3"])
    for message in ours:
        message.pop("metadata", None)
    step = {"type": "step-start"}
    said = {"type": "text", "text": "Saturday it is.", "state": "done"}
    posted[-1]["parts"] += [step, said]
    assert ours == posted


def test_a_hydrated_message_has_the_parts_the_steps_and_the_sums() -> None:
    u1, m1, _, m2 = WIRE_FORMATS["assistant-transport"].snapshot(AFTER["t2"])
    assert u1 == {
        "id": "u1",
        "role": "user",
        "parts": [{"type": "text", "text": "Weather in Oslo?"}],
    }
    assert m1["parts"][1] == {
        "type": "tool-call",
        "toolCallId": "call_1",
        "toolName": "get_weather",
        "argsText": '{"city":"Oslo"}',
        "args": {"city": "Oslo"},
        "state": "result",
        "result": {"temp_c": -3, "sky": "clear"},
        "isError": False,
    }
    assert m1["steps"][0] == {
        "stepId": "m1a",
        "finishReason": "tool-calls",
        "usage": {"inputTokens": 20, "outputTokens": 9},
    }
    assert m1["usage"] == {"inputTokens": 65, "outputTokens": 30}
    assert m2["parts"][0]["state"] == "pending"
    assert "result" not in m2["parts"][0]


A1 = TurnRequest(
    "assistant-transport",
    message=UserMessage((TextContent("Weather in Oslo?"),)),
    state={"messages": []},
)
A2 = TurnRequest(
    "assistant-transport",
    thread_id="thread-1",
    message=UserMessage((TextContent("Book a trip."),)),
    state=request("t2.assistant")["state"],
)
A3 = TurnRequest(
    "assistant-transport",
    thread_id="thread-1",
    answers=(ToolAnswer("call_3", "Sat"),),
    state=request("t3.assistant")["state"],
)
UI1 = TurnRequest(
    "ui-message-stream",
    thread_id="thread-1",
    message=UserMessage((TextContent("Weather in Oslo?"),), id="u1"),
)
UI2 = TurnRequest(
    "ui-message-stream",
    thread_id="thread-1",
    message=UserMessage((TextContent("Book a trip."),), id="u2"),
)
UI3 = TurnRequest(
    "ui-message-stream",
    thread_id="thread-1",
    answers=(ToolAnswer("call_3", "Sat"),),
    answers_are_copies=True,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("t1.assistant", A1),
        ("t2.assistant", A2),
        ("t3.assistant", A3),
        ("t1.ui", UI1),
        ("t2.ui", UI2),
        ("t3.ui", UI3),
    ],
)
def test_the_captured_requests_ask_for_these_turns(name: str, expected: TurnRequest) -> None:
    assert parse(request(name), LIMITS) == expected


def test_a_frame_carries_its_id_on_the_last_payload() -> None:
    assert frame(["1", "2"], "run:7") == b"data: 1\n\nid: run:7\ndata: 2\n\n"
    assert frame(["1"], None) == b"data: 1\n\n"
    assert frame([], "run:7") == b""


def test_a_frame_is_one_line_of_valid_utf_8_whatever_the_text() -> None:
    text = "a\r\nb\u2028c \ud83d \\\ud83d é"
    said = frame([dumps({"text": text})], None)
    assert said.count(b"\n") == 2
    assert b"\r" not in said
    assert json.loads(said.removeprefix(b"data: ").decode()) == {"text": text}


def test_keys_that_clients_take_for_an_attack_are_left_out() -> None:
    value = {
        "__proto__": 1,
        "a": [{"constructor": {"prototype": {}}, "b": "__proto__"}],
        "constructor": "kept",
    }
    assert json.loads(dumps(value)) == {"a": [{"b": "__proto__"}], "constructor": "kept"}
    assert json.loads(dumps({"constructor": None})) == {}
