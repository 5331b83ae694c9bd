"""What is a person's own: GET /export takes it along, DELETE /me deletes it."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import audit_rows
from tests.support.audit_rows import dump, of
from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint
from tests.support.serving import Client, endpoint_settings, serving, settings
from tests.support.users import authenticating, bearer, make_key, named
from tests.support.waiting import HeldMethod
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.storage.store import SqliteStore
from turnstream.server.turns.audit_records import AuditRecord
from turnstream.server.turns.header import ThreadKey

ANN, BOB = named("ann"), named("bob")
AUTH: dict[str, Any] = {"auth": ("keys", "header"), "trusted_proxies": ("127.0.0.1",)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
async def client(path: Path) -> AsyncIterator[Client]:
    async with serving(authenticating(path)) as client:
        yield client


def store_of(client: Client) -> SqliteStore:
    assert client.state is not None
    store = client.state["store"]
    assert isinstance(store, SqliteStore)
    return store


async def recorded(client: Client) -> list[AuditRecord]:
    return await audit_rows.recorded(store_of(client))


async def say(client: Client, thread: str, headers: dict[str, str], words: str = "Hello") -> None:
    await client.turn({"thread_id": thread, "message": words}, headers=headers)


async def export(client: Client, headers: dict[str, str], **query: str) -> list[dict[str, Any]]:
    answer = await client.http.get("/export", headers=headers, params=query)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


async def delete_me(client: Client, id: str, headers: dict[str, str]) -> httpx.Response:
    return await client.http.request("DELETE", "/me", json={"confirm": id}, headers=headers)


# GET /export


async def test_an_export_has_each_thread_of_the_caller_as_the_thread_itself_is_shown(
    client: Client,
) -> None:
    await say(client, "t1", ANN, "What is 6 * 7?")
    await say(client, "t2", ANN)
    await say(client, "t1", BOB, "Bob's own")
    answer = await client.http.get("/export", headers=ANN)
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["content-disposition"].startswith("attachment; filename=")
    assert answer.headers["cache-control"] == "no-store"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    own = [(await client.http.get(f"/threads/{id}", headers=ANN)).json() for id in ("t2", "t1")]
    assert lines == own
    for format in ("assistant-transport", "ui-message-stream"):
        (first, _) = await export(client, ANN, protocol=format)
        query = {"protocol": format}
        thread = await client.http.get("/threads/t2", headers=ANN, params=query)
        assert first == thread.json()
    assert of(await recorded(client), "data_exported", "principal") == [("ann",)] * 3


async def test_an_export_of_very_many_threads_has_them_all(client: Client) -> None:
    store = store_of(client)
    for number in range(200):
        await store.begin_run(ThreadKey("ann", f"t{number}"), "run", f"No. {number}")
        await store.end_run(ThreadKey("ann", f"t{number}"), "run", "finished")
    lines = await export(client, ANN)
    assert [line["id"] for line in lines] == [f"t{number}" for number in reversed(range(200))]


async def test_a_thread_that_is_deleted_meanwhile_is_left_out(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for thread in ("t1", "t2", "t3"):
        await say(client, thread, ANN)
    page = HeldMethod(monkeypatch, SqliteStore, "get", once=True)
    exporting = asyncio.create_task(export(client, ANN))
    await page.reached.wait()
    assert client.state is not None
    await client.state["runs"].delete(ThreadKey("ann", "t2"))
    page.through.set()
    assert [line["id"] for line in await exporting] == ["t3", "t1"]


async def test_nobody_has_two_exports_at_once_and_others_have_theirs(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say(client, "t1", ANN)
    page = HeldMethod(monkeypatch, SqliteStore, "page", once=True)
    exporting = asyncio.create_task(export(client, ANN))
    await page.reached.wait()
    again = await client.http.get("/export", headers=ANN)
    assert (again.status_code, again.json()["code"]) == (409, "export_in_progress")
    assert await export(client, BOB) == []
    page.through.set()
    assert len(await exporting) == 1
    assert len(await export(client, ANN)) == 1


async def test_an_export_that_cannot_be_recorded_is_refused_and_can_be_tried_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_given: object) -> None:
        raise StorageUnavailable("storage_full")

    await say(client, "t1", ANN)
    with monkeypatch.context() as patch:
        patch.setattr(store_of(client), "perform", full)
        answer = await client.http.get("/export", headers=ANN)
        assert (answer.status_code, answer.json()["code"]) == (503, "storage_full")
    assert len(await export(client, ANN)) == 1


async def test_a_thread_that_cannot_be_read_keeps_no_other_from_the_export(
    client: Client, path: Path
) -> None:
    await say(client, "t1", ANN)
    await say(client, "t2", ANN)
    with closing(sqlite3.connect(path)) as database, database:
        key = ThreadKey("ann", "t2").checkpoint_key
        torn = "UPDATE checkpoints SET checkpoint = 'torn' WHERE thread_id = ?"
        database.execute(torn, [key])
    torn_line, whole = await export(client, ANN)
    assert (torn_line["id"], torn_line["messages"]) == ("t2", [])
    assert torn_line["error"]["code"] == "thread_unreadable"
    assert (whole["id"], len(whole["messages"])) == ("t1", 2)


async def test_without_authentication_the_export_is_of_all_threads(path: Path) -> None:
    async with serving(settings(path)) as client:
        await say(client, "t1", {})
        assert [line["id"] for line in await export(client, {})] == ["t1"]


async def test_an_export_needs_a_login(client: Client) -> None:
    assert (await client.http.get("/export")).status_code == 401


# DELETE /me


async def test_deleting_oneself_leaves_no_trace_outside_the_audit_and_takes_nothing_of_others(
    client: Client, path: Path
) -> None:
    secret, id = "hunter2", "ann@example.org"
    key = await make_key(client, id)
    ann, bob = bearer(key), bearer(await make_key(client, "bob"))
    origin = {"Origin": client.url}
    await client.http.post("/login", json={"credential": key}, headers=origin)
    client.http.cookies.clear()
    await client.turn(
        {"thread_id": "ann-thread", "message": f"My name is {secret}"},
        headers={**ann, "Idempotency-Key": "ann-retry"},
    )
    await say(client, "calls", ann, "What is 6 * 7?")
    await say(client, "bobs", bob, "Bob's words")
    traces = (
        id,
        secret,
        "ann-thread",
        "ann-retry",
        key.split("_")[1],
        ThreadKey(id, "").checkpoint_key,
    )
    before = dump(path)
    assert all(trace in before for trace in traces)
    bobs = (await client.http.get("/threads/bobs", headers=bob)).json()

    assert (await delete_me(client, id, ann)).status_code == 204

    left = dump(path, without=("audit",))
    assert [trace for trace in traces if trace in left] == []
    assert (await client.http.get("/me", headers=ann)).status_code == 401
    assert (await client.http.get("/threads/bobs", headers=bob)).json() == bobs
    records = await recorded(client)
    assert of(records, "data_deleted", "principal", "count") == [(id, 2)]
    assert len(of(records, "thread_deleted")) == 2
    assert secret not in dump(path)


@pytest.mark.parametrize(
    "body", [{}, {"confirm": "bob"}, {"confirm": True}, {"confirm": "ann", "more": 1}, [], "ann"]
)
async def test_nothing_is_deleted_without_the_callers_own_id(client: Client, body: object) -> None:
    await say(client, "t1", ANN)
    answer = await client.http.request("DELETE", "/me", json=body, headers=ANN)
    assert (answer.status_code, answer.json()["code"]) == (422, "not_confirmed")
    assert "GET /me" in answer.json()["detail"]
    assert len(await export(client, ANN)) == 1


async def test_a_deletion_takes_json_alone(client: Client) -> None:
    answer = await client.http.request(
        "DELETE",
        "/me",
        content=b'{"confirm": "ann"}',
        headers={**ANN, "Content-Type": "text/plain"},
    )
    assert answer.status_code == 415


async def test_a_deletion_is_done_again_while_the_credential_is_good(client: Client) -> None:
    await say(client, "t1", ANN)
    for _ in range(2):
        assert (await delete_me(client, "ann", ANN)).status_code == 204
    assert await export(client, ANN) == []


async def test_a_deletion_in_the_browser_ends_its_session_and_clears_its_cookie(
    client: Client,
) -> None:
    key, origin = await make_key(client, "ann"), {"Origin": client.url}
    await client.http.post("/login", json={"credential": key}, headers=origin)
    cookie = dict(client.http.cookies)
    assert cookie
    without = await client.http.request("DELETE", "/me", json={"confirm": "ann"})
    assert (without.status_code, without.json()["code"]) == (403, "origin_required")
    answer = await delete_me(client, "ann", origin)
    assert answer.status_code == 204
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert not client.http.cookies
    client.http.cookies.update(cookie)
    assert (await client.http.get("/me")).status_code == 401


async def test_a_key_that_is_used_during_the_deletion_is_refused_after_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = bearer(await make_key(client, "ann"))
    assert client.state is not None
    store = client.state["store"]
    perform = store.perform

    async def after_another_request(also: Any) -> None:
        assert (await client.http.get("/me", headers=key)).status_code == 200
        await perform(also)

    monkeypatch.setattr(store, "perform", after_another_request)
    assert (await delete_me(client, "ann", key)).status_code == 204
    assert (await client.http.get("/me", headers=key)).status_code == 401


async def test_a_live_run_is_stopped_by_the_deletion_of_its_owner(path: Path) -> None:
    async with StrictEndpoint() as endpoint:
        endpoint.script(Reply((Say("One "), Pause(asyncio.Event()), Say("two."))))
        async with (
            serving(endpoint_settings(path, endpoint, **AUTH)) as client,
            client.chat({"thread_id": "t1", "message": "Count."}, headers=ANN) as stream,
        ):
            await stream.until("text-delta")
            assert (await delete_me(client, "ann", ANN)).status_code == 204
            await stream.rest()
            assert (await client.http.get("/threads/t1", headers=ANN)).status_code == 404
            records = await recorded(client)
            assert of(records, "run_ended", "outcome") == [("stopped",)]
            assert [r.event for r in records][-2:] == ["thread_deleted", "data_deleted"]


async def test_without_authentication_all_threads_are_deleted(path: Path) -> None:
    async with serving(settings(path)) as client:
        await say(client, "t1", {}, "Find me")
        await say(client, "t2", {})
        assert (await delete_me(client, "local", {})).status_code == 204
        assert await export(client, {}) == []
        assert "Find me" not in dump(path)
