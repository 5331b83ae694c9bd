"""A deleted thread can be brought back for a while."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint
from tests.support.serving import Client, endpoint_settings, serving, settings
from tests.support.users import client_of, keys_settings
from tests.support.waiting import eventually

Json = dict[str, Any]
LONG = 3600


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with serving(settings(tmp_path / "t.db", undo_seconds=LONG)) as client:
        yield client


async def say(client: Client, thread_id: str = "a", words: str = "Hello") -> None:
    await client.turn({"thread_id": thread_id, "message": words})


async def delete(client: Client, thread_id: str = "a", status: int = 202, **query: Any) -> None:
    answer = await client.http.delete(f"/threads/{thread_id}", params=query)
    assert answer.status_code == status, answer.text
    assert bool(answer.content) == (status == 202)


async def restore(client: Client, thread_id: str = "a") -> int:
    return (await client.http.post(f"/threads/{thread_id}/restore")).status_code


async def ids(client: Client, **query: Any) -> list[str]:
    answer = await client.http.get("/threads", params=query)
    return [thread["id"] for thread in answer.json()["threads"]]


def rows(path: Path, table: str = "threads") -> int:
    with sqlite3.connect(path) as database:
        (count,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
    database.close()
    return int(count)


def make_due(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("UPDATE threads SET forget_at = 1 WHERE forget_at IS NOT NULL")
    database.close()


async def test_a_deleted_thread_is_nowhere_and_comes_back_whole(client: Client) -> None:
    await say(client)
    await say(client, "b")
    before = await client.thread("a")
    await delete(client)
    assert await ids(client) == await ids(client, q="hello") == ["b"]
    lines = (await client.http.get("/export")).text.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["b"]
    for method, address in (
        ("GET", "/threads/a"),
        ("PATCH", "/threads/a"),
        ("POST", "/chat/a/stop"),
    ):
        body = {"title": "New"} if method == "PATCH" else None
        answer = await client.http.request(method, address, json=body)
        assert answer.status_code == 404, address
    assert (await client.http.get("/chat/a/stream")).status_code == 204
    assert await restore(client) == 200
    assert await client.thread("a") == before
    assert await ids(client) == await ids(client, q="hello") == ["b", "a"]
    await say(client, words="Again")


async def test_a_thread_that_is_there_or_was_never_is_told_apart(client: Client) -> None:
    await say(client)
    assert await restore(client) == 200
    assert await restore(client, "no-such") == 404
    await delete(client, "no-such", 204)


async def test_a_live_run_is_stopped_and_what_it_said_comes_back(tmp_path: Path) -> None:
    async with StrictEndpoint() as endpoint:
        endpoint.script(Reply((Say("Half "), Pause(asyncio.Event()))))
        async with serving(
            endpoint_settings(tmp_path / "t.db", endpoint, undo_seconds=LONG)
        ) as client:
            async with client.chat({"thread_id": "a", "message": "Hello"}) as stream:
                await stream.until("text-delta")
                await delete(client)
                assert (await stream.rest())[-1].data == "[DONE]"
            assert await restore(client) == 200
            thread = await client.thread("a")
            assert (thread["run_state"], thread["run"]) == ("stopped", None)
            assert "Half" in str(thread["messages"])


@pytest.mark.parametrize(
    "body",
    [
        {"message": "Hello", "must_exist": True},
        {"message": "Hello", "based_on": "x"},
        {"continue": True},
        {"regenerate": "m1"},
        {"edit": {"message_id": "m1", "message": "Hello"}},
        {"message": "Hello", "version": "x"},
        {"message": "Hello", "tool_results": [{"tool_call_id": "call_1", "result": {}}]},
    ],
)
async def test_what_is_about_the_deleted_thread_does_not_find_it(
    client: Client, body: Json
) -> None:
    await say(client)
    await delete(client)
    answer = await client.http.post("/chat", json={"thread_id": "a", **body})
    assert (answer.status_code, answer.json()["code"]) == (404, "thread_not_found")
    assert await restore(client) == 200


async def test_a_new_thread_under_its_id_forgets_it(client: Client) -> None:
    await say(client, words="First")
    await delete(client)
    await say(client, words="Second")
    assert len((await client.thread("a"))["messages"]) == 2
    assert (await client.http.post("/threads/a/restore")).json()["title"] == "Second"
    assert await ids(client, q="first") == []


async def test_what_can_be_brought_back_can_be_deleted_for_good(
    client: Client, tmp_path: Path
) -> None:
    await say(client)
    await delete(client)
    await delete(client)
    await delete(client, status=204, at_once="true")
    assert await restore(client) == 404
    assert rows(tmp_path / "t.db") == rows(tmp_path / "t.db", "checkpoints") == 0


async def test_langgraphs_clients_delete_for_good(client: Client) -> None:
    await say(client)
    assert (await client.http.delete("/langgraph/threads/a")).status_code == 204
    assert await restore(client) == 404


async def test_a_thread_that_nobody_brings_back_is_forgotten_in_time(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", undo_seconds=0.05)) as client:
        await say(client)
        await delete(client)

        async def is_forgotten() -> bool:
            return rows(tmp_path / "t.db") == rows(tmp_path / "t.db", "checkpoints") == 0

        await eventually(is_forgotten)
        assert rows(tmp_path / "t.db", "search_texts") == 0
        assert await restore(client) == 404


REFUSED: list[tuple[Json, int, str]] = [
    ({"message": "Again", "model": "nope"}, 422, "unknown_model"),
    ({"message": "Again", "graph": "nope"}, 422, "unknown_graph"),
    ({"message": "x" * 40_000}, 422, "message_too_long"),
    ({"message": "Again", "version": "r1"}, 404, "thread_not_found"),
    ({"edit": {"message_id": "m", "message": "Again"}}, 404, "thread_not_found"),
]


@pytest.mark.parametrize(("body", "status", "code"), REFUSED)
async def test_a_request_that_is_refused_leaves_a_deleted_thread_to_be_restored(
    client: Client, body: Json, status: int, code: str
) -> None:
    await say(client)
    await delete(client)
    answer = await client.http.post("/chat", json={"thread_id": "a", **body})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert await restore(client) == 200
    assert len((await client.thread("a"))["messages"]) == 2


async def test_a_restart_loses_neither_the_thread_nor_its_deletion(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with serving(settings(path, undo_seconds=LONG)) as client:
        await say(client, "a")
        await say(client, "b")
        await delete(client, "a")
        await delete(client, "b")
    async with serving(settings(path, undo_seconds=LONG)) as client:
        assert await restore(client, "a") == 200
        assert len((await client.thread("a"))["messages"]) == 2
    make_due(path)
    async with serving(settings(path, undo_seconds=LONG)) as client:

        async def is_forgotten() -> bool:
            return rows(path) == 1

        await eventually(is_forgotten)
        assert await restore(client, "b") == 404
        assert await ids(client) == ["a"]


async def test_nobody_else_restores_a_thread(tmp_path: Path) -> None:
    async with (
        serving(keys_settings(tmp_path, undo_seconds=LONG)) as client,
        client_of(client, "ann") as ann,
        client_of(client, "bob") as bob,
    ):
        await say(ann)
        await delete(ann)
        assert await restore(bob) == 404
        await say(bob, words="Mine")
        assert await restore(ann) == 200
        assert (await ann.thread("a"))["title"] == "Hello"


async def test_without_the_setting_nothing_comes_back_and_what_was_hidden_is_forgotten_in_time(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.db"
    async with serving(settings(path, undo_seconds=LONG)) as client:
        await say(client)
        await delete(client)
    make_due(path)
    async with serving(settings(path, undo_seconds=0)) as client:
        assert (await client.http.get("/health")).json()["undo_seconds"] == 0

        async def is_forgotten() -> bool:
            return rows(path) == rows(path, "checkpoints") == 0

        await eventually(is_forgotten)
        await say(client, "b")
        await delete(client, "b", 204)
        async with httpx.AsyncClient(base_url=client.url) as http:
            assert (await http.post("/threads/b/restore")).json()["code"] == "not_found"
        assert "undo" not in (await client.http.get("/me")).json()["extensions"]
