"""Folding messages into a thread: answers land behind their calls, whenever they come."""

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage

from tests.support.growth import SIZES, fault_of_growth
from turnstream.graphs.state import add_messages_in_order as fold


def calling(id: str, *call_ids: str) -> AIMessage:
    calls = [{"type": "tool_call", "id": it, "name": "t", "args": {}} for it in call_ids]
    return AIMessage("", id=id, tool_calls=calls)


def answer(id: str, call_id: str, content: str = "ok") -> ToolMessage:
    return ToolMessage(content, id=id, tool_call_id=call_id)


def removal(id: str) -> Any:
    """LangGraph takes it for a message; its type does not say so."""
    return RemoveMessage(id)


def ids(messages: Sequence[AnyMessage]) -> list[str | None]:
    return [message.id for message in messages]


def test_a_late_answer_lands_directly_behind_its_call() -> None:
    thread = fold(
        [], [[HumanMessage("hi", id="h1"), calling("a1", "c1")], HumanMessage("x", id="h2")]
    )
    assert ids(fold(thread, [answer("t1", "c1")])) == ["h1", "a1", "t1", "h2"]


def test_answers_to_one_message_keep_the_order_of_their_coming() -> None:
    thread = fold([], [[calling("a1", "c1", "c2"), HumanMessage("x", id="h1")]])
    thread = fold(thread, [answer("t2", "c2"), answer("t1", "c1")])
    assert ids(thread) == ["a1", "t2", "t1", "h1"]


def test_a_second_answer_to_a_call_is_dropped() -> None:
    thread = fold([], [[calling("a1", "c1"), answer("t1", "c1"), answer("t2", "c1")]])
    assert ids(thread) == ["a1", "t1"]


def test_an_answer_goes_to_the_newest_of_two_calls_with_one_id() -> None:
    thread = fold([], [[calling("a1", "c1"), answer("t1", "c1"), calling("a2", "c1")]])
    assert ids(fold(thread, [answer("t2", "c1")])) == ["a1", "t1", "a2", "t2"]


def test_an_answer_without_its_call_is_kept_at_the_end() -> None:
    assert ids(fold([HumanMessage(id="h1", content="")], [answer("t1", "c")])) == ["h1", "t1"]


def test_a_known_id_replaces_its_message_where_it_stands() -> None:
    thread = fold([], [[AIMessage("one", id="a1"), HumanMessage("x", id="h1")]])
    thread = fold(thread, [AIMessage("two", id="a1")])
    assert [message.content for message in thread] == ["two", "x"]


def test_a_removed_message_is_gone_and_its_id_may_come_again() -> None:
    thread = fold([HumanMessage("one", id="h1")], [[removal("h1")]])
    assert thread == []
    again = fold([HumanMessage("one", id="h1")], [removal("h1"), HumanMessage("2", id="h1")])
    assert [message.content for message in again] == ["2"]


def test_folding_leaves_the_history_that_it_is_given_alone() -> None:
    history: list[AnyMessage] = [HumanMessage("x", id="h1")]
    fold(history, [[AIMessage("y", id="a1"), removal("h1")]])
    assert ids(history) == ["h1"]


message_ids = st.sampled_from(["m1", "m2", "m3", "m4", None])
call_ids = st.sampled_from(["c1", "c2", "c3"])
some_message: st.SearchStrategy[AnyMessage] = st.one_of(
    st.builds(lambda i, t: HumanMessage(t, id=i), message_ids, st.sampled_from("xyz")),
    st.builds(lambda i, c: calling(i, *c), message_ids, st.lists(call_ids, unique=True)),
    st.builds(answer, message_ids, call_ids),
    st.sampled_from(["m1", "m2", "m3"]).map(removal),
)
writes = st.lists(some_message | st.lists(some_message, max_size=4), max_size=8)


@given(writes, st.lists(st.integers(0, 8), max_size=3))
def test_how_writes_are_batched_makes_no_difference(
    given_writes: list[list[AnyMessage] | AnyMessage], cuts: list[int]
) -> None:
    # Without an id nothing tells copies apart, so both ways get the same objects.
    at_once = fold([], copy.copy(given_writes))
    places = [0, *sorted(cut for cut in cuts if cut <= len(given_writes)), len(given_writes)]
    thread: list[AnyMessage] = []
    for start, end in pairwise(places):
        thread = fold(thread, given_writes[start:end])
    flat = [m for write in given_writes for m in (write if isinstance(write, list) else [write])]
    assert thread == at_once == fold([], [flat])


@given(st.lists(st.lists(call_ids, unique=True), max_size=4), st.data())
def test_every_answer_stands_behind_its_call_whatever_comes_when(
    called: list[list[str]], data: st.DataObject
) -> None:
    numbered = [[f"{n}-{call}" for call in calls] for n, calls in enumerate(called)]
    spoken: list[AnyMessage] = []
    for n, calls in enumerate(numbered):
        spoken += [HumanMessage("x", id=f"h{n}"), calling(f"a{n}", *calls)]
    late = [answer(f"t-{call}", call) for calls in numbered for call in calls]
    answers = data.draw(st.permutations([*late, *late]))
    thread = fold([], [spoken, *answers])
    behind: list[str] = []
    for message in thread:
        if isinstance(message, ToolMessage):
            assert message.tool_call_id in behind, "behind its call, and only once"
            behind.remove(message.tool_call_id)
        else:
            assert behind == []
            behind = [str(call["id"]) for call in getattr(message, "tool_calls", [])]
    assert behind == []


def naively(history: Sequence[AnyMessage], changes: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Messages that replace, remove or follow others, without answers."""
    messages = [*history]
    for change in changes:
        known = next((n for n, one in enumerate(messages) if one.id == change.id), None)
        if isinstance(change, RemoveMessage):
            messages = [one for one in messages if one.id != change.id]
        elif known is None:
            messages.append(change)
        else:
            messages[known] = change
    return messages


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcdef")), max_size=12))
def test_changes_in_any_order_end_as_one_after_the_other(steps: list[tuple[bool, str]]) -> None:
    changes = [
        removal(id) if removes else HumanMessage(str(number), id=id)
        for number, (removes, id) in enumerate(steps)
    ]
    history: list[AnyMessage] = [HumanMessage("", id=id) for id in "abc"]
    assert fold(history, [changes]) == naively(history, changes)


def test_many_changes_cost_no_more_than_their_number() -> None:
    history: list[AnyMessage] = [HumanMessage("", id=str(n)) for n in range(SIZES[-1])]
    removals = [removal(str(n)) for n in range(SIZES[-1])]
    assert fault_of_growth(lambda size: fold(history[:size], [removals[:size]])) is None
    assert fault_of_growth(lambda size: fold(history[:size], [history[:size]])) is None
