"""A long thread is read beside the event loop: what the loop does for a request is a few passes."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage

from tests.support.backend import Backend, backend, key_of, message
from tests.support.long_threads import history
from tests.support.loop_work import counted_calls
from tests.support.scripted_model import ScriptedModel
from turnstream.graphs.history import for_model
from turnstream.server.http.thread_json import thread_json
from turnstream.server.turns.requests import Branch

SHORTER, LONGER = 500, 1_000
MESSAGES_A_TURN = 4


async def post(inside: Backend, thread: str) -> None:
    await inside.turn(message(), thread)


async def post_and_edit(inside: Backend, thread: str) -> None:
    await post(inside, thread)
    posted = (await inside.turns(thread))[-2]
    await inside.turn(message(branch=Branch("edit", posted.id)), thread)


async def load(inside: Backend, thread: str) -> None:
    await inside.turns(thread)


async def calls_a_message(path: Path, work: Callable[[Backend, str], Awaitable[None]]) -> float:
    """How many calls the event loop makes for each further message of a thread."""
    counts = list[int]()
    async with backend(path, ScriptedModel()) as inside:
        for turns in (SHORTER, SHORTER, LONGER):  # the first time something may be set up
            thread = f"thread-{len(counts)}"
            await inside.checkpoints.add(key_of(thread), history(turns))
            with counted_calls() as calls:
                await work(inside, thread)
            counts.append(calls.count)
    _, shorter, longer = counts
    return (longer - shorter) / ((LONGER - SHORTER) * MESSAGES_A_TURN)


@pytest.mark.parametrize(
    ("work", "most"), [(post, 3), (post_and_edit, 5), (load, 1)], ids=["post", "edit", "load"]
)
async def test_the_loop_reads_a_long_thread_only_so_often(
    tmp_path: Path, work: Callable[[Backend, str], Awaitable[None]], most: float
) -> None:
    assert await calls_a_message(tmp_path / "long.db", work) <= most


def test_what_the_model_gets_costs_no_more_the_longer_the_thread_is() -> None:
    counts = []
    for turns in (SHORTER, LONGER):
        thread = history(turns, words="What is")
        with counted_calls() as calls:
            assert 50 < len(for_model(thread, "Be brief.", 3_000)) < 150
        counts.append(calls.count)
    assert counts[0] == counts[1]


ROOM = st.integers(1, 400)
WORDS = st.text("ab ", min_size=1, max_size=60)


@given(st.lists(st.tuples(WORDS, WORDS, st.integers(0, 2)), min_size=1, max_size=8), ROOM)
@example([("a", "a", 0), ("a", "a", 2)], 64)
def test_the_model_gets_as_many_whole_turns_as_fit(
    said: Sequence[tuple[str, str, int]], room: int
) -> None:
    thread = [m for number, turn in enumerate(said) for m in _turn(number, *turn)]
    whole, prompt = for_model(thread, "", 10**9), for_model(thread, "", room)
    first = len(whole) - len(prompt)
    assert prompt == whole[first:]
    assert isinstance(prompt[0], HumanMessage)
    starts = [place for place, m in enumerate(whole) if isinstance(m, HumanMessage)]
    fitting = [place for place in starts if _estimate(whole[place:]) <= room]
    assert first == min(fitting, default=starts[-1])


def _turn(number: int, question: str, answer: str, calls: int) -> list[AnyMessage]:
    made = [
        ToolCall(type="tool_call", id=f"c{number}-{n}", name="one", args={}) for n in range(calls)
    ]
    called = AIMessage("", id=f"a{number}", tool_calls=made)
    results = [ToolMessage(answer, tool_call_id=call["id"] or "") for call in made]
    asked = HumanMessage(question, id=f"u{number}")
    return [asked, called, *results, AIMessage(answer, id=f"b{number}")]


def _estimate(messages: Sequence[AnyMessage]) -> int:
    """Four characters a token, and four tokens more a message, and a message's calls."""
    texts = [str(message.content) for message in messages]
    texts += [str(m.tool_calls) for m in messages if isinstance(m, AIMessage) and m.tool_calls]
    return sum(len(text) // 4 + 4 for text in texts)


async def test_others_get_their_turn_while_a_long_thread_is_written() -> None:
    messages = [{"role": "user", "content": "x" * 1_000}] * 1_000
    writing = asyncio.create_task(thread_json({"id": "t"}, messages, {"run": None}))
    rounds = 0
    while not writing.done():
        await asyncio.sleep(0)
        rounds += 1
    assert rounds >= 10, "a megabyte, written a tenth of it at a time"
    assert len(json.loads(await writing)["messages"]) == 1_000
