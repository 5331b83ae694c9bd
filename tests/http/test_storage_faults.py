"""What the server does when its database is locked, full or gone."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint
from tests.support.foreign_lock import foreign_lock
from tests.support.serving import Client, endpoint_environment, endpoint_settings, serving
from tests.support.small_disk import disks_can_be_made, server_on_a_small_disk
from tests.support.waiting import HeldMethod, eventually
from turnstream.server.storage.store import SqliteStore

HELLO = {"thread_id": "t1", "message": "Hello"}
BUSY_SECONDS = 1.0
"""Beyond what a loaded machine takes to open a database."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@asynccontextmanager
async def healthy(http: httpx.AsyncClient) -> AsyncIterator[None]:
    """/health answers throughout the block, and says ok."""

    async def watch() -> None:
        while not over.is_set():
            answer = await http.get("/health")
            assert (answer.status_code, answer.json()["status"]) == (200, "ok")
            await asyncio.sleep(0.01)

    over = asyncio.Event()
    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        over.set()
        await watching


@pytest.fixture
async def client(path: Path, endpoint: StrictEndpoint) -> AsyncIterator[Client]:
    given = endpoint_settings(path, endpoint, busy_seconds=BUSY_SECONDS)
    async with serving(given) as client, healthy(client.http):
        yield client


def assert_refused(answer: httpx.Response, code: str) -> None:
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["code"] == code
    assert problem["detail"].endswith(".")
    assert problem["id"], "the log has it too"
    assert int(answer.headers["retry-after"]) > 0


async def state_of(client: Client, thread_id: str) -> str:
    return str((await client.thread(thread_id))["run_state"])


def ends_as(client: Client, thread_id: str, state: str) -> Callable[[], Awaitable[bool]]:
    async def ended() -> bool:
        return await state_of(client, thread_id) == state

    return ended


def texts(thread: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (message["role"], "".join(part.get("text", "") for part in message["parts"]))
        for message in thread["messages"]
    ]


# a foreign lock


async def test_requests_that_must_write_are_refused_together_while_reads_go_on(
    client: Client, path: Path
) -> None:
    await client.turn(HELLO)

    async def reads() -> None:
        for _ in range(10):
            assert len((await client.http.get("/threads")).json()["threads"]) == 1
            assert (await client.thread("t1"))["run"] is None
            assert (await client.http.get("/chat/t1/stream")).status_code == 204

    with foreign_lock(path):
        writes = [
            client.http.patch("/threads/t1", json={"title": "Other"}),
            client.http.delete("/threads/t1"),
            *(client.http.post("/chat", json={"message": f"No. {n}"}) for n in range(10)),
        ]
        # One after the other they would take twelve times as long as one.
        async with asyncio.timeout(BUSY_SECONDS * 6):
            *answers, _ = await asyncio.gather(*writes, reads())
    assert len(answers) == 12
    for answer in answers:
        assert answer is not None
        assert_refused(answer, "storage_busy")
    _, events = await client.turn(HELLO)
    assert events[-1].data == "[DONE]"
    assert len((await client.http.get("/threads")).json()["threads"]) == 1


