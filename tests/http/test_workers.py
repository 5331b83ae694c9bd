"""Workers as processes of their own: one is killed or paused, and another goes on in its place."""

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from tests.http.test_crash import check_killed, turn_of
from tests.support.endpoint import Pause, Reply, Say, StrictEndpoint, text_reply
from tests.support.forked_server import ForkedServer, forked_server, refused_start
from tests.support.postgres_workers import nobody_let_in, query
from tests.support.redis_server import RedisServer
from tests.support.samples import sample
from tests.support.serving import (
    Client,
    Event,
    InLoop,
    Stream,
    endpoint_environment,
    endpoint_settings,
    parse_events,
    serving,
    text_of,
)
from tests.support.waiting import WAIT_SECONDS, HeldMethod, eventually, until
from turnstream.server.extensions.workers.redis.log import RedisLog
from turnstream.server.runs.claims import Claims
from turnstream.server.storage.location import PostgresUrl

MOMENTS = sample(30, 4)
TERMINAL = ("message-finish", "[DONE]")

STOPS = sample(50, 8)

Variables = dict[str, str]
Answering = asyncio.Task[httpx.Response]
LEASE_SECONDS = 1
HELLO = {"thread_id": "t1", "message": "Hello"}
KEY = {"Idempotency-Key": "k1"}
WAITING = (
    "SELECT pid FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted "
    "AND relation = 'checkpoints'::regclass AND datname = current_database()"
)
"""A table may have the same number in the databases of other tests."""


@pytest.fixture
def shared(postgres_url: PostgresUrl, redis_url: str) -> Variables:
    """What all workers of a test are told."""
    return {
        "DATABASE": postgres_url.secret,
        "REDIS": redis_url,
        "LEASE_SECONDS": f"{LEASE_SECONDS}",
    }


@asynccontextmanager
async def worker(
    tmp_path: Path, shared: Variables, endpoint: StrictEndpoint
) -> AsyncIterator[ForkedServer]:
    async with forked_server(
        tmp_path / "unused.db", **endpoint_environment(endpoint), **shared
    ) as server:
        yield server


@asynccontextmanager
async def attached(client: Client, thread_id: str) -> AsyncIterator[Stream]:
    """The thread's live run from its first event, once there is one."""
    while True:
        async with client.stream("GET", f"/chat/{thread_id}/stream") as stream:
            if stream.response.status_code == 200:
                yield stream
                return


async def at_rest(client: Client, thread_id: str) -> dict[str, Any]:
    """The thread, when no run of it is live any more."""
    thread: dict[str, Any] = {}

    async def rests() -> bool:
        nonlocal thread
        thread = await client.thread(thread_id)
        return bool(thread["run_state"] != "live")

    await eventually(rests)
    return thread


async def is_ready(client: Client, *, ready: bool = True) -> bool:
    try:
        return ready == ((await client.http.get("/health/ready")).status_code == 200)
    except httpx.TransportError:
        return not ready


def told_parts(events: Sequence[Event]) -> list[tuple[str, str]]:
    """The kind and the text of each part."""
    parts: list[tuple[str, str]] = []
    for event in events:
        if event.type == "part-start":
            parts.append((event.data["part"]["type"], ""))
        elif event.type == "text-delta":
            kind, text = parts[event.data["path"][0]]
            parts[event.data["path"][0]] = (kind, text + event.data["textDelta"])
    return parts


def kept_parts(thread: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (part["type"], part["text"] if part["type"] == "text" else part["argsText"])
        for message in thread["messages"][1:]
        for part in message["parts"]
    ]


def ends(events: Sequence[Event]) -> list[str]:
    return [event.type for event in events if event.type in TERMINAL]


@pytest.mark.full
@pytest.mark.long
async def test_a_worker_killed_at_any_moment_has_its_runs_ended_by_another(
    tmp_path: Path, shared: Variables, endpoint: StrictEndpoint
) -> None:
    endpoint.default = turn_of
    chance = random.Random(7)
    async with (
        worker(tmp_path, shared, endpoint) as other,
        worker(tmp_path, shared, endpoint) as third,
    ):
        for number in range(MOMENTS):
            moment = chance.randrange(1, 55)
            async with worker(tmp_path, shared, endpoint) as mortal:
                body = {"thread_id": f"t{number}", "message": f"Turn {number}"}
                async with (
                    mortal.client.chat(body) as own,
                    attached(other.client, f"t{number}") as stream,
                    attached(third.client, f"t{number}") as again,
                ):
                    seen: list[Event] = []
                    async with asyncio.timeout(WAIT_SECONDS):
                        async for event in own:
                            seen.append(event)
                            if len(seen) >= moment:
                                break
                        mortal.kill()
                        events = await stream.rest()
                        assert await again.rest() == events
            assert ends(events) == list(TERMINAL)
            assert [e.id for e in events[: len(seen)]] == [e.id for e in seen]
            await at_rest(other.client, f"t{number}")
            await check_killed(other.client, number, events[: len(seen)])


