"""The zoo when runs are stopped at any moment, and when the server is killed."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.graphs.zoo import ZOO, Animal
from tests.graphs.zoo.model import Gate
from tests.graphs.zoo.plain_loop import shown
from tests.graphs.zoo.served import Home, resumption, served
from tests.support.backend import THREAD
from tests.support.samples import sample
from tests.support.served_run import ServedRun, ended, serve_run
from tests.support.waiting import WAIT_SECONDS
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.turns.requests import Resume, TurnRequest

pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
CONTINUE = TurnRequest(continue_=True)
MOMENTS = sample(10, 1)
STOPPED, KILLED = ZOO[:: sample(1, 2)], ZOO[sample(0, 1) :: sample(1, 2)]


ASKING = [animal for animal in ZOO if animal.questions]
IN_A_TOOL = [animal for animal in ASKING if animal.name == "question in a subagent"]
SEEN = [animal for animal in ASKING if animal not in IN_A_TOOL]
"""Graphs of whose questions LangGraph knows the answer before the task that asks is over."""


def name_of(animal: Animal) -> str:
    return animal.name


class StreamGate:
    """Holds the graph's stream before one of its items, counted over all runs: the graph gets ahead
    of the run, as when the database is slow."""

    def __init__(self, home: Home, patch: pytest.MonkeyPatch) -> None:
        self.items = 0
        self.hold_at: int | None = None
        self.reached = asyncio.Event()
        self._stream = home.inside.checkpoints.stream
        patch.setattr(home.inside.checkpoints, "stream", self._held)

    async def _held(self, *given: Any, **named: Any) -> AsyncIterator[Any]:
        stream: Any = self._stream(*given, **named)
        async with aclosing(stream) as items:
            async for item in items:
                self.items += 1
                if self.items == self.hold_at:
                    self.reached.set()
                    await asyncio.Event().wait()
                yield item


async def until_held(
    home: Home,
    held: asyncio.Event,
    thread: str = THREAD,
    request: TurnRequest | None = None,
) -> asyncio.Task[LoggedRun]:
    """Play a turn, from a request on, until one of its runs is held: that run, else the last. A run
    that is held before its request is saved comes when it is stopped."""
    request = request or home.request
    while True:
        run = asyncio.create_task(home.inside.start(request, thread))
        ending = asyncio.create_task(end_of(home, run, thread))
        holding = asyncio.create_task(held.wait())
        async with asyncio.timeout(WAIT_SECONDS):
            await asyncio.wait((ending, holding), return_when=asyncio.FIRST_COMPLETED)
        holding.cancel()
        if held.is_set():
            ending.cancel()
            return run
        asking = await ending
        questions = home.open_questions(asking)
        if not questions:
            return run
        request = resumption(asking, questions[0])


async def end_of(home: Home, run: asyncio.Task[LoggedRun], thread: str) -> ServedRun:
    return await ended(home.inside, await asyncio.shield(run), thread)


@pytest.mark.long
@pytest.mark.parametrize("animal", STOPPED, ids=name_of)
async def test_a_stop_at_any_moment_leaves_what_was_told_and_a_thread_that_goes_on(
    tmp_path: Path, animal: Animal, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(tmp_path / "t.db", animal) as home:
        stream = StreamGate(home, monkeypatch)
        assert len(await home.turn("whole")) == len(animal.questions) + 1
        deltas, items = home.model.gate.deltas, stream.items
        chance = random.Random(animal.name)
        for moment in chance.sample(range(1, deltas + items + 1), MOMENTS):
            thread = f"stopped-at-{moment}"
            home.model.gate = Gate(moment if moment <= deltas else None)
            stream.items, stream.hold_at = 0, max(moment - deltas, 0)
            stream.reached = asyncio.Event()
            held = home.model.gate.reached if moment <= deltas else stream.reached
            run = await until_held(home, held, thread)
            await home.inside.stop(thread)
            home.model.gate.open()
            stopped = await ended(home.inside, await run, thread)
            stopped.check_chunks()
            await goes_on(home, thread)


async def goes_on(home: Home, thread: str = THREAD) -> None:
    """The next message is taken, and comes to its end."""
    *_, last = await home.turn(thread)
    assert last.reason == "stop"
    assert not home.model.refused


@pytest.mark.long
@pytest.mark.parametrize("animal", KILLED, ids=name_of)
async def test_a_turn_that_a_crash_broke_off_is_continued_to_the_same_end(
    tmp_path: Path, animal: Animal
) -> None:
    async with served(tmp_path / "whole.db", animal) as whole:
        assert len(await whole.turn()) == len(animal.questions) + 1
        deltas = whole.model.gate.deltas
    chance = random.Random(animal.name)
    for moment in chance.sample(range(1, deltas + 1), min(MOMENTS, deltas)):
        model, path = animal.model().held_at(moment), tmp_path / f"{moment}.db"
        async with served(path, animal, model) as before:
            await until_held(before, model.gate.reached)
            async with served(path, animal, crashed=True) as after:
                await continues_to_its_end(after)
                await goes_on(after)
            await before.inside.stop()


async def continues_to_its_end(home: Home) -> None:
    continued = await ended(home.inside, await home.inside.start(CONTINUE))
    for run in await home.resumed(continued):
        run.check_chunks()
    await has_its_thread(home)


async def has_its_thread(home: Home) -> None:
    messages = await home.inside.messages()
    assert tuple(shown(message) for message in messages) == home.animal.thread


@pytest.mark.parametrize("animal", ASKING, ids=name_of)
async def test_a_question_survives_a_crash(tmp_path: Path, animal: Animal) -> None:
    path = tmp_path / "t.db"
    async with served(path, animal) as before:
        asking = await serve_run(before.inside, before.request)
        assert before.open_questions(asking)
        async with served(path, animal, crashed=True) as after:
            await after.resumed(asking)
            await has_its_thread(after)


@pytest.mark.long
@pytest.mark.parametrize("animal", SEEN[sample(0, 2) :: sample(1, 3)], ids=name_of)
async def test_a_question_that_was_answered_before_a_crash_is_not_open_again(
    tmp_path: Path, animal: Animal
) -> None:
    """Its interrupt is still in the state of the graph while the task that asked is at work."""
    path = tmp_path / "t.db"
    async with served(path, animal) as before:
        asking = await serve_run(before.inside, before.request)
        answer = resumption(asking, before.open_questions(asking)[0])
        before.model.gate = Gate(1)
        await until_held(before, before.model.gate.reached, request=answer)
        async with served(path, animal, crashed=True) as after:
            await continues_to_its_end(after)
        await before.inside.stop()


async def test_a_question_that_a_subagent_has_asked_is_asked_again_after_a_crash_and_answered_once(
    tmp_path: Path,
) -> None:
    """The graph of a tool is no part of the state of the graph that calls the tool: LangGraph shows
    the question as open until the call ends. The first answer is the one that counts."""
    (animal,) = IN_A_TOOL
    path = tmp_path / "t.db"
    async with served(path, animal) as before:
        asking = await serve_run(before.inside, before.request)
        (question,), (asked,) = before.open_questions(asking), asking.named("Interrupt")
        before.model.gate = Gate(1)
        await until_held(before, before.model.gate.reached, request=resumption(asking, question))
        async with served(path, animal, crashed=True) as after:
            again = TurnRequest(resume=Resume({asked.id: "another answer"}))
            (await serve_run(after.inside, again)).check_chunks()
            await has_its_thread(after)
        await before.inside.stop()


@pytest.mark.long
@pytest.mark.parametrize("animal", ASKING[sample(0, 1) :: sample(1, 3)], ids=name_of)
async def test_a_new_message_in_place_of_an_answer_goes_on(tmp_path: Path, animal: Animal) -> None:
    async with served(tmp_path / "t.db", animal) as home:
        asking = await serve_run(home.inside, home.request)
        assert home.open_questions(asking)
        asking.check_chunks()
        await goes_on(home)
