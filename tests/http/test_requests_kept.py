"""A request is answered with a success when it is on disk, and never before; else nothing of it is
kept, and it can be sent again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.endpoint import StrictEndpoint, text_reply
from tests.support.foreign_lock import foreign_lock
from tests.support.gated_tools import GatedTools
from tests.support.scripted_model import ScriptedModel, call, finish
from tests.support.serving import Client, endpoint_settings, parse_events, serving, settings
from tests.support.waiting import HeldMethod, eventually
from turnstream.server.http.event_streams import EventStreams
from turnstream.server.runs import deadline, retries
from turnstream.server.storage.checkpointer import SqliteCheckpointer
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.storage.store import SqliteStore

HELLO = {"thread_id": "t1", "message": "Hello"}
AGAIN = {"thread_id": "t1", "message": "Again"}
KEY = {"Idempotency-Key": "k1"}
LATER = {"Prefer": "respond-async"}
BUSY_SECONDS = 1.0
"""Beyond what a loaded machine takes to open a database."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
async def client(
    path: Path, endpoint: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Client]:
    monkeypatch.setattr(retries, "RETRY_SECONDS", 0.01)
    endpoint.default = text_reply("Fine.")
    async with serving(endpoint_settings(path, endpoint, busy_seconds=BUSY_SECONDS)) as client:
        yield client


@asynccontextmanager
async def unsaved(client: Client, path: Path, body: dict[str, Any], **headers: str) -> Any:
    """The answer to a post whose first checkpoint meets a locked database; within, it is locked."""
    with pytest.MonkeyPatch.context() as patch:
        put = HeldMethod(patch, SqliteCheckpointer, "aput", once=True)
        post = asyncio.create_task(client.http.post("/chat", json=body, headers=KEY | headers))
        await put.reached.wait()
        with foreign_lock(path):
            put.through.set()
            yield await post


def assert_refused(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["code"]) == (503, "storage_busy")
    assert int(answer.headers["retry-after"]) > 0
    assert answer.json()["id"]


async def asked(client: Client, thread_id: str = "t1") -> list[str]:
    """The user's messages in the thread."""
    thread = await client.thread(thread_id)
    return [
        "".join(part.get("text", "") for part in message["parts"])
        for message in thread["messages"]
        if message["role"] == "user"
    ]


@pytest.mark.parametrize("headers", [{}, LATER], ids=["streamed", "respond-async"])
async def test_a_message_that_begins_a_thread_is_refused_whole_and_its_key_is_free(
    client: Client, path: Path, headers: dict[str, str]
) -> None:
    async with unsaved(client, path, HELLO, **headers) as answer:
        assert_refused(answer)
    again = await client.http.post("/chat", json=HELLO, headers=KEY)
    assert again.status_code == 200, again.text
    assert await asked(client) == ["Hello"]
    assert len((await client.http.get("/threads")).json()["threads"]) == 1


async def test_a_thread_that_was_not_begun_is_in_no_list(client: Client, path: Path) -> None:
    async with unsaved(client, path, HELLO) as answer:
        assert_refused(answer)

    async def gone() -> bool:
        return not (await client.http.get("/threads")).json()["threads"]

    await eventually(gone)
    assert (await client.http.get("/threads/t1")).status_code == 404


async def test_a_thread_is_as_it_was_before_a_message_that_is_refused(
    client: Client, path: Path
) -> None:
    await client.turn(HELLO)
    before = await client.thread("t1")
    async with unsaved(client, path, AGAIN) as answer:
        assert_refused(answer)

    async def is_as_before() -> bool:
        return await client.thread("t1") == before

    await eventually(is_as_before)
    assert (await client.http.post("/chat", json=AGAIN, headers=KEY)).status_code == 200
    assert await asked(client) == ["Hello", "Again"]


@pytest.mark.parametrize("action", ["edit", "regenerate"])
async def test_versions_are_as_they_were_before_a_branch_that_is_refused(
    client: Client, path: Path, action: str
) -> None:
    await client.turn(HELLO)
    before = await client.thread("t1")
    branches: dict[str, dict[str, Any]] = {
        "edit": {"edit": {"message_id": before["messages"][0]["id"], "message": "Evening"}},
        "regenerate": {"regenerate": True},
    }
    body = {"thread_id": "t1", **branches[action]}
    async with unsaved(client, path, body) as answer:
        assert_refused(answer)

    async def is_as_before() -> bool:
        return await client.thread("t1") == before

    await eventually(is_as_before)
    assert (await client.http.post("/chat", json=body, headers=KEY)).status_code == 200


async def test_a_decision_that_is_refused_leaves_the_question_open(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "RETRY_SECONDS", 0.01)
    model = ScriptedModel.of([call('{"word": "rent"}', name="pay", id="c1"), finish()])
    given = settings(path, busy_seconds=BUSY_SECONDS)
    async with serving(given, GatedTools().catalogue, model) as client:
        await decide_in_vain(client, path)