@pytest.mark.long
async def test_a_stop_at_any_moment_from_any_worker_leaves_the_thread_whole(
    tmp_path: Path, postgres_url: PostgresUrl, redis_url: str, endpoint: StrictEndpoint
) -> None:
    endpoint.default = turn_of
    shared = {"database": postgres_url, "redis": SecretStr(redis_url)}
    given = endpoint_settings(tmp_path / "unused.db", endpoint).model_copy(update=shared)
    chance = random.Random(11)
    async with serving(given) as first, serving(given) as second, serving(given) as third:
        whole = len((await first.turn({"thread_id": "whole", "message": "Turn 999"}))[1])

        async def stop_one(number: int) -> str:
            runner, reader, stopper = chance.sample([first, second, third], 3)
            body = {"thread_id": f"t{number}", "message": f"Turn {number}"}
            async with runner.chat(body) as own, attached(reader, f"t{number}") as stream:
                moment, events = chance.randrange(1, whole), list[Event]()
                async for event in own:
                    events.append(event)
                    if len(events) >= moment:
                        break
                answer = (await stopper.http.post(f"/chat/t{number}/stop")).json()
                events += await own.rest()
                assert await stream.rest() == events
            assert ends(events) == list(TERMINAL)
            assert answer["run_id"] == own.run_id
            thread = await reader.thread(f"t{number}")
            assert (thread["run_state"], thread["run"]) == (answer["state"], None)
            assert told_parts(events) == kept_parts(thread)
            _, said = await reader.turn({"thread_id": f"t{number}", "message": "Go on."})
            assert ends(said) == list(TERMINAL)
            return str(answer["state"])

        states = await asyncio.gather(*map(stop_one, range(STOPS)))
    assert states.count("stopped") > STOPS / 2


async def test_a_paused_worker_finds_its_run_ended_and_writes_nothing_more(
    tmp_path: Path, shared: Variables, endpoint: StrictEndpoint
) -> None:
    endpoint.script(Reply((Say("One "), Pause(go_on := asyncio.Event()), Say("two."))))
    endpoint.default = text_reply("Fine.")
    body = {"thread_id": "t1", "message": "Count."}
    async with (
        worker(tmp_path, shared, endpoint) as paused,
        worker(tmp_path, shared, endpoint) as other,
        paused.client.chat(body) as own,
        attached(other.client, "t1") as stream,
    ):
        seen = [await own.until("text-delta")]
        os.kill(paused.pid, signal.SIGSTOP)
        events = await stream.rest()
        _, said = await other.client.turn({"thread_id": "t1", "message": "Go on."})
        before = await other.client.thread("t1")
        os.kill(paused.pid, signal.SIGCONT)
        go_on.set()
        rest = await own.rest()
        assert await paused.client.thread("t1") == before
    assert ends(events) == ends(said) == list(TERMINAL)
    assert events[-len(rest) :] == rest
    assert seen[0] in events
    assert text_of(said) == "Fine."


async def test_a_cursor_of_a_worker_that_is_gone_goes_on_at_another(
    tmp_path: Path, shared: Variables, endpoint: StrictEndpoint
) -> None:
    endpoint.script(Reply((Say("One "), Pause(asyncio.Event()))))
    async with worker(tmp_path, shared, endpoint) as other:
        async with (
            worker(tmp_path, shared, endpoint) as mortal,
            mortal.client.chat({"thread_id": "t1", "message": "Count."}) as stream,
        ):
            seen = await stream.until("text-delta")
            mortal.kill()
        cursor = {"Last-Event-ID": seen.id or ""}
        async with other.client.stream("GET", "/chat/t1/stream", headers=cursor) as again:
            assert ends(await again.rest()) == list(TERMINAL)


