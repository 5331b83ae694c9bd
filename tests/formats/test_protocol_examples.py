"""The wire to the byte: the example conversation, in and out of every format."""

import json
import re
from typing import Any

import pytest

from tests.support.example_conversation import AFTER, EXAMPLES, RUNS
from tests.support.protocol_readers import decoded_state, events, payloads
from turnstream.server.formats import WIRE_FORMATS, BodyLimits, PostedTurn, WireFormat, parse
from turnstream.server.formats.assistant_transport.state import snapshot as state_snapshot
from turnstream.server.formats.format import StreamContext, View
from turnstream.server.formats.json_text import dumps
from turnstream.server.http.event_streams import frame
from turnstream.server.turns.requests import TextContent, ToolAnswer, TurnRequest, UserMessage

TURNS = pytest.mark.parametrize("turn", ["t1", "t2", "t3"])
LIMITS = BodyLimits(max_message_chars=1000)
PARTS = WIRE_FORMATS["assistant-transport"]
UI = WIRE_FORMATS["ui-message-stream"]


def example(name: str) -> bytes:
    return (EXAMPLES / name).read_bytes()


def request(name: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(example(f"{name}.request.json"))
    return body


def streamed(turn: str, format: WireFormat, view: View = None) -> bytes:
    message_id, turns, chunks = RUNS[turn]
    context = StreamContext("thread-1", message_id, turns)
    encoder = format.encoder(context, view)
    prologue = frame(format.prologue(context, view, False), None)
    said = [frame(encoder.encode(c), f"run:{n}") for n, c in enumerate(chunks, start=1)]
    return b"".join([prologue, *said])


def without_ids(stream: bytes) -> bytes:
    return re.sub(rb"^id: .*\n", b"", stream, flags=re.MULTILINE)


def without_our_keys(stream: bytes) -> bytes:
    """assistant-transport as assistant-stream has it: without the keys that the server adds."""
    return re.sub(rb',"(?:stepId|disposition|end)":"[\w-]+"', b"", stream)


def without_metadata(stream: bytes) -> bytes:
    return re.sub(rb',"messageMetadata":\{.*\}\}(?=\n)', b"}", stream)


@TURNS
def test_the_parts_are_the_bytes_of_the_example(turn: str) -> None:
    stream = streamed(turn, PARTS)
    assert without_our_keys(without_ids(stream)) == example(f"{turn}.assistant.sse")


def test_a_step_has_its_id_a_call_its_dispositions_and_a_result_its_end() -> None:
    said = events(payloads(streamed("t1", PARTS)) + payloads(streamed("t2", PARTS)))
    steps = [(e["type"], e["stepId"]) for e in said if "stepId" in e]
    assert steps == [("step-start", id) for id in ("m1a", "m1b", "m2a")]
    ends = [(e["type"], e["end"]) for e in said if "end" in e]
    assert ends == [("result", "result"), ("result", "shown")]
    expected = [e["part"]["disposition"] for e in said if "disposition" in e.get("part", {})]
    final = [(e["type"], e["disposition"]) for e in said if "disposition" in e]
    assert expected == ["server", "shown", "client"]
    assert final == [("tool-call-args-text-finish", kind) for kind in expected]


@TURNS
def test_the_ui_message_stream_is_the_bytes_of_the_example(turn: str) -> None:
    stream = streamed(turn, UI)
    assert without_metadata(without_ids(stream)) == example(f"{turn}.ui.sse")


def test_the_metadata_of_finish_sums_the_usage_of_all_runs_of_the_message() -> None:
    *_, finish, _ = payloads(streamed("t3", UI))
    usage = {"inputTokens": 70, "outputTokens": 13}
    assert json.loads(finish)["messageMetadata"] == {"usage": usage}


@TURNS
def test_the_state_becomes_the_state_of_the_example(turn: str) -> None:
    posted = request(f"{turn}.assistant")["state"]
    stream = streamed(turn, PARTS, view=posted)
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
        said = PARTS.prologue(StreamContext("thread-1", message_id, turns), posted, False)
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
    ours = UI.snapshot(AFTER["t3"])
    for message in ours:
        message.pop("metadata", None)
    step = {"type": "step-start"}
    said = {"type": "text", "text": "Saturday it is.", "state": "done"}
    posted[-1]["parts"] += [step, said]
    assert ours == posted


def test_a_hydrated_message_has_the_parts_the_steps_and_the_sums() -> None:
    u1, m1, _, m2 = PARTS.snapshot(AFTER["t2"])
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
        "disposition": "server",
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
    assert m2["parts"][0]["disposition"] == "client"
    assert "result" not in m2["parts"][0]


def transported(name: str, **fields: Any) -> PostedTurn:
    return PostedTurn(TurnRequest(**fields), PARTS, request(name)["state"])


def chatted(**fields: Any) -> PostedTurn:
    return PostedTurn(TurnRequest(thread_id="thread-1", **fields), UI, None)


def words(text: str, id: str | None = None) -> UserMessage:
    return UserMessage((TextContent(text),), id)


A1 = transported("t1.assistant", message=words("Weather in Oslo?"))
A2 = transported("t2.assistant", thread_id="thread-1", message=words("Book a trip."))
A3 = transported("t3.assistant", thread_id="thread-1", answers=(ToolAnswer("call_3", "Sat"),))
UI1 = chatted(message=words("Weather in Oslo?", "u1"))
UI2 = chatted(message=words("Book a trip.", "u2"))
UI3 = chatted(answers=(ToolAnswer("call_3", "Sat"),), answers_are_copies=True)


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
def test_the_captured_requests_ask_for_these_turns(name: str, expected: PostedTurn) -> None:
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
