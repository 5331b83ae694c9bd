"""`turnstream threads assign`: threads that were made before authentication get an owner."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.support.scripted_model import ScriptedModel, finish, text
from tests.support.serving import Client, serving, settings, text_of
from tests.support.users import authenticating, named
from tests.support.waiting import HeldMethod
from turnstream.server.commands import run

SELECT = "pick a colour: red or blue"


async def assign(database: Path, patch: pytest.MonkeyPatch, old: str, new: str) -> int:
    patch.setenv("TURNSTREAM_DATABASE", str(database))
    return await asyncio.to_thread(run, ["threads", "assign", "--from", old, "--to", new])


async def say(client: Client, thread_id: str, words: str = "Hello") -> None:
    await client.turn({"thread_id": thread_id, "message": words})


async def ids(client: Client) -> list[str]:
    answer = await client.http.get("/threads")
    return [thread["id"] for thread in answer.json()["threads"]]


async def test_the_threads_of_before_are_their_new_owners_and_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "t.db"
    async with serving(settings(database)) as client:
        await say(client, "t1")
        await say(client, "t2", SELECT)
        before = {id: await client.thread(id) for id in ("t1", "t2")}
    (call,) = before["t2"]["pending"]
    assert await assign(database, monkeypatch, "local", "ann") == 0
    assert capsys.readouterr().out == "2 threads of local are ann's now\n"
    async with serving(authenticating(database)) as client:
        client.http.headers.update(named("ben"))
        assert await ids(client) == []
        client.http.headers.update(named("ann"))
        assert await ids(client) == ["t2", "t1"]
        assert {id: await client.thread(id) for id in ("t1", "t2")} == before
        answer = [{"tool_call_id": call["tool_call_id"], "result": {"cancelled": True}}]
        _, events = await client.turn({"thread_id": "t2", "tool_results": answer})
        assert text_of(events)
        await say(client, "t1", "And again")
        assert len((await client.thread("t1"))["messages"]) == 4


async def test_the_versions_of_messages_go_with_their_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "t.db"
    async with serving(settings(database)) as client:
        await say(client, "t1")
        asked = (await client.thread("t1"))["messages"][0]["id"]
        edit = {"message_id": asked, "message": "Hello again"}
        await client.turn({"thread_id": "t1", "edit": edit})
        before = await client.thread("t1")
        assert len(before["messages"][0]["versions"]) == 2
    assert await assign(database, monkeypatch, "local", "ann") == 0
    async with serving(authenticating(database)) as client:
        client.http.headers.update(named("ann"))
        assert await client.thread("t1") == before
        first = await client.thread("t1", version=before["messages"][0]["versions"][0])
        assert first["messages"][0]["parts"][0]["text"] == "Hello"


async def test_a_thread_whose_id_the_new_owner_has_stays_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "t.db"
    async with serving(authenticating(database)) as client:
        for owner, threads in (("ann", ("same", "anns")), ("ben", ("same",))):
            client.http.headers.update(named(owner))
            for thread in threads:
                await say(client, thread, f"I am {owner}")
    assert await assign(database, monkeypatch, "ann", "ben") == 2
    said = capsys.readouterr()
    assert said.out == "1 threads of ann are ben's now\n"
    assert said.err.rstrip().endswith(": same")
    async with serving(authenticating(database)) as client:
        client.http.headers.update(named("ann"))
        assert await ids(client) == ["same"]
        assert "I am ann" in str(await client.thread("same"))
        client.http.headers.update(named("ben"))
        assert set(await ids(client)) == {"same", "anns"}
        assert "I am ben" in str(await client.thread("same"))
        assert "I am ann" in str(await client.thread("anns"))


async def test_a_thread_with_a_live_run_stays_while_others_go_under_a_running_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database, held = tmp_path / "t.db", asyncio.Event()

    model = ScriptedModel.of(
        [text("Hello"), finish()], [text("One "), held, text("two."), finish()]
    )
    async with serving(authenticating(database), model=model) as client:
        client.http.headers.update(named("ann"))
        await say(client, "done")
        async with client.chat({"thread_id": "live", "message": "Count."}) as stream:
            await stream.until("text-delta")
            assert await assign(database, monkeypatch, "ann", "ben") == 2
            assert capsys.readouterr().err.rstrip().endswith(": live")
            assert await ids(client) == ["live"]
            held.set()
            assert text_of(await stream.rest()).endswith("two.")
        client.http.headers.update(named("ben"))
        assert await ids(client) == ["done"]


async def test_a_thread_that_the_new_owner_is_beginning_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its claim is there, and no thread yet."""
    database = tmp_path / "t.db"
    async with serving(authenticating(database)) as client:
        client.http.headers.update(named("ann"))
        await say(client, "same", "I am ann")
        assert client.state is not None
        held = HeldMethod(monkeypatch, client.state["store"], "begin_run")
        client.http.headers.update(named("ben"))
        begun = asyncio.create_task(say(client, "same", "I am ben"))
        await held.reached.wait()
        assert await assign(database, monkeypatch, "ann", "ben") == 2
        assert capsys.readouterr().err.rstrip().endswith(": same")
        held.through.set()
        await begun
        assert "I am ann" not in str(await client.thread("same"))
        client.http.headers.update(named("ann"))
        assert "I am ann" in str(await client.thread("same"))


@pytest.mark.parametrize(("old", "new"), [("ann", ""), ("a\nb", "ann")])
async def test_an_owner_that_cannot_be_is_refused(
    old: str,
    new: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "t.db").touch()
    assert await assign(tmp_path / "t.db", monkeypatch, old, new) == 2
    assert "id has 1 to 255" in capsys.readouterr().err


async def test_without_a_database_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await assign(tmp_path / "t.db", monkeypatch, "local", "ann") == 2
    assert "TURNSTREAM_DATABASE" in capsys.readouterr().err
    assert not os.listdir(tmp_path)