async def test_a_worker_that_is_told_to_end_lets_its_runs_finish(
    tmp_path: Path, shared: Variables, endpoint: StrictEndpoint
) -> None:
    endpoint.script(Reply((Say("One "), Pause(go_on := asyncio.Event()), Say("two."))))
    async with (
        worker(tmp_path, shared, endpoint) as ending,
        worker(tmp_path, shared, endpoint) as other,
        ending.client.chat({"thread_id": "t1", "message": "Count."}) as own,
        attached(other.client, "t1") as stream,
    ):
        await own.until("text-delta")
        ending.terminate()
        await eventually(lambda: is_ready(ending.client, ready=False))
        assert (await other.client.http.get("/health/ready")).status_code == 200
        go_on.set()
        assert text_of(await stream.rest()) == "One two."
        assert await ending.exit_status() == 0
        assert (await other.client.thread("t1"))["run_state"] == "finished"


async def test_who_waits_at_a_worker_that_ends_for_the_run_of_another_is_let_go(
    tmp_path: Path,
    postgres_url: PostgresUrl,
    redis_url: str,
    endpoint: StrictEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    endpoint.script(Reply((Say("One "), Pause(go_on := asyncio.Event()), Say("two."))))
    shared = {"database": postgres_url, "redis": SecretStr(redis_url)}
    given = endpoint_settings(tmp_path / "unused.db", endpoint).model_copy(update=shared)
    monkeypatch.setattr("turnstream.server.serving.CLOSE_SECONDS", 0.2)
    asked = asyncio.Event()
    monkeypatch.setattr(Claims, "ask_to_stop", lambda *_: asked.set())  # It is busy.
    async with (
        serving(given) as other,
        other.chat({"thread_id": "t1", "message": "Count."}) as own,
    ):
        async with serving(given) as ending, attached(ending, "t1") as stream:
            await stream.until("text-delta")
            stopping = asyncio.create_task(ending.http.post("/chat/t1/stop"))
            await asked.wait()
            assert isinstance(ending.server, InLoop)
            ending.server.ends.set()
            with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
                await stream.rest()
            refused = await stopping
        assert (refused.status_code, refused.json()["code"]) == (503, "shutting_down")
        go_on.set()
        assert text_of(await own.rest()) == "One two."
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.full
async def test_without_redis_runs_go_on_and_new_ones_are_refused(
    tmp_path: Path, shared: Variables, endpoint: StrictEndpoint, own_redis: RedisServer
) -> None:
    endpoint.script(Reply((Say("One "), Pause(go_on := asyncio.Event()), Say("two."))))
    endpoint.default = text_reply("Fine.")
    shared["REDIS"] = own_redis.url
    async with worker(tmp_path, shared, endpoint) as server:
        client = server.client
        async with client.chat({"thread_id": "t1", "message": "Count."}) as stream:
            await stream.until("text-delta")
            own_redis.stop()
            refused = await client.http.post("/chat", json={"thread_id": "t2", "message": "Hi"})
            assert (refused.status_code, refused.json()["code"]) == (503, "streams_unavailable")
            ready = await client.http.get("/health/ready")
            assert ready.json()["code"] == "streams_unavailable"
            go_on.set()
            thread = await at_rest(client, "t1")
            assert thread["run_state"] == "finished"
            assert thread["messages"][1]["parts"][0]["text"] == "One two."
            *_, lost, last = await stream.rest()
            assert (lost.data["code"], last.type) == ("cursor_lost", "[DONE]")
            assert lost.id == last.id == "cursor-lost"
        own_redis.start()
        await eventually(lambda: is_ready(client))
        _, said = await client.turn({"thread_id": "t1", "message": "Again"})
        assert text_of(said) == "Fine."


async def test_without_postgres_runs_end_and_their_threads_go_on_when_it_is_back(
    tmp_path: Path,
    shared: Variables,
    endpoint: StrictEndpoint,
    postgres_server: tuple[str, str],
    postgres_url: PostgresUrl,
) -> None:
    endpoint.script(Reply((Say("One "), Pause(go_on := asyncio.Event()), Say("two."))))
    endpoint.default = text_reply("Fine.")
    async with worker(tmp_path, shared, endpoint) as server:
        client = server.client
        async with client.chat({"thread_id": "t1", "message": "Count."}) as stream:
            await stream.until("text-delta")
            with nobody_let_in(postgres_server[0], postgres_url):
                refused = await client.http.post("/chat", json={"thread_id": "t2", "message": "Hi"})
                ready = await client.http.get("/health/ready")
                for answer in (refused, ready):
                    problem = (answer.status_code, answer.json()["code"])
                    assert problem == (503, "storage_unreachable")
                go_on.set()
                await until(lambda: any(b"failed, error" in line for line in server.log))
            events = await stream.rest()
            assert ends(events) == list(TERMINAL)
            assert [e.data["code"] for e in events if e.type == "error"] == ["storage_unreachable"]
        assert (await at_rest(client, "t1"))["run_state"] == "failed"
        await eventually(lambda: is_ready(client))
        _, said = await client.turn({"thread_id": "t1", "message": "Again"})
        assert text_of(said) == "Fine."


async def test_a_database_that_is_away_for_longer_than_a_lease_leaves_no_thread_live(
    tmp_path: Path,
    shared: Variables,
    endpoint: StrictEndpoint,
    postgres_server: tuple[str, str],
    postgres_url: PostgresUrl,
) -> None:
    gate = asyncio.Event()
    endpoint.default = Reply((Say("One "), Pause(gate), Say("two.")))
    threads = [f"t{number}" for number in range(8)]
    async with worker(tmp_path, shared, endpoint) as server, AsyncExitStack() as streams:
        client = server.client
        for thread in threads:
            body = {"thread_id": thread, "message": "Count."}
            stream = await streams.enter_async_context(client.chat(body))
            await stream.until("text-delta")
        with nobody_let_in(postgres_server[0], postgres_url):
            lapsed = asyncio.get_running_loop().time() + LEASE_SECONDS
            gate.set()
            failed = b"failed, error"
            await until(lambda: sum(failed in line for line in server.log) >= len(threads))
            await until(lambda: asyncio.get_running_loop().time() > lapsed)
        for thread in threads:
            assert (await at_rest(client, thread))["run_state"] != "live"
        for thread in threads:
            stopped = await client.http.post(f"/chat/{thread}/stop")
            assert stopped.status_code == 200
            _, said = await client.turn({"thread_id": thread, "message": "Again"})
            assert text_of(said) == "One two."
        assert (await client.http.delete(f"/threads/{threads[0]}")).status_code == 204


@asynccontextmanager
async def unsaved(client: Client, url: PostgresUrl, **headers: str) -> AsyncIterator[Answering]:
    """A post whose checkpoints wait for a lock of somebody else's; within, it is locked."""
    async with await psycopg.AsyncConnection.connect(url.secret) as other:
        await other.execute("LOCK TABLE checkpoints IN SHARE MODE")
        yield asyncio.create_task(client.http.post("/chat", json=HELLO, headers=KEY | headers))


async def awaits_checkpoints(url: PostgresUrl) -> bool:
    return bool(await asyncio.to_thread(query, url, WAITING))


async def asked(client: Client) -> list[str]:
    """The user's messages in the thread."""
    thread = await at_rest(client, "t1")
    return [m["parts"][0]["text"] for m in thread["messages"] if m["role"] == "user"]


async def test_a_message_that_a_lock_keeps_from_the_disk_is_refused_and_its_key_is_free(
    tmp_path: Path, shared: Variables, endpoint: StrictEndpoint, postgres_url: PostgresUrl
) -> None:
    endpoint.default = text_reply("Fine.")
    shared["BUSY_SECONDS"] = "1"
    async with worker(tmp_path, shared, endpoint) as server:
        async with unsaved(server.client, postgres_url) as post:
            refused = await post
            assert (refused.status_code, refused.json()["code"]) == (503, "storage_busy")
            assert int(refused.headers["retry-after"]) > 0
            missing = await server.client.http.get("/threads/t1")
            assert missing.status_code == 404
            named = f"error {refused.json()['id']}".encode()
            [line] = [line for line in server.log if named in line]
            assert b"storage_busy postgres 57014" in line or b"storage_busy postgres 55P03" in line
            [(worker_id,)] = query(
                postgres_url,
                "SELECT DISTINCT split_part(application_name, ' ', 2) FROM pg_stat_activity "
                "WHERE datname = current_database() AND application_name LIKE 'turnstream _%'",
            )
            assert f"[{worker_id}]".encode() in line
        again = await server.client.http.post("/chat", json=HELLO, headers=KEY)
        assert text_of(parse_events(again.content)) == "Fine."
        assert await asked(server.client) == ["Hello"]


async def test_a_worker_killed_before_it_saved_a_message_leaves_the_key_free(
    tmp_path: Path, shared: Variables, endpoint: StrictEndpoint, postgres_url: PostgresUrl
) -> None:
    endpoint.default = text_reply("Fine.")
    async with (
        worker(tmp_path, shared, endpoint) as other,
        worker(tmp_path, shared, endpoint) as mortal,
    ):
        async with unsaved(mortal.client, postgres_url) as post:
            await eventually(lambda: awaits_checkpoints(postgres_url))
            mortal.kill()
            with pytest.raises(httpx.TransportError):
                await post
            # Else Postgres would still commit what it was sent.
            query(postgres_url, f"SELECT pg_terminate_backend(pid) FROM ({WAITING}) AS waiting")
        again = await other.client.http.post("/chat", json=HELLO, headers=KEY)
        assert text_of(parse_events(again.content)) == "Fine."
        assert await asked(other.client) == ["Hello"]


async def test_a_worker_killed_after_it_saved_a_message_has_it_asked_once(
    tmp_path: Path,
    shared: Variables,
    endpoint: StrictEndpoint,
    postgres_url: PostgresUrl,
    own_redis: RedisServer,
) -> None:
    endpoint.default = text_reply("Fine.")
    shared["REDIS"] = own_redis.url
    async with (
        worker(tmp_path, shared, endpoint) as other,
        worker(tmp_path, shared, endpoint) as mortal,
    ):
        async with unsaved(mortal.client, postgres_url) as post:
            await eventually(lambda: awaits_checkpoints(postgres_url))
            own_redis.signal(signal.SIGSTOP)
        await until(lambda: query(postgres_url, "SELECT 1 FROM checkpoints"))
        mortal.kill()
        own_redis.signal(signal.SIGCONT)
        with pytest.raises(httpx.TransportError):
            await post
        for _ in range(2):
            again = await other.client.http.post("/chat", json=HELLO, headers=KEY)
            assert again.status_code == 200
        assert await asked(other.client) == ["Hello"]


def assert_accepted(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.headers["location"]) == (200, "/threads/t1")
    assert parse_events(answer.content)[0].data["code"] == "cursor_lost"


async def test_a_key_outlives_a_redis_that_was_emptied(
    tmp_path: Path, shared: Variables, endpoint: StrictEndpoint, own_redis: RedisServer
) -> None:
    endpoint.default = text_reply("Fine.")
    shared["REDIS"] = own_redis.url
    async with (
        worker(tmp_path, shared, endpoint) as first,
        worker(tmp_path, shared, endpoint) as second,
    ):
        await first.client.turn(HELLO, headers=KEY)
        with own_redis.client() as client:
            client.flushall()
        for server in (first, second):
            assert_accepted(await server.client.http.post("/chat", json=HELLO, headers=KEY))
        assert await asked(first.client) == ["Hello"]
    assert len(endpoint.requests) == 1


async def test_a_request_whose_redis_is_emptied_before_its_header_is_accepted(
    tmp_path: Path,
    postgres_url: PostgresUrl,
    own_redis: RedisServer,
    endpoint: StrictEndpoint,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    endpoint.default = text_reply("Fine.")
    shared = {"database": postgres_url, "redis": SecretStr(own_redis.url)}
    given = endpoint_settings(tmp_path / "unused.db", endpoint).model_copy(update=shared)
    opening = HeldMethod(monkeypatch, RedisLog, "open", once=True)
    async with serving(given) as server:
        post = asyncio.create_task(server.http.post("/chat", json=HELLO, headers=KEY))
        await opening.reached.wait()
        with own_redis.client() as client:
            client.flushall()
        opening.through.set()
        assert_accepted(await post)
        assert await asked(server) == ["Hello"]
        assert (await server.thread("t1"))["run_state"] == "finished"
        assert_accepted(await server.http.post("/chat", json=HELLO, headers=KEY))
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("missing", ["REDIS", "DATABASE"])
async def test_postgres_and_redis_are_set_together(
    tmp_path: Path, shared: Variables, missing: str
) -> None:
    del shared[missing]
    said = await refused_start(tmp_path / "t.db", **shared)
    assert said.count("\n") == 1
    assert f"TURNSTREAM_{missing}" in said


@pytest.mark.parametrize("module", ["psycopg", "langgraph.checkpoint.postgres", "redis"])
async def test_what_several_workers_need_is_named_if_it_is_not_installed(
    tmp_path: Path, shared: Variables, module: str
) -> None:
    said = await refused_start(tmp_path / "t.db", module, **shared)
    assert said.count("\n") == 1
    assert f"need the module {module}" in said
    assert "pip install '/path/to/turnstream[workers]'" in said
