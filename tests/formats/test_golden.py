"""What makes transcripts comparable: it drops what is random, and hides nothing else."""

import json
from typing import Any

import pytest

from tests.support import golden
from tests.support.golden import SAME, Event, Json, events, joined, last_id, normalised, payloads

UUID = "11111111-2222-3333-4444-555555555555"
DONE = b"id: abcdefghijkl:2\ndata: [DONE]\n\n"


def delta(text: str, path: int = 0) -> Event:
    return [{"type": "text-delta", "textDelta": text, "path": [path]}]


def appended(text: str, target: str = "content") -> Event:
    operation = {"type": "append-text", "path": ["messages", "1", target], "value": text}
    change = {"type": "update-state", "operations": [operation], "path": []}
    return [*delta(text), change]


def transcript(*stream: Event, run_id: str = "abcdefghijkl", **threads: Any) -> Json:
    turn = {"headers": {"x-run-id": run_id}, "stream": list(stream), "replay": list(stream)}
    return {"turns": [turn], "threads": threads}


def frame(id: str | None, payload: str) -> bytes:
    return (f"id: {id}\n" if id else "").encode() + f"data: {payload}\n\n".encode()


@pytest.mark.parametrize(
    "event",
    [
        delta,
        appended,
        lambda text: [{"type": "text-delta", "id": "a.0", "delta": text}],
        lambda text: [{"type": "reasoning-delta", "id": "a.0", "delta": text}],
        lambda text: [{"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": text}],
    ],
)
def test_the_pieces_of_a_text_are_one_however_they_came(event: Any) -> None:
    whole = [event("So far.")]
    assert joined([event("So "), event("far"), event(".")]) == whole
    assert joined([event("So far"), event(".")]) == whole
    assert joined([event("So far!")]) != whole


@pytest.mark.parametrize(
    "events_",
    [
        [delta("a"), delta("b", 1)],
        [delta("a"), [{"type": "part-finish", "path": [0]}], delta("b")],
        [appended("a"), appended("b", "partial_json")],
        [appended("a"), delta("b")],
        [["[DONE]"], ["[DONE]"]],
        [[{"type": "part-finish"}], [{"type": "part-finish"}]],
    ],
)
def test_nothing_else_is_joined(events_: list[Event]) -> None:
    assert joined(events_) == events_


def test_random_ids_are_named_in_the_order_of_their_first_appearance() -> None:
    run_id, thread = "Zq3bcdefgh1l", "thread_0123456789abcdef0123"
    inner = json.dumps({"id": f"tool-{UUID}", "run": run_id})
    said = [{"a": "msg_0123456789abcdef.a", "b": inner, "c": f"lc_run--{UUID}"}]
    more = [{"d": "msg_ffffffffffffffff", "e": "msg_0123456789abcdef", "f": "chatcmpl-01234567-3"}]
    failed = [{"error": "It failed. (0123456789ab)", "end": f"end-{run_id}", "t": thread}]
    found = normalised(transcript(said, more, failed, run_id=run_id))
    assert found["turns"][0]["headers"] == {"x-run-id": "run-1"}
    assert found["turns"][0]["stream"] == [
        [{"a": "msg-1.a", "b": '{"id": "tool-1", "run": "run-1"}', "c": "step-1"}],
        [{"d": "msg-2", "e": "msg-1", "f": "step-2"}],
        [{"error": "It failed. (error-1)", "end": "end-run-1", "t": "thread-1"}],
    ]


def test_durations_and_times_of_day_are_nought_everywhere() -> None:
    timing = {"timing": {"firstTokenMs": 12, "modelMs": 34, "toolMs": {"call_1": 5, "call_2": 6}}}
    still = {"timing": {"firstTokenMs": 0, "modelMs": 0, "toolMs": {"call_1": 0, "call_2": 0}}}
    inner, quiet = (
        golden.dumps({**timing, "duration_ms": 7}),
        golden.dumps({**still, "duration_ms": 0}),
    )
    entry = {"created_at": "2026-01-02T03:04:05.678+00:00", "usage": 9, "duration_ms": None}
    found = normalised(transcript([timing, {"content": inner}], thread=entry))
    assert found["turns"][0]["stream"] == [[still, {"content": quiet}]]
    assert found["threads"] == {"thread": {"created_at": 0, "usage": 9, "duration_ms": None}}


def test_a_replay_is_the_same_only_if_it_is() -> None:
    same = transcript(delta("a"))
    assert normalised(same)["turns"][0]["replay"] == SAME
    same["turns"][0]["replay"] = [delta("b")]
    assert normalised(same)["turns"][0]["replay"] == [delta("b")]


def test_events_are_payloads_up_to_an_id() -> None:
    stream = frame(None, '{"type":"start"}') + frame("abcdefghijkl:1", '{"a":1}') + b": ping\n\n"
    assert events(stream + DONE, "abcdefghijkl", gaps=False) == [
        [{"type": "start"}, {"a": 1}],
        ["[DONE]"],
    ]
    assert last_id(stream + DONE) == "abcdefghijkl:2"
    assert payloads(frame(None, '{"a":1}')) == [{"a": 1}]


@pytest.mark.parametrize(
    "first",
    [
        b"",
        frame("abcdefghijkl:2", "{}"),
        frame("another:1", "{}"),
        frame("abcdefghijkl:1", '{"a": 1}'),
        frame("abcdefghijkl:1", "{}").replace(b"data", b"event: x\ndata"),
        frame("abcdefghijkl:1", "{}") + DONE + b"data: {}\n\n",
        frame("abcdefghijkl:1", "{}") + DONE + b"data: {}\n",
    ],
    ids=["gap", "twice", "another run", "not compact", "event", "no id", "cut off"],
)
def test_a_stream_that_breaks_the_rules_of_events_is_found_out(first: bytes) -> None:
    with pytest.raises(AssertionError):
        events(first + (b"" if DONE in first else DONE), "abcdefghijkl", gaps=False)


def test_where_gaps_are_allowed_numbers_still_grow() -> None:
    assert events(DONE, "abcdefghijkl", gaps=True) == [["[DONE]"]]
    with pytest.raises(AssertionError):
        events(DONE + frame("abcdefghijkl:1", "{}"), "abcdefghijkl", gaps=True)
