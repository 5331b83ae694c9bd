"""An answer that is being written when its server dies: what was seen of it survives."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.backend import Backend, after_crash, backend, message
from tests.support.endpoint import (
    Args,
    Call,
    Pause,
    Reply,
    Say,
    StrictEndpoint,
    text_reply,
)
from tests.support.forked_server import forked_server
from tests.support.scripted_model import Piece, ScriptedModel, finish, text
from tests.support.serving import endpoint_environment
from tests.support.waiting import until
from turnstream.server.runs import kept_words
from turnstream.server.storage.store import SqliteStore
from turnstream.server.turns.requests import TurnRequest

CONTINUE = TurnRequest(continue_=True)
HELLO: list[Piece] = [text("Hello."), finish()]


def kept(path: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return [row[0] for row in database.execute("SELECT words FROM unfinished_answers")]


async def test_what_was_said_before_kill_9_is_in_the_thread_and_continue_goes_on_from_there(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    path = tmp_path / "t.db"
    endpoint.script(Reply((Say("One two "), Pause(asyncio.Event()), Say("three."))))
    async with (
        forked_server(path, **endpoint_environment(endpoint)) as server,
        server.client.chat({"thread_id": "t1", "message": "Count."}) as stream,
    ):
        await stream.until("text-delta")
        await until(lambda: kept(path))
        server.kill()
        await server.exit_status()
    async with forked_server(path, **endpoint_environment(endpoint)) as again:
        thread = await again.client.thread("t1")
        assert thread["run_state"] == "interrupted"
        assert [part["text"] for part in thread["messages"][1]["parts"]] == ["One two "]
        assert kept(path) == []
        endpoint.script(text_reply("three."))
        await again.client.turn({"thread_id": "t1", "continue": True})
        assert endpoint.requests[-1]["messages"][-1]["content"].startswith("One two")
        parts = (await again.client.thread("t1"))["messages"][1]["parts"]
        assert "".join(part["text"] for part in parts) == "One two three."


@pytest.mark.parametrize("next_request", ["continue", "message"])
async def test_a_call_whose_arguments_were_cut_off_is_closed_and_the_thread_goes_on(
    tmp_path: Path,
    endpoint: StrictEndpoint,
    next_request: str,
) -> None:
    path = tmp_path / "t.db"
    cut = (Say("Let me see."), Call(0, "c1", "calculator", '{"expression": "6'))
    endpoint.script(Reply((*cut, Pause(asyncio.Event()), Args(0, ' * 7"}'))))
    async with (
        forked_server(path, **endpoint_environment(endpoint)) as server,
        server.client.chat({"thread_id": "t1", "message": "6 * 7?"}) as stream,
    ):
        await stream.until("part-start")
        await until(lambda: any("c1" in words for words in kept(path)))
        server.kill()
        await server.exit_status()
    async with forked_server(path, **endpoint_environment(endpoint)) as again:
        said, call = (await again.client.thread("t1"))["messages"][1]["parts"]
        assert (said["text"], call["toolCallId"]) == ("Let me see.", "c1")
        assert call["isError"]
        endpoint.script(text_reply("It is 42."))
        body: dict[str, Any] = {"thread_id": "t1"}
        asked = {"continue": True} if next_request == "continue" else {"message": "So?"}
        await again.client.turn({**body, **asked})


# at the instant of a crash, without the two seconds


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_words, "KEEP_SECONDS", 0)


async def texts(inside: Backend) -> list[str]:
    return [message.text for message in await inside.messages()]


@pytest.mark.usefixtures("at_once")
async def test_words_that_the_thread_has_are_not_doubled_by_what_was_kept_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    gate = asyncio.Event()

    async def stays(_store: SqliteStore, _key: object) -> None:
        """The server dies before it can forget."""

    async with backend(path, ScriptedModel.of([text("Hello"), gate, text("."), finish()])) as one:
        run = await one.start(message("Hi"))
        await until(lambda: kept(path))
        monkeypatch.setattr(SqliteStore, "forget_words", stays)
        monkeypatch.setattr(SqliteStore, "end_run", lambda *_given: asyncio.sleep(0))
        gate.set()
        await run.log.ended()
        monkeypatch.undo()
        async with after_crash(path, ScriptedModel.of(HELLO)) as after:
            assert await texts(after) == ["Hi", "Hello."]
            assert kept(path.with_name(f"after-{path.name}")) == []


@pytest.mark.usefixtures("at_once")
async def test_a_message_after_a_crash_follows_what_was_said(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    model = ScriptedModel.of([text("Once upon "), asyncio.Event()])
    async with backend(path, model) as before:
        await before.start(message("Tell me"))
        await until(lambda: kept(path))
        async with after_crash(path, ScriptedModel.of(HELLO)) as after:
            assert await texts(after) == ["Tell me", "Once upon "]
            await after.turn(message("Go on"))
            assert await texts(after) == ["Tell me", "Once upon ", "Go on", "Hello."]


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("how", ["finish", "stop", "delete"])
async def test_nothing_is_kept_of_a_run_that_is_over(tmp_path: Path, how: str) -> None:
    path, gate = tmp_path / "t.db", asyncio.Event()
    model = ScriptedModel.of([text("Once upon "), gate, text("a time."), finish()])
    async with backend(path, model) as inside:
        run = await inside.start(message("Tell me"))
        await until(lambda: kept(path))
        if how == "finish":
            gate.set()
            await run.log.ended()
        elif how == "stop":
            await inside.stop()
        else:
            await inside.runs.delete(run.header.key)
        assert kept(path) == []


async def test_a_short_run_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("put_words", "forget_words"):
        monkeypatch.setattr(SqliteStore, name, None)  # to call it would fail the run
    async with backend(tmp_path / "t.db", ScriptedModel.of(HELLO)) as inside:
        await inside.turn(message("Hi"))
        assert await texts(inside) == ["Hi", "Hello."]
