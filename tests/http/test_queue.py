"""Messages that wait for their turn, over HTTP: in every format, edited, withdrawn, and after a
kill -9."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.endpoint import Call, Pause, Reply, Say, StrictEndpoint, text_reply
from tests.support.forked_server import forked_server
from tests.support.serving import Client, endpoint_environment, endpoint_settings, serving
from tests.support.waiting import eventually
from turnstream.server.http.queue import waiting
from turnstream.server.runs import queue
from turnstream.server.runs.queue import QueuedRun, RunQueue
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.storage.queued_requests import QueuedRequest
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.messages import UserTurn
from turnstream.server.turns.requests import TextContent, TurnRequest, UserMessage

Json = dict[str, Any]
THREAD = ThreadKey("local", "t1")
LG = "/langgraph/threads/t1/runs"
PARTS = [{"type": "text", "text": "Two"}]
TWO: Json = {"thread_id": "t1", "message": "Two", "on_busy": "queue"}
HUMAN: Json = {"assistant_id": "chat", "input": {"messages": [{"type": "human", "content": "Two"}]}}
QUESTION = '{"kind":"single","prompt":"Which day?","options":[{"value":"fri"},{"value":"sat"}]}'
USER = {"id": "u2", "role": "user", "parts": PARTS}
FORMATS: dict[str, tuple[str, Json]] = {
    "parts": ("/chat", TWO),
    "assistant-ui": (
        "/chat?on_busy=queue",
        {
            "threadId": "t1",
            "state": None,
            "commands": [{"type": "add-message", "message": {"role": "user", "parts": PARTS}}],
        },
    ),
    "AI SDK": ("/chat", {"id": "t1", "messages": [USER], "on_busy": "queue"}),
    "AG-UI": (
        "/ag-ui?on_busy=queue",
        {
            "threadId": "t1",
            "runId": "r1",
            "state": {},
            "tools": [],
            "context": [],
            "messages": [{"id": "u2", "role": "user", "content": "Two"}],
            "forwardedProps": {},
        },
    ),
    "LangGraph": (f"{LG}/stream", HUMAN),
}


@pytest.fixture
def gate(endpoint: StrictEndpoint) -> asyncio.Event:
    """The model has begun its answer to the first request, and waits for this."""
    gate = asyncio.Event()
    endpoint.script(Reply((Say("First."), Pause(gate))), text_reply("Second."))
    endpoint.default = text_reply("Fine.")
    return gate


@pytest.fixture
async def client(tmp_path: Path, endpoint: StrictEndpoint) -> AsyncIterator[Client]:
    settings = endpoint_settings(tmp_path / "t.db", endpoint, max_queued_requests=2)
    async with serving(settings) as client:
        yield client


@pytest.fixture
async def live(client: Client, gate: asyncio.Event) -> AsyncIterator[asyncio.Event]:
    """The thread has a live run; it ends when this is set."""
    async with client.chat({"thread_id": "t1", "message": "One"}) as first:
        await first.until("text-delta")
        yield gate
        gate.set()
        await first.rest()


def texts(thread: Json) -> list[str]:
    return ["".join(p.get("text", "") for p in m["parts"]) for m in thread["messages"]]


async def queued(client: Client, body: Json = TWO, key: str | None = None) -> Json:
    """Queue a message, and read nothing of its run."""
    sent = {"Prefer": "respond-async", **({"Idempotency-Key": key} if key else {})}
    answer = await client.http.post("/chat", json=body, headers=sent)
    assert answer.status_code == 202, answer.text
    accepted: Json = answer.json()
    assert answer.headers["location"] == accepted["stream_url"]
    return accepted


async def is_through(client: Client) -> None:
    async def is_free() -> bool:
        thread = await client.thread("t1")
        return thread["run"] is None and "queue" not in thread

    await eventually(is_free)


@pytest.mark.parametrize("name", FORMATS)
async def test_a_message_to_a_busy_thread_is_answered_at_once_and_streams_at_its_turn(
    name: str, client: Client, live: asyncio.Event
) -> None:
    path, body = FORMATS[name]
    async with client.stream("POST", path, json=body) as stream:
        assert stream.response.status_code == 200
        assert stream.response.headers["x-queue-place"] == "1"
        thread = await client.thread("t1")
        [waits] = thread["queue"]
        assert waits["run_id"] == stream.run_id
        assert waits["message"]["parts"] == PARTS
        assert thread["run"]["id"] != stream.run_id
        live.set()
        told = await stream.response.aread()
    assert b"Second." in told
    assert b"First." not in told or name in ("LangGraph", "assistant-ui", "AG-UI")
    thread = await client.thread("t1")
    assert texts(thread) == ["One", "First.", "Two", "Second."]
    assert thread["messages"][2]["id"] == waits["message"]["id"]
    assert thread["run_id"] == waits["run_id"]
    assert "queue" not in thread


async def test_a_stream_can_be_read_from_elsewhere_before_it_begins(
    client: Client, live: asyncio.Event
) -> None:
    accepted = await queued(client)
    assert accepted["queue_place"] == 1
    async with client.stream("GET", accepted["stream_url"]) as stream:
        assert stream.run_id == accepted["run_id"]
        live.set()
        events = await stream.rest()
    assert [event.id for event in events] == [
        f"{accepted['run_id']}:{n}" for n in range(1, len(events) + 1)
    ]


async def test_a_reader_that_comes_as_the_run_begins_reads_it(
    client: Client, live: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted, find = await queued(client), RunQueue.find

    async def late(runs: RunQueue, key: ThreadKey, run_id: str) -> QueuedRun | None:
        live.set()
        await is_through(client)
        return await find(runs, key, run_id)

    monkeypatch.setattr(RunQueue, "find", late)
    async with client.stream("GET", accepted["stream_url"]) as stream:
        events = await stream.rest()
    assert events[0].id == f"{accepted['run_id']}:1"


async def test_a_message_that_waits_can_be_edited_and_withdrawn(
    client: Client, live: asyncio.Event
) -> None:
    kept, gone = await queued(client), await queued(client)
    place = "/threads/t1/queue"
    listed = (await client.http.get(place)).json()["queue"]
    assert [one["run_id"] for one in listed] == [kept["run_id"], gone["run_id"]]
    async with client.stream("GET", gone["stream_url"]) as stream:
        answer = await client.http.delete(f"{place}/{gone['run_id']}")
        assert answer.status_code == 204
        assert b'"code":"request_withdrawn"' in await stream.response.aread()
    edit = {"message": "Better"}
    other = {"message": {"parts": PARTS, "id": "another"}}
    renamed = await client.http.patch(f"{place}/{kept['run_id']}", json=other)
    assert (renamed.status_code, renamed.json()["code"]) == (422, "invalid_message_id")
    edited = await client.http.patch(f"{place}/{kept['run_id']}", json=edit)
    assert edited.json()["message"]["parts"] == [{"type": "text", "text": "Better"}]
    assert edited.json()["message"]["id"] == listed[0]["message"]["id"]
    live.set()
    await is_through(client)
    assert texts(await client.thread("t1"))[2:] == ["Better", "Second."]
    for late in (
        await client.http.delete(f"{place}/{kept['run_id']}"),
        await client.http.patch(f"{place}/{kept['run_id']}", json=edit),
    ):
        assert (late.status_code, late.json()["code"]) == (404, "not_queued")


@pytest.mark.usefixtures("live")
async def test_a_message_that_waits_is_moved_ahead_and_begins_when_the_run_is_stopped(
    client: Client,
) -> None:
    first, last = await queued(client), await queued(client, {**TWO, "message": "Three"})
    place = f"/threads/t1/queue/{last['run_id']}"
    for none in ({}, {"place": 0}, {"place": "1"}):
        assert (await client.http.patch(place, json=none)).status_code == 422
    moved = await client.http.patch(place, json={"message": "Now", "place": 1})
    assert moved.json()["message"]["parts"] == [{"type": "text", "text": "Now"}]
    told = (await client.http.get("/threads/t1/queue")).json()
    assert [one["run_id"] for one in told["queue"]] == [last["run_id"], first["run_id"]]
    run = (await client.thread("t1"))["run"]["id"]
    assert told["run_id"] == run
    other = await client.http.post("/chat/t1/stop", params={"run_id": last["run_id"]})
    assert (other.status_code, other.json()["state"]) == (200, "live")
    stopped = await client.http.post("/chat/t1/stop", params={"run_id": run})
    assert (stopped.json()["run_id"], stopped.json()["state"]) == (run, "stopped")
    await is_through(client)
    assert texts(await client.thread("t1"))[::2] == ["One", "Now", "Two"]


@pytest.mark.usefixtures("live")
async def test_an_edit_stands_though_the_run_begins_before_its_request_is_moved(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def too_late(*_: object) -> None:
        return None

    monkeypatch.setattr(RunQueue, "move", too_late)
    place = f"/threads/t1/queue/{(await queued(client))['run_id']}"
    edited = await client.http.patch(place, json={"message": "Now", "place": 1})
    assert edited.json()["message"]["parts"] == [{"type": "text", "text": "Now"}]
    assert (await client.http.patch(place, json={"place": 1})).status_code == 404


def test_a_message_whose_run_has_begun_waits_until_the_thread_shows_it() -> None:
    message = UserMessage((TextContent("Two"),), "m2")
    begun = QueuedRequest(THREAD, "r2", "native", TurnRequest("t1", message), 0, has_begun=True)
    one, two = UserTurn("m1", (TextContent("One"),)), UserTurn("m2", message.content)
    entry = ThreadEntry("t1", "One", "", "", "r2", "live")
    assert waiting([begun], entry, [one]) == [begun]
    assert waiting([begun], entry, [one, two]) == []
    assert waiting([begun], entry) == []
    assert waiting([begun], replace(entry, run_id="r1"), [one]) == [begun]


async def test_what_waits_for_a_deleted_thread_is_out_of_reach_until_it_is_restored(
    tmp_path: Path, endpoint: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "SWEEP_SECONDS", 0.01)
    endpoint.script(Reply((Say("First."), Pause(asyncio.Event()))))
    endpoint.default = text_reply("Fine.")
    settings = endpoint_settings(tmp_path / "t.db", endpoint, undo_seconds=600)
    async with serving(settings) as client:
        async with client.chat({"thread_id": "t1", "message": "One"}) as first:
            await first.until("text-delta")
            waits = await queued(client)
            place = f"/threads/t1/queue/{waits['run_id']}"
            async with client.stream("GET", waits["stream_url"]) as stream:
                assert (await client.http.delete("/threads/t1")).is_success
                assert b'"code":"request_withdrawn"' in await stream.response.aread()
        edited = await client.http.patch(place, json={"message": "Better"})
        withdrawn = await client.http.delete(place)
        assert (edited.status_code, withdrawn.status_code) == (404, 404)
        assert (await client.http.post("/threads/t1/restore")).status_code == 200
        await is_through(client)
        assert "Two" in texts(await client.thread("t1"))


@pytest.mark.usefixtures("live")
async def test_a_full_queue_is_refused_and_a_retry_is_not_counted_twice(client: Client) -> None:
    first = await queued(client, key="k1")
    again = await queued(client, key="k1")
    assert again == first
    await queued(client)
    full = await client.http.post("/chat", json=TWO)
    assert (full.status_code, full.json()["code"]) == (409, "queue_full")
    assert full.json()["limit"] == "MAX_QUEUED_REQUESTS"


async def test_an_export_has_what_waits(client: Client, live: asyncio.Event) -> None:
    await queued(client)
    export = await client.http.get("/export")
    assert '"queue":[{' in export.text
    live.set()
    await is_through(client)


async def test_langgraphs_runs_are_pending_until_their_turn(
    client: Client, live: asyncio.Event
) -> None:
    one, two = [(await client.http.post(LG, json=HUMAN)).json() for _ in range(2)]
    assert (one["status"], one["multitask_strategy"]) == ("pending", "enqueue")
    listed = (await client.http.get(LG)).json()
    assert [run["status"] for run in listed] == ["pending", "pending", "running"]
    assert [run["run_id"] for run in listed[:2]] == [two["run_id"], one["run_id"]]
    assert (await client.http.get(f"{LG}/{one['run_id']}")).json()["status"] == "pending"
    async with client.stream("GET", f"{LG}/{two['run_id']}/stream") as stream:
        assert stream.response.headers["x-queue-place"] == "2"
    cancelled = await client.http.post(f"{LG}/{two['run_id']}/cancel?wait=1")
    assert cancelled.status_code == 204
    # As with LangGraph's own server, it stays in the list.
    assert (await client.http.get(f"{LG}/{two['run_id']}")).json()["status"] == "interrupted"
    listed = (await client.http.get(LG, params={"status": "interrupted"})).json()
    assert [run["run_id"] for run in listed] == [two["run_id"]]
    result = (await client.http.get(f"{LG}/{two['run_id']}/join")).json()
    assert result["__error__"]["error"] == "request_withdrawn"
    for status in (204, 404):
        gone = await client.http.delete(f"{LG}/{two['run_id']}")
        assert gone.status_code == status
    join = asyncio.create_task(client.http.get(f"{LG}/{one['run_id']}/join"))
    live.set()
    assert (await join).json()["messages"][-1]["content"] == "Second."
    assert (await client.http.get(f"{LG}/{one['run_id']}")).json()["status"] == "success"


async def test_a_run_of_langgraphs_sdk_begins_seconds_later_at_the_earliest(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.default = text_reply("Fine.")
    later = (await client.http.post(LG, json={**HUMAN, "after_seconds": 3_600})).json()
    assert later["status"] == "pending"
    [waits] = (await client.thread("t1"))["queue"]
    passed = datetime.fromisoformat(waits["due_at"]) - datetime.fromisoformat(waits["queued_at"])
    assert passed == timedelta(seconds=3_600)
    now = await client.http.post(f"{LG}/wait", json=HUMAN)
    assert len(now.json()["messages"]) == 2
    states = [run["status"] for run in (await client.http.get(LG)).json()]
    assert states == ["pending", "success"]
    for path, wrong in (
        (LG, {"after_seconds": -1}),
        (LG, {"after_seconds": "5"}),
        (LG, {"after_seconds": 5, "multitask_strategy": "reject"}),
        ("/langgraph/runs", {"after_seconds": 5}),
    ):
        refused = await client.http.post(path, json={**HUMAN, **wrong})
        assert refused.status_code == 422, wrong


async def test_a_state_is_not_changed_while_a_run_of_langgraphs_sdk_waits(client: Client) -> None:
    run = (await client.http.post(LG, json={**HUMAN, "after_seconds": 3_600})).json()
    update = {"values": {"messages": [{"type": "ai", "content": "Sisyphus"}]}}
    state = "/langgraph/threads/t1/state"
    refused = await client.http.post(state, json=update)
    assert (refused.status_code, refused.json()["code"]) == (409, "run_waits")
    assert refused.json()["run_id"] == run["run_id"]
    await client.http.post(f"{LG}/{run['run_id']}/cancel")
    assert (await client.http.post(state, json=update)).status_code == 200
    assert (await client.http.get(state)).json()["values"]["messages"][-1]["content"] == "Sisyphus"
    assert [run["status"] for run in (await client.http.get(LG)).json()] == [
        "success",
        "interrupted",
    ]


@pytest.mark.one_process
async def test_a_run_that_is_to_begin_again_is_seen_to_wait_and_can_be_withdrawn(
    tmp_path: Path, client: Client, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    ask = Call(0, "call_1", "request_user_selection", QUESTION)
    endpoint.script(Reply((Say("First."), Pause(gate), ask)))
    async with client.chat({"thread_id": "t1", "message": "One"}) as first:
        await first.until("text-delta")
        run_id = (await queued(client))["run_id"]
        gate.set()
        await first.rest()
    with closing(sqlite3.connect(tmp_path / "t.db")) as database, database:
        # As a crash leaves it when a run had begun and had saved nothing.
        database.execute("UPDATE threads SET run_id = ?", (run_id,))
    assert [one["run_id"] for one in (await client.thread("t1"))["queue"]] == [run_id]
    listed = (await client.http.get(LG)).json()
    assert [(run["run_id"], run["status"]) for run in listed] == [(run_id, "pending")]
    cancelled = await client.http.post(f"{LG}/{run_id}/cancel?wait=1")
    assert cancelled.status_code == 204
    assert "queue" not in await client.thread("t1")


async def test_langgraphs_wait_and_cancel_of_many_reach_what_waits(
    client: Client, live: asyncio.Event
) -> None:
    gone = (await client.http.post(LG, json=HUMAN)).json()
    body = {"thread_id": "t1", "status": "pending", "run_ids": [gone["run_id"]]}
    assert (await client.http.post("/langgraph/runs/cancel", json=body)).status_code == 204
    waiting = asyncio.create_task(client.http.post(f"{LG}/wait", json=HUMAN))

    async def is_queued() -> bool:
        return len((await client.thread("t1")).get("queue", ())) == 1

    await eventually(is_queued)
    live.set()
    assert (await waiting).json()["messages"][-1]["content"] == "Second."
    reject = {**HUMAN, "multitask_strategy": "reject"}
    assert (await client.http.post(f"{LG}/wait", json=reject)).status_code == 200


@pytest.mark.usefixtures("live")
async def test_a_reader_that_leaves_withdraws_its_run_if_it_asked_for_that(client: Client) -> None:
    body = {**HUMAN, "on_disconnect": "cancel"}
    async with client.stream("POST", f"{LG}/stream", json=body) as stream:
        assert stream.response.headers["x-queue-place"] == "1"
        run = stream.response.headers["content-location"].removeprefix("/threads/t1/runs/")

    async def is_withdrawn() -> bool:
        return "queue" not in await client.thread("t1")

    await eventually(is_withdrawn)
    assert (await client.http.get(f"{LG}/{run}")).json()["status"] == "interrupted"


@pytest.mark.one_process
async def test_a_message_that_waits_survives_kill_9_once_and_in_order(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(Reply((Say("First."), Pause(asyncio.Event()))))
    endpoint.default = text_reply("Fine.")
    path, environment = tmp_path / "t.db", endpoint_environment(endpoint)
    async with (
        forked_server(path, **environment) as server,
        server.client.chat({"thread_id": "t1", "message": "One"}) as first,
    ):
        await first.until("text-delta")
        await queued(server.client, key="k1")
        await queued(server.client, {**TWO, "message": "Three"})
        server.kill()
    async with forked_server(path, **environment) as again:
        await queued(again.client, key="k1")
        await is_through(again.client)
        thread = await again.client.thread("t1")
        asked = [texts({"messages": [m]})[0] for m in thread["messages"] if m["role"] == "user"]
        assert asked == ["One", "Two", "Three"]
        assert texts(thread)[-1] == "Fine."


@pytest.mark.one_process
@pytest.mark.parametrize(("path", "body"), [("/chat", TWO), (f"{LG}/wait", HUMAN)])
async def test_a_reader_whose_run_has_not_begun_is_cut_off_when_the_server_stops(
    path: str, body: Json, tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(Reply((Say("First."), Pause(asyncio.Event()))))
    async with (
        forked_server(tmp_path / "t.db", **endpoint_environment(endpoint)) as server,
        server.client.chat({"thread_id": "t1", "message": "One"}) as first,
    ):
        await first.until("text-delta")
        reading = asyncio.create_task(server.client.http.post(path, json=body))

        async def is_queued() -> bool:
            return "queue" in await server.client.thread("t1")

        await eventually(is_queued)
        server.terminate()
        with pytest.raises(httpx.RemoteProtocolError):
            await reading
