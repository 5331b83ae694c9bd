"""Tool calls put together from deltas, however a model numbers, names and cuts them."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk

from tests.support.scripted_model import call
from turnstream.graphs.calls import MAX_ID_CHARS, CallAssembler, parse_args, safe_name
from turnstream.tools.strict_json import clean_text, write

Seen = list[tuple[str, str, str]]


def assembled(*deltas: AIMessage, taken: tuple[str, ...] = ()) -> Seen:
    """Id, name and argument text of each call."""
    assembler = CallAssembler("msg-1", set(taken))
    for delta in deltas:
        assembler.feed(delta)
    return [(call.id, call.name, call.args_text) for call in assembler.calls]


def names_and_args(seen: Seen) -> list[tuple[str, str]]:
    return [(name, args) for _, name, args in seen]


def test_fragments_of_numbered_calls_may_interleave() -> None:
    seen = assembled(
        call('{"a"', name="one", id="c1", index=0),
        call('{"b"', name="two", id="c2", index=1),
        call(":1}", index=0),
        call(":2}", index=1),
    )
    assert seen == [("c1", "one", '{"a":1}'), ("c2", "two", '{"b":2}')]


def test_calls_without_numbers_follow_each_other() -> None:
    seen = assembled(
        call('{"a":1}', name="one", id="c1", index=None),
        call('{"b"', name="two", id="c2", index=None),
        call(":2}", index=None),
    )
    assert seen == [("c1", "one", '{"a":1}'), ("c2", "two", '{"b":2}')]


@pytest.mark.parametrize("ids", [("c1", "c2"), (None, None), ("same", "same")])
def test_calls_that_all_have_the_number_0_are_told_apart(ids: tuple[str, str]) -> None:
    seen = assembled(call('{"a":1}', name="one", id=ids[0]), call('{"a":2}', name="one", id=ids[1]))
    assert names_and_args(seen) == [("one", '{"a":1}'), ("one", '{"a":2}')]
    assert len({id for id, _, _ in seen}) == 2


@pytest.mark.parametrize("id", ["c1", None, ""])
def test_a_head_that_is_repeated_in_every_delta_is_one_call(id: str | None) -> None:
    head: dict[str, Any] = {"name": "one", "id": id}
    seen = assembled(call("", **head), call('{"a"', **head), call(":1", **head), call("}", **head))
    assert names_and_args(seen) == [("one", '{"a":1}')]


def test_an_empty_delta_after_the_last_does_not_begin_another_call() -> None:
    seen = assembled(call('{"a":1}', name="one", id="c1"), call("", name="one", id="c1"), call(""))
    assert seen == [("c1", "one", '{"a":1}')]


def test_an_empty_delta_before_the_first_is_no_call() -> None:
    seen = assembled(call(None), call(""), call("{}", name="one", id="c1"))
    assert seen == [("c1", "one", "{}")]


def test_an_id_that_comes_in_every_delta_does_not_split_the_call() -> None:
    seen = assembled(call('{"a"', name="one", id="c1"), call(":1}", id="c1"))
    assert seen == [("c1", "one", '{"a":1}')]


@pytest.mark.parametrize("given_id", [None, "", "x" * (MAX_ID_CHARS + 1), "taken"])
def test_an_id_that_cannot_be_used_is_replaced_by_the_same_one_every_time(
    given_id: str | None,
) -> None:
    def seen() -> Seen:
        return assembled(call("{}", name="one", id=given_id), taken=("taken",))

    [(id, _, _)] = seen()
    assert id not in (given_id, "taken")
    assert 0 < len(id) <= MAX_ID_CHARS
    assert seen() == [(id, "one", "{}")]


def test_ids_repeated_in_one_message_become_different() -> None:
    seen = assembled(
        call("{}", name="one", id="call_0", index=0), call("{}", name="two", id="call_0", index=1)
    )
    assert seen[0][0] == "call_0"
    assert seen[1][0] != "call_0"


def test_ids_that_differ_only_in_what_cannot_be_stored_become_different() -> None:
    seen = assembled(
        call("{}", name="one", id="\ud800", index=0), call("{}", name="two", id="\ud801", index=1)
    )
    assert len({id for id, _, _ in seen}) == 2
    assert all(clean_text(id) == id for id, _, _ in seen)


def test_a_whole_message_gives_the_same_calls_as_a_stream() -> None:
    whole = AIMessage(
        "",
        tool_calls=[{"type": "tool_call", "id": "c1", "name": "one", "args": {"a": 1}}],
        invalid_tool_calls=[
            {
                "type": "invalid_tool_call",
                "id": "c2",
                "name": "two",
                "args": "{bad",
                "error": None,
            }
        ],
    )
    assert assembled(whole) == [("c1", "one", '{"a":1}'), ("c2", "two", "{bad")]


@pytest.mark.parametrize(
    ("given_name", "stored"),
    [
        ("get current time", "get_current_time"),
        ("a.b/c", "a_b_c"),
        ("", "unnamed"),
        ("x" * 70, "x" * 64),
        ("zeit\u00e9\ud800", "zeit__"),
    ],
)
def test_a_name_that_providers_refuse_is_stored_in_a_form_that_they_take(
    given_name: str, stored: str
) -> None:
    assert safe_name(given_name) == stored


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": 2',
        "{bad",
        "[1]",
        "null",
        '"text"',
        "{} {}",
        '{"a": NaN}',
        '{"a": 1e999}',
        "[" * 100_000,
        '{"a": "\\ud800"}',
        '{"a":' + "9" * 5000 + "}",
    ],
    ids=lambda text: text[:20],
)
def test_text_that_is_not_one_whole_storable_json_object_is_no_arguments(text: str) -> None:
    assert parse_args(text) is None


def test_a_call_without_any_text_has_no_arguments() -> None:
    assert parse_args("") == {}


Deltas = list[tuple[int, AIMessageChunk]]


@st.composite
def numbered_calls(draw: st.DrawFn) -> tuple[list[tuple[str, str]], Deltas]:
    """Calls, and their deltas in any interleaving, heads in the calls' order."""
    wanted: list[tuple[str, str]] = []
    queues: list[list[AIMessageChunk]] = []
    repeats = draw(st.booleans())
    for index in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(["one", "two"]))
        text = write(draw(st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=2)))
        cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
        places = [0, *cuts, len(text)]
        pieces = [text[a:b] for a, b in pairwise(places)]
        id = draw(st.sampled_from([f"c{index}", "same", None]))
        head: dict[str, Any] = {"name": name, "id": id}
        first, *rest = pieces
        queue = [call(first, index=index, **head)]
        # Once its arguments are whole, a head under the same number begins another call.
        queue += [call(p, index=index, **(head if repeats and p else {})) for p in rest]
        wanted.append((name, text))
        queues.append(queue)
    deltas: Deltas = []
    live: list[int] = []
    waiting = list(range(len(queues)))
    while waiting or live:
        if waiting and (not live or draw(st.booleans())):
            live.append(waiting.pop(0))
            index = live[-1]
        else:
            index = draw(st.sampled_from(live))
        deltas.append((index, queues[index].pop(0)))
        live = [i for i in live if queues[i]]
    return wanted, deltas


@given(numbered_calls())
def test_any_interleaving_of_numbered_calls_gives_the_calls(
    drawn: tuple[list[tuple[str, str]], Deltas],
) -> None:
    wanted, deltas = drawn
    seen = assembled(*(delta for _, delta in deltas))
    assert names_and_args(seen) == wanted
    assert len({id for id, _, _ in seen}) == len(seen)
    assert all(json.loads(args) == parse_args(args) for _, _, args in seen)


def test_an_integer_that_no_checkpoint_holds_becomes_a_float() -> None:
    largest = 2**64 - 1
    assert parse_args(f'{{"a": {largest}, "b": {-(2**70)}}}') == {"a": largest, "b": -(2.0**70)}
    assert parse_args('{"a": %s}' % ("9" * 400)) is None


def test_arguments_nested_deeper_than_a_checkpoint_holds_are_none() -> None:
    for depth, whole in ((90, True), (110, False), (5000, False)):
        text = '{"a":' + "[" * depth + "]" * depth + "}"
        assert (parse_args(text) is not None) == whole