async def decide_in_vain(client: Client, path: Path) -> None:
    await client.turn(HELLO)
    [waiting] = (await client.http.get("/approvals")).json()["approvals"]
    with pytest.MonkeyPatch.context() as patch:
        put = HeldMethod(patch, SqliteCheckpointer, "aput", once=True)
        decision = client.http.post(f"/approvals/{waiting['id']}", json={"approved": False})
        post = asyncio.create_task(decision)
        await put.reached.wait()
        with foreign_lock(path):
            put.through.set()
            assert_refused(await post)

    async def is_open() -> bool:
        return bool((await client.http.get("/approvals")).json()["approvals"] == [waiting])

    await eventually(is_open)
    again = await client.http.post(f"/approvals/{waiting['id']}", json={"approved": False})
    assert again.status_code == 200


async def test_a_message_that_no_step_has_read_survives_a_stop_that_cannot_be_saved(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StorageUnavailable("storage_full")

    reading = HeldMethod(monkeypatch, SqliteCheckpointer, "aput_writes", once=True)
    post = asyncio.create_task(client.http.post("/chat", json=HELLO, headers=KEY))
    await reading.reached.wait()
    with monkeypatch.context() as broken:
        broken.setattr(SqliteCheckpointer, "put_writes", full)
        undoing = HeldMethod(broken, SqliteStore, "holds_alone", once=True)
        stop = asyncio.create_task(client.http.post("/chat/t1/stop"))
        await undoing.reached.wait()
    undoing.through.set()
    answer = await post
    assert_accepted(answer)
    assert (await stop).status_code == 200
    assert await asked(client) == ["Hello"]


async def test_a_request_whose_commit_got_no_answer_is_accepted_and_asked_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, lost = SqliteCheckpointer.put, asyncio.Event()

    def unanswered(*given: Any) -> Any:
        saved = put(*given)
        if not lost.is_set():
            lost.set()
            raise StorageUnavailable("storage_unreachable")
        return saved

    monkeypatch.setattr(SqliteCheckpointer, "put", unanswered)
    for _ in range(2):
        answer = await client.http.post("/chat", json=HELLO, headers=KEY)
        assert_accepted(answer)
    assert await asked(client) == ["Hello"]
    _, events = await client.turn({"thread_id": "t1", "continue": True})
    assert events[-1].data == "[DONE]"


@pytest.mark.parametrize("address", ["/chat", "/langgraph/threads/t1/runs/stream"])
async def test_a_request_whose_stream_cannot_be_opened_is_accepted(
    client: Client, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    async def refuses(*_: object, **__: object) -> None:
        raise StorageUnavailable("storage_unreachable")

    said = {"messages": [{"type": "human", "content": "Hello"}]}
    body = HELLO if address == "/chat" else {"assistant_id": "chat", "input": said}
    with monkeypatch.context() as broken:
        broken.setattr(EventStreams, "open", refuses)
        answer = await client.http.post(address, json=body)
    assert answer.status_code == 200
    assert "cursor_lost" in answer.text
    assert await asked(client) == ["Hello"]


def assert_accepted(answer: httpx.Response, thread_id: str = "t1") -> None:
    """The request is kept, and its run cannot be streamed."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["location"] == f"/threads/{thread_id}"
    assert answer.headers["x-thread-id"] == thread_id
    lost, done = parse_events(answer.content)
    assert (lost.data["code"], done.data) == ("cursor_lost", "[DONE]")


async def test_a_repeated_request_whose_log_is_gone_is_accepted_also_after_a_restart(
    path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.default = text_reply("Fine.")
    given = endpoint_settings(path, endpoint)
    async with serving(given) as client:
        await client.turn(HELLO, headers=KEY)
    async with serving(given) as client:
        assert_accepted(await client.http.post("/chat", json=HELLO, headers=KEY))
        later = await client.http.post("/chat", json=HELLO, headers=KEY | LATER)
        assert (later.status_code, later.json()) == (
            202,
            {
                "thread_id": "t1",
                "run_id": (await client.thread("t1"))["run_id"],
                "thread_url": "/threads/t1",
            },
        )
        other = await client.http.post("/chat", json=AGAIN, headers=KEY)
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("verb", ["stop", "delete", "on_busy"])
async def test_who_waits_for_the_end_of_a_run_is_answered_in_time(
    client: Client, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    method, address, body = {
        "stop": ("POST", "/chat/t1/stop", None),
        "delete": ("DELETE", "/threads/t1", None),
        "on_busy": ("POST", "/chat?on_busy=stop", AGAIN),
    }[verb]
    request = partial(client.http.request, method, address, json=body)
    end = HeldMethod(monkeypatch, SqliteStore, "end_run", once=True)
    async with client.chat(HELLO) as run:
        await end.reached.wait()
        with monkeypatch.context() as hurried:
            hurried.setattr(deadline, "END_SECONDS", 0.1)
            answer = await request()
        assert (answer.status_code, answer.json()["code"]) == (503, "thread_still_busy")
        assert int(answer.headers["retry-after"]) > 0
        end.through.set()
        assert (await run.rest())[-1].data == "[DONE]"
    assert (await request()).status_code in (200, 202, 204)
