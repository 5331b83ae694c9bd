"""Keys of a server put together from its deltas, and given back in a request."""

import json
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from tests.support.loop_work import counted_calls
from turnstream.graphs.history import for_model
from turnstream.graphs.server_keys import (
    MAX_CHARS,
    ServerKeys,
    for_ids,
    key_of,
    with_keys,
    without_keys,
)


def call(id: str | None, index: int = 0, **keys: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "id": id, "type": "function", **keys}]}


def kept(*deltas: dict[str, Any]) -> Any:
    keys = ServerKeys()
    keys.add(deltas)
    text = keys.rest()
    return json.loads(text) if text else None


def test_a_message_of_known_keys_has_none() -> None:
    assert kept({"role": "assistant", "content": "Hi"}, call("c1", function={"name": "f"})) is None


def test_texts_in_pieces_are_joined_and_of_other_keys_the_last_value_is_kept() -> None:
    found = kept(
        {"reasoning_content": "6 * 7 ", "provider": "A", "score": 1},
        {"reasoning_content": "is 42", "provider": "B", "score": None},
    )
    assert found["message"] == {"reasoning_content": "6 * 7 is 42", "provider": "B", "score": 1}


def test_items_of_a_list_are_told_apart_by_index_and_type() -> None:
    text = {"type": "reasoning.text", "index": 0}
    found = kept(
        {"reasoning_details": [{**text, "text": "One, "}, {"type": "x", "index": 0, "data": "A"}]},
        {"reasoning_details": [{**text, "text": "two"}, {"text": "no index"}]},
        {"reasoning_details": [{**text, "signature": "s"}, {"text": "no index"}]},
    )
    assert found["message"]["reasoning_details"] == [
        {**text, "text": "One, two", "signature": "s"},
        {"type": "x", "index": 0, "data": "A"},
        {"text": "no index"},
        {"text": "no index"},
    ]


def test_keys_of_a_call_are_under_its_id_also_those_of_later_pieces() -> None:
    found = kept(call("c1", extra={"a": "1"}), call(None, extra={"b": "2"}), call("c2", 1, more=1))
    assert found["calls"] == {"c1": {"extra": {"a": "1", "b": "2"}}, "c2": {"more": 1}}


def test_keys_ahead_of_the_first_word_and_behind_it_are_given_back_as_one() -> None:
    text, keys = {"type": "reasoning.text", "index": 0}, ServerKeys()
    keys.add([{"reasoning_details": [{**text, "text": "One, "}], "reasoning_content": "One, "}])
    ahead = keys.begin()
    keys.add([{"reasoning_details": [{**text, "text": "two"}], "reasoning_content": "two"}])
    keys.add([call("c1", extra=1)])
    assert keys.begin() == ""
    called = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = {"role": "assistant", "content": "Well", "tool_calls": [called]}
    sent = with_keys([said], [AIMessage("", additional_kwargs={"k": ahead + keys.rest()})], "k")
    whole = {"reasoning_details": [{**text, "text": "One, two"}], "reasoning_content": "One, two"}
    assert sent == [{**whole, **said, "tool_calls": [{**called, "extra": 1}]}]


def test_a_message_with_too_many_keys_has_none() -> None:
    piece = {"reasoning_content": "x" * 1_000}
    assert kept(*[piece] * (MAX_CHARS // 1_000)) is not None
    assert kept(*[piece] * (MAX_CHARS // 1_000 + 1), {"extra": 1}) is None


def test_many_pieces_cost_no_more_each_than_few() -> None:
    counts = []
    for pieces in (1_000, 4_000):
        deltas = [
            {"reasoning_content": "x", "details": [{"index": place, "text": "y"}]}
            for place in range(pieces)
        ]
        with counted_calls() as calls:
            kept(*deltas)
        counts.append(calls.count)
    assert counts[1] < 4.2 * counts[0]


def test_keys_follow_the_ids_of_the_thread_and_long_ids_are_kept() -> None:
    long = "c" * 800
    text = json.dumps({"message": {}, "calls": {"c1": {"a": 1}, long: {}, "gone": {"a": 2}}})
    calls = json.loads(for_ids(text, {"c1": "c1-2", long: "call_short"}))["calls"]
    assert calls == {"c1-2": {"a": 1}, "call_short": {"id": long}}
    assert for_ids(json.dumps({"message": {}, "calls": {"gone": {}}}), {"c1": "c1-2"}) == ""


def test_keys_take_room_of_the_history_and_are_read_in_what_is_sent_alone() -> None:
    key = key_of("http://model.test/v1", "m")
    turns: list[AnyMessage] = []
    for number in range(20):
        keys = {key: json.dumps({"message": {"reasoning_content": "x" * 40_000}, "calls": {}})}
        answer = AIMessage("Yes.", id=f"a{number}", additional_kwargs=keys)
        answer.response_metadata = {"model_provider": "openai"}
        turns += [HumanMessage("Well?", id=f"u{number}"), answer]
    assert len(for_model(turns, "", 50_000, "openai")) == 2 * 4


def test_what_every_server_takes_has_short_ids_that_still_fit_each_other() -> None:
    asked = [
        {"role": "assistant", "content": "", "own": 1, **call("c" * 800, own=2)},
        {"role": "tool", "tool_call_id": "c" * 800, "content": "42"},
    ]
    message, answer = without_keys(asked)
    assert message.keys() == {"role", "content", "tool_calls"}
    (found,) = message["tool_calls"]
    assert "own" not in found
    assert len(found["id"]) <= 40
    assert found["id"] == answer["tool_call_id"]
