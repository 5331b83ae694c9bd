"""Requests that cannot be kept, and requests of which it is not known at once whether they are."""

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from sqlalchemy import Connection

from tests.support.backend import THREAD, Backend, after_crash, backend, chunks_of, key_of, message
from tests.support.scripted_model import ScriptedModel
from tests.support.waiting import HeldMethod, eventually, until
from turnstream.server.callers.principal import LOCAL
from turnstream.server.formats import DEFAULT
from turnstream.server.runs import deadline, lives, retries
from turnstream.server.runs.deadline import ThreadStillBusy
from turnstream.server.runs.lives import StreamLost
from turnstream.server.runs.run import Run
from turnstream.server.storage import claims
from turnstream.server.storage.checkpointer import SqliteCheckpointer
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.turns.chunks import Done
from turnstream.server.turns.requests import IdempotencyKey, Resume, TurnRequest

KEY = IdempotencyKey("k", "digest")


@pytest.fixture
async def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Backend]:
    monkeypatch.setattr(retries, "RETRY_SECONDS", 0.01)
    async with backend(tmp_path / "t.db", ScriptedModel()) as inside:
        yield inside


async def start(inside: Backend, request: TurnRequest) -> Any:
    return await inside.runs.start(LOCAL, replace(request, thread_id=THREAD), DEFAULT.name, KEY)


async def asked(inside: Backend) -> list[str]:
    return [m.text for m in await inside.messages() if m.type == "human"]


def full(*_: object) -> None:
    raise StorageUnavailable("storage_full")


# a graph that does not take a message


def picky(left: Any, right: Any) -> Any:
    if any(m.content == "bad" for m in right):
        raise ValueError("a word that is not wanted")
    return add_messages(left, right)


class Picky(TypedDict):
    messages: Annotated[list[AnyMessage], picky]


def build_picky(_model: Any, _catalogue: Any, *, checkpointer: Any, **_: Any) -> Any:
    builder = StateGraph(Picky)
    builder.add_node("speak", lambda _state: {"messages": [AIMessage("Fine.")]})
    builder.add_edge(START, "speak")
    return builder.compile(checkpointer=checkpointer)


@pytest.mark.parametrize("begun", [False, True])
async def test_a_message_that_a_reducer_refuses_is_refused_and_the_next_one_works(
    tmp_path: Path, begun: bool
) -> None:
    async with backend(tmp_path / "t.db", ScriptedModel(), build=build_picky) as inside:
        if begun:
            await inside.turn(message("Hello"))
        before = await inside.entry()
        with pytest.raises(ValueError, match="not wanted"):
            await start(inside, message("bad"))
        assert await inside.entry() == before
        assert Done() in await chunks_of(await start(inside, message("Again")))
        assert (await asked(inside))[-1] == "Again"
        assert "bad" not in await asked(inside)


# a request of which a part is saved


async def test_a_request_that_is_saved_in_part_while_nothing_can_be_written_is_accepted(
    inside: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first checkpoint is committed, and the thread can be read."""
    monkeypatch.setattr(lives, "OUTCOME_SECONDS", 0.1)
    with monkeypatch.context() as broken:
        broken.setattr(SqliteCheckpointer, "put_writes", full)
        with pytest.raises(StreamLost):
            await start(inside, message())

    async def kept() -> bool:
        return await asked(inside) == ["Hello"]

    await eventually(kept)


# a resume


class Asking(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def build_asking(went_on: asyncio.Event) -> Any:
    async def ask(_state: Any) -> dict[str, Any]:
        said = interrupt("Go on?")
        went_on.set()
        await asyncio.Event().wait()
        return {"messages": [AIMessage(str(said))]}

    def build(_model: Any, _catalogue: Any, *, checkpointer: Any, **_: Any) -> Any:
        builder: Any = StateGraph(Asking)
        builder.add_node("ask", ask)
        builder.add_edge(START, "ask")
        return builder.compile(checkpointer=checkpointer)

    return build


async def test_an_answer_to_the_graph_is_taken_once_though_its_process_dies(
    tmp_path: Path,
) -> None:
    went_on = asyncio.Event()
    build, path = build_asking(went_on), tmp_path / "t.db"
    async with backend(path, ScriptedModel(), build=build) as inside:
        await inside.turn(message())
        [question] = (await inside.state()).interrupts
        answer = TurnRequest(resume=Resume({question.id: "yes"}))
        await start(inside, answer)
        await went_on.wait()
        async with after_crash(path, ScriptedModel(), build=build) as after:
            went_on.clear()
            with pytest.raises(StreamLost):
                await start(after, answer)
            assert not went_on.is_set()


# a caller that leaves


async def test_a_claim_whose_caller_leaves_while_it_is_committed_is_released(
    inside: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, through = claims.claim, threading.Event()
    loop, committing = asyncio.get_running_loop(), asyncio.Event()

    def held(connection: Connection, *given: Any) -> Any:
        loop.call_soon_threadsafe(committing.set)
        through.wait()
        return claim(connection, *given)

    with monkeypatch.context() as slow:
        slow.setattr(claims, "claim", held)
        starting = asyncio.create_task(start(inside, message()))
        await committing.wait()
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        through.set()
    assert Done() in await chunks_of(await start(inside, message()))
    assert await asked(inside) == ["Hello"]


# claims that are not released


@pytest.mark.parametrize("method", ["waiting_approvals", "_follow_words"])
async def test_a_run_whose_thread_cannot_be_looked_at_is_ended_all_the_same(
    inside: Backend, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    async def fails(*_: object) -> None:
        raise ValueError

    owner = Run if method == "waiting_approvals" else lives.Lives
    monkeypatch.setattr(owner, method, fails)
    assert Done() in await inside.turn(message())
    assert await inside.store.holder(key_of()) is None


async def test_a_run_that_breaks_off_leaves_its_thread_free(
    inside: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr(inside.runs._hooks.audit, "ended", fails)
    assert Done() in await inside.turn(message())
    await until(lambda: not inside.runs.unsaved)
    assert await inside.store.holder(key_of()) is None


async def test_deletions_that_wait_for_each_other_have_one_deadline(
    inside: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = HeldMethod(monkeypatch, inside.store, "end_run")
    await inside.start(message())
    await ended.reached.wait()
    deleting = [inside.runs.delete(key_of()) for _ in range(5)]
    with monkeypatch.context() as hurried:
        hurried.setattr(deadline, "END_SECONDS", 0.05)
        results = await asyncio.gather(*deleting, return_exceptions=True)
    assert [type(result) for result in results] == [ThreadStillBusy] * 5
    ended.through.set()
    await inside.runs.delete(key_of())
    assert await inside.entry() is None
