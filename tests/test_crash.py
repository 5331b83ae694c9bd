"""A process that dies between two writes: its threads and their list agree when it is back."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from server.protocols.requests import InvalidRequest, TurnRequest
from server.store import ThreadStore
from tests.scripted_model import Piece, ScriptedModel, finish, text
from tests.turns import THREAD, House, crashed, house, message
from tests.waiting import Held

CONTINUE = TurnRequest("assistant-transport", resume=True)
HELLO: list[Piece] = [text("Hello."), finish()]


async def state(inside: House) -> str | None:
    entry = await inside.store.get(THREAD)
    return entry.run_state if entry else None


@asynccontextmanager
async def killed_before_the_end_was_noted(
    path: Path, model: ScriptedModel, patch: pytest.MonkeyPatch, *, stop: bool = False
) -> AsyncIterator[House]:
    async with house(path, model) as before:
        end = Held(patch, ThreadStore, "end_run")
        run = await before.runs.start(THREAD, message("Hi"))
        if stop:
            run.end({"reason": "stopped"})
        await end.reached.wait()
        assert await state(before) == "live"
        patch.undo()
        async with crashed(path, ScriptedModel.of(HELLO)) as after:
            yield after
        end.through.set()


async def test_a_run_is_told_of_only_when_its_request_is_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with house(path, ScriptedModel.of([asyncio.Event()])) as before:
        await before.runs.start(THREAD, message("Hi"))
        async with crashed(path, ScriptedModel.of(HELLO)) as after:
            assert [m.text for m in await after.messages()] == ["Hi"]
            assert await state(after) == "interrupted"
            await after.turn(CONTINUE)
            assert [m.text for m in await after.messages()] == ["Hi", "Hello."]


async def test_a_new_thread_whose_first_request_was_not_answered_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    async with house(path, ScriptedModel.of(HELLO)) as before:
        checkpoint = Held(monkeypatch, AsyncSqliteSaver, "aput")
        start = asyncio.create_task(before.runs.start(THREAD, message("Hi")))
        await checkpoint.reached.wait()
        assert await state(before) == "live"
        monkeypatch.undo()
        async with crashed(path, ScriptedModel.of(HELLO)) as after:
            assert await state(after) is None
            assert (await after.store.page(10)).entries == []
            await after.turn(message("Hi"))
            assert await state(after) == "finished"
        assert not start.done()
        checkpoint.through.set()
        await start


async def test_a_thread_whose_next_request_was_not_answered_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    async with house(path, ScriptedModel.of(HELLO, HELLO)) as before:
        await before.turn(message("Hi"))
        checkpoint = Held(monkeypatch, AsyncSqliteSaver, "aput")
        start = asyncio.create_task(before.runs.start(THREAD, message("And now?")))
        await checkpoint.reached.wait()
        assert await state(before) == "live"
        monkeypatch.undo()
        async with crashed(path, ScriptedModel.of(HELLO)) as after:
            assert await state(after) == "finished"
            assert [m.text for m in await after.messages()] == ["Hi", "Hello."]
        checkpoint.through.set()
        await start


async def test_a_run_that_was_over_and_not_noted_as_such_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel.of(HELLO)
    async with killed_before_the_end_was_noted(tmp_path / "t.db", model, monkeypatch) as after:
        assert await state(after) == "finished"
        with pytest.raises(InvalidRequest, match="has ended as it should"):
            await after.turn(CONTINUE)


@pytest.mark.parametrize(
    ("said", "stop", "ended"),
    [([text("Half "), asyncio.Event()], True, "stopped"), ([ValueError("down")], False, "failed")],
    ids=["stopped", "failed"],
)
async def test_a_run_that_had_broken_off_and_was_not_noted_as_such_can_be_continued(
    said: list[Piece],
    stop: bool,
    ended: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = ScriptedModel.of(said)
    path = tmp_path / "t.db"
    async with killed_before_the_end_was_noted(path, model, monkeypatch, stop=stop) as after:
        assert await state(after) == ended
        await after.turn(CONTINUE)
        assert await state(after) == "finished"


async def test_a_thread_that_cannot_be_read_keeps_no_server_from_starting(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with house(path, ScriptedModel.of()) as before:
        await before.turn(message("Hi"))
        await before.store.begin_run(THREAD, "run", "Hi")
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE checkpoints SET checkpoint = 'torn'")
        async with crashed(path, ScriptedModel.of(HELLO)) as after:
            assert await state(after) == "interrupted"
            await after.runs.start("another", message("Hi"))


CALLED = AIMessage(
    "", id="a", tool_calls=[{"name": "calculator", "args": {}, "id": "c", "type": "tool_call"}]
)
RESULT = ToolMessage("{}", tool_call_id="c", id="t")
SHOWN = ToolMessage("{}", tool_call_id="c", id="t", response_metadata={"end": "shown"})


def said(**metadata: Any) -> AIMessage:
    return AIMessage("Hello.", id="a", response_metadata=metadata)


@pytest.mark.parametrize(
    ("after_the_question", "expected"),
    [
        ([], "interrupted"),
        ([CALLED, RESULT], "interrupted"),
        ([CALLED], "finished"),
        ([CALLED, SHOWN], "finished"),
        ([said()], "finished"),
        ([said(error={"code": "model_error", "message": "", "id": "x"})], "failed"),
        ([said(ended={"reason": "stopped"})], "stopped"),
        ([said(ended={"reason": "limit", "limit": "max_run_seconds", "value": 1})], "stopped"),
        ([said(ended={"reason": "limit", "limit": "max_steps", "value": 1})], "finished"),
    ],
)
async def test_a_lost_runs_thread_tells_how_it_ended(
    after_the_question: list[AnyMessage], expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.db"
    async with house(path, ScriptedModel.of()) as before:
        await before.checkpoints.add(THREAD, [HumanMessage("Hi", id="h"), *after_the_question])
        await before.store.begin_run(THREAD, "run", "Hi")
        async with crashed(path, ScriptedModel.of(HELLO)) as after:
            assert await state(after) == expected
            if expected == "interrupted":
                await after.turn(CONTINUE)
                assert (await after.messages())[-1].text == "Hello."
                assert await state(after) == "finished"