async def test_a_lock_that_is_short_costs_a_run_nothing(
    path: Path, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(Reply((Say("One "), Pause(gate), Say("two."))))
    given = endpoint_settings(path, endpoint, busy_seconds=30)
    async with serving(given) as client, healthy(client.http), client.chat(HELLO) as run:
        await run.until("text-delta")
        with foreign_lock(path):
            gate.set()
            await run.until("text-delta")
            rename = client.http.patch("/threads/t1", json={"title": "Other"}, timeout=30)
            renaming = asyncio.create_task(rename)
            for _ in range(20):
                live = await client.thread("t1")
                assert live["run"]["id"] == run.run_id
                assert live["title"] == "Hello"
            async with client.stream("GET", "/chat/t1/stream") as second:
                await second.until("text-delta")
        assert (await run.rest())[-1].data == "[DONE]"
        assert (await renaming).json()["title"] == "Other"
        assert texts(await client.thread("t1"))[1:] == [("assistant", "One two.")]


async def test_a_run_whose_message_cannot_be_saved_fails_and_its_thread_goes_on(
    client: Client, path: Path, endpoint: StrictEndpoint
) -> None:
    gate = asyncio.Event()
    endpoint.script(Reply((Say("One "), Pause(gate), Say("two."))))
    async with client.chat(HELLO) as run:
        await run.until("text-delta")
        with foreign_lock(path):
            gate.set()
            error = await run.until("error")
            assert error.data["code"] == "storage_busy"
            assert (await run.rest())[-1].data == "[DONE]"
    await eventually(ends_as(client, "t1", "failed"))
    _, events = await client.turn({"thread_id": "t1", "message": "Again"})
    assert "error" not in [event.type for event in events]
    said = [text for role, text in texts(await client.thread("t1")) if role == "user"]
    assert said == ["Hello", "Again"]


async def test_the_end_of_a_run_is_noted_when_it_can_be(
    client: Client, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = HeldMethod(monkeypatch, SqliteStore, "end_run", once=True)
    async with client.chat(HELLO) as run:
        await end.reached.wait()
        with foreign_lock(path):
            end.through.set()
            assert (await run.rest())[-1].data == "[DONE]"
            thread = await client.thread("t1")
            assert (thread["run_state"], thread["run"]) == ("live", None)
    await eventually(ends_as(client, "t1", "finished"))


async def test_a_message_is_taken_though_the_end_of_the_last_run_is_not_noted_yet(
    client: Client, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = HeldMethod(monkeypatch, SqliteStore, "end_run", once=True)
    async with client.chat(HELLO) as run:
        await end.reached.wait()
        with foreign_lock(path):
            end.through.set()
            await run.rest()
    _, events = await client.turn({"thread_id": "t1", "message": "Again"})
    assert events[-1].data == "[DONE]"
    await eventually(ends_as(client, "t1", "finished"))
    assert len((await client.thread("t1"))["messages"]) == 4


async def test_a_request_that_is_refused_half_way_leaves_the_thread_free(
    client: Client, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = HeldMethod(monkeypatch, SqliteStore, "begin_run", once=True)
    post = asyncio.create_task(client.http.post("/chat", json=HELLO))
    await begin.reached.wait()
    with foreign_lock(path):
        begin.through.set()
        assert_refused(await post, "storage_busy")
    _, events = await client.turn(HELLO)
    assert events[-1].data == "[DONE]"
    assert len((await client.thread("t1"))["messages"]) == 2


# a full disk


@pytest.mark.full
async def test_a_full_disk_is_said_and_everything_works_again_when_there_is_room(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    if not disks_can_be_made(tmp_path):
        pytest.skip("this machine lets no test mount a disk")
    environment = endpoint_environment(endpoint)
    async with server_on_a_small_disk(tmp_path, "2m", **environment) as disk:
        client = disk.server.client
        await client.turn(HELLO)
        gate = asyncio.Event()
        endpoint.script(Reply((Say("One "), Pause(gate), Say("two."))))
        async with healthy(client.http), client.chat({"thread_id": "t2", "message": "Hi"}) as run:
            await run.until("text-delta")
            disk.fill()
            gate.set()
            assert (await run.until("error")).data["code"] == "storage_full"
            assert (await run.rest())[-1].data == "[DONE]"

            assert_refused(await client.http.post("/chat", json=HELLO), "storage_full")
            assert_refused(await client.http.delete("/threads/t1"), "storage_full")
            retitled = await client.http.patch("/threads/t1", json={"title": "Other"})
            assert_refused(retitled, "storage_full")
            assert "Free space" in retitled.json()["detail"]
            assert len((await client.thread("t1"))["messages"]) == 2

            disk.empty()
            await eventually(ends_as(client, "t2", "failed"))
            await client.turn({"thread_id": "t2", "message": "Again"})
            said = [text for role, text in texts(await client.thread("t2")) if role == "user"]
            assert said == ["Hi", "Again"]
            await client.turn(HELLO)
            assert len((await client.thread("t1"))["messages"]) == 4
            assert (await client.http.delete("/threads/t1")).status_code == 204


# a database that was deleted or replaced


async def health(client: Client) -> tuple[int, str]:
    answer = await client.http.get("/health")
    return answer.status_code, answer.json()["status"]


def healthy_is(client: Client, status: str) -> Callable[[], Awaitable[bool]]:
    async def is_so() -> bool:
        return (await health(client))[1] == status

    return is_so


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
async def test_a_deleted_database_is_noticed_and_takes_no_more_writes(
    path: Path, endpoint: StrictEndpoint, suffix: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(endpoint_settings(path, endpoint)) as client:
        await client.turn(HELLO)
        assert await health(client) == (200, "ok")
        file = path.with_name(path.name + suffix)
        aside = file.rename(path.with_name("aside"))
        with caplog.at_level(logging.INFO, "turnstream.server.storage.database_file"):
            await eventually(healthy_is(client, "database_gone"))
            assert await health(client) == (503, "database_gone")
            for answer in (
                await client.http.post("/chat", json=HELLO),
                await client.http.patch("/threads/t1", json={"title": "Other"}),
                await client.http.delete("/threads/t1"),
            ):
                assert_refused(answer, "database_gone")
            assert len((await client.thread("t1"))["messages"]) == 2, "what is open can be read"
            errors = [r for r in caplog.records if r.levelno == logging.ERROR]
            assert [str(file) in r.getMessage() for r in errors] == [True]

            aside.rename(file)
            await eventually(healthy_is(client, "ok"))
        _, events = await client.turn({"thread_id": "t1", "message": "Again"})
        assert events[-1].data == "[DONE]"


async def test_a_database_that_another_file_replaced_is_noticed(
    path: Path, endpoint: StrictEndpoint
) -> None:
    async with serving(endpoint_settings(path, endpoint)) as client:
        other = path.with_name("other")
        other.touch()
        other.replace(path)
        await eventually(healthy_is(client, "database_gone"))
        assert_refused(await client.http.post("/chat", json=HELLO), "database_gone")
        assert path.read_bytes() == b""  # noqa: ASYNC240  nothing else is to happen meanwhile


async def test_a_run_whose_database_goes_fails(path: Path, endpoint: StrictEndpoint) -> None:
    gate = asyncio.Event()
    endpoint.script(Reply((Say("One "), Pause(gate), Say("two."))))
    async with serving(endpoint_settings(path, endpoint)) as client, client.chat(HELLO) as run:
        await run.until("text-delta")
        path.rename(path.with_name("aside"))  # noqa: ASYNC240
        await eventually(healthy_is(client, "database_gone"))
        gate.set()
        assert (await run.until("error")).data["code"] == "database_gone"
        assert (await run.rest())[-1].data == "[DONE]"
