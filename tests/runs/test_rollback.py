"""A live run that is taken back, as LangGraph's clients ask for it (`rollback`)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.support.backend import Backend, backend, chunks_of, chunks_until, key_of, message
from tests.support.offered_tools import agent
from tests.support.run_chunks import RunChunks, send_message
from tests.support.scripted_model import Script, ScriptedModel, finish, text
from turnstream.graphs.chat import build as built_in
from turnstream.server.callers.principal import LOCAL
from turnstream.server.runs.busy_threads import BusyThreads, RunInProgress
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.runs.thread_version import ThreadChanged
from turnstream.server.turns.chunks import TextDelta
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import Branch, InvalidRequest, Resume, TurnRequest

graphs = pytest.mark.parametrize("build", [built_in, agent], ids=["built-in", "own"])


def stuck() -> Script:
    return [text("Well"), asyncio.Event()]


async def live(inside: Backend, words: str = "Wrong") -> LoggedRun:
    """Start a run that has said something and says no more."""
    run = await inside.start(message(words))
    await chunks_until(run, lambda told: any(isinstance(one, TextDelta) for one in told))
    return run


async def said(inside: Backend) -> list[str]:
    return [one.text for one in await inside.messages()]


@graphs
@pytest.mark.parametrize("turns", [0, 1])
async def test_a_message_takes_the_place_of_the_live_run(
    build: Any, turns: int, tmp_path: Path
) -> None:
    first: list[Script] = [[text("Hello."), finish()]] * turns
    model = ScriptedModel.of(*first, stuck(), [text("Right."), finish()])
    async with backend(tmp_path / "t.db", model, build=build) as inside:
        for _ in range(turns):
            await send_message(inside, "Hi")
        stopped = await live(inside)
        told = await send_message(inside, "Better", on_busy="rollback")
        assert told.text == "Right."
        assert RunChunks(await chunks_of(stopped)).ended is not None
        assert await said(inside) == [*["Hi", "Hello."] * turns, "Better", "Right."]
    assert [one.text for one in model.prompts[-1] if one.type != "system"][-1] == "Better"


@graphs
@pytest.mark.parametrize("turns", [0, 1])
async def test_a_run_that_is_cancelled_leaves_the_thread_as_it_was(
    build: Any, turns: int, tmp_path: Path
) -> None:
    first: list[Script] = [[text("Hello."), finish()]] * turns
    async with backend(tmp_path / "t.db", ScriptedModel.of(*first, stuck()), build=build) as inside:
        for _ in range(turns):
            await send_message(inside, "Hi")
        stopped = await live(inside)
        await inside.runs.roll_back(LOCAL, key_of(), stopped.header.run_id, "langgraph")
        assert await said(inside) == ["Hi", "Hello."] * turns
        # Of a run that is over nothing is taken back.
        await inside.runs.roll_back(LOCAL, key_of(), stopped.header.run_id, "langgraph")
        assert (await send_message(inside, "Again")).text == "Done."
        assert await said(inside) == [*["Hi", "Hello."] * turns, "Again", "Done."]


async def test_a_run_that_begins_and_ends_meanwhile_is_not_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel.of(stuck(), [text("Quick."), finish()])
    async with backend(tmp_path / "t.db", model) as inside:
        end = BusyThreads.end

        async def then_another(self: BusyThreads, key: ThreadKey, run_id: str | None) -> None:
            await end(self, key, run_id)
            await send_message(inside, "Between")

        monkeypatch.setattr(BusyThreads, "end", then_another)
        await live(inside)
        with pytest.raises(ThreadChanged):
            await inside.start(message("Better", on_busy="rollback"))
        assert (await said(inside))[-2:] == ["Between", "Quick."]


def asking(model: Any, _tools: Any, *, checkpointer: Any, **_: Any) -> Any:
    async def speak(state: Any) -> dict[str, Any]:
        interrupt("Go on?")
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("speak", speak)
    graph.add_edge(START, "speak")
    return graph.compile(checkpointer=checkpointer)


async def test_a_run_that_only_answered_is_not_taken_back_and_goes_on(tmp_path: Path) -> None:
    async with backend(tmp_path / "t.db", ScriptedModel.of(stuck()), build=asking) as inside:
        await send_message(inside)
        run = await inside.start(TurnRequest(resume=Resume("Yes")))
        with pytest.raises(InvalidRequest, match="not rolled back"):
            await inside.start(message("Better", on_busy="rollback"))
        with pytest.raises(InvalidRequest, match="not rolled back"):
            await inside.runs.roll_back(LOCAL, key_of(), run.header.run_id, "langgraph")
        assert await inside.store.holder(key_of()) == run.header.run_id
        await inside.stop()


async def test_without_a_live_run_it_is_a_message_like_any_other(tmp_path: Path) -> None:
    async with backend(tmp_path / "t.db", ScriptedModel.of()) as inside:
        await send_message(inside, "Hi", on_busy="rollback")
        await send_message(inside, "And?", on_busy="rollback")
        assert await said(inside) == ["Hi", "Done.", "And?", "Done."]


async def branches(inside: Backend) -> list[str]:
    return [head async for head, *_ in inside.runs.reader.left_branches(key_of())]


@graphs
async def test_what_was_taken_back_is_no_branch_and_no_version(build: Any, tmp_path: Path) -> None:
    model = ScriptedModel.of([text("Hello."), finish()], stuck(), [text("Right."), finish()])
    async with backend(tmp_path / "t.db", model, build=build) as inside:
        await send_message(inside, "Hi")
        again = await inside.start(
            TurnRequest(key_of().thread_id, branch=Branch("regenerate", None))
        )
        await chunks_until(again, lambda told: any(isinstance(one, TextDelta) for one in told))
        left = await branches(inside)
        assert len(left) == 1
        await send_message(inside, "Better", on_busy="rollback")
        assert await branches(inside) == []
        assert await said(inside) == ["Hi", "Hello.", "Better", "Right."]


async def test_a_run_that_began_meanwhile_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with backend(tmp_path / "t.db", ScriptedModel.of(stuck(), stuck())) as inside:
        first, begun = await live(inside, "First"), list[LoggedRun]()
        base_of = BusyThreads.base_of

        async def then_another(self: BusyThreads, key: ThreadKey, run_id: str) -> str:
            base = await base_of(self, key, run_id)
            await inside.stop()
            begun.append(await live(inside, "Second"))
            return base

        monkeypatch.setattr(BusyThreads, "base_of", then_another)
        with pytest.raises(RunInProgress):
            await inside.runs.roll_back(LOCAL, key_of(), first.header.run_id, "langgraph")
        assert await inside.store.holder(key_of()) == begun[0].header.run_id
        await inside.stop()
