"""The end of the server on SIGTERM: runs finish or are stopped, in order."""

import asyncio
import json
import socket
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.backend import Backend, backend, chunks_of, chunks_until, key_of, message
from tests.support.endpoint import (
    Body,
    Pause,
    Reply,
    Say,
    StrictEndpoint,
    text_reply,
)
from tests.support.forked_server import forked_server
from tests.support.scripted_model import Piece, ScriptedModel, finish, text
from tests.support.serving import (
    Client,
    Event,
    InLoop,
    endpoint_environment,
    serving,
    settings,
)
from tests.support.waiting import WAIT_SECONDS, HeldMethod, eventually
from turnstream.graphs.stored import Ended
from turnstream.server.runs import shutdown
from turnstream.server.runs.claims import Claims
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.runs.shutdown import ShuttingDown
from turnstream.server.turns.chunks import Done, TextDelta
from turnstream.server.turns.requests import TurnRequest

Json = dict[str, Any]


def held() -> tuple[Reply, asyncio.Event]:
    gate = asyncio.Event()
    return Reply((Say("One "), Pause(gate), Say("two."))), gate


async def refuses_connections(client: Client) -> None:
    """Wait until nobody can connect to the server any more."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            try:
                await client.http.get("/health/live")
            except httpx.TransportError:
                return


def ended(events: Sequence[Event]) -> list[Json]:
    return [item["data"] for e in events if e.type == "data" for item in e.data["data"]]


# SIGTERM


@pytest.mark.one_process  # of workers: test_workers
async def test_a_live_run_may_finish_while_nobody_can_connect(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    reply, gate = held()
    endpoint.script(reply)
    async with forked_server(tmp_path / "t.db", **endpoint_environment(endpoint)) as server:
        client = server.client
        async with client.chat({"thread_id": "t1", "message": "Count."}) as stream:
            await stream.until("text-delta")
            server.terminate()
            await refuses_connections(client)
            gate.set()
            events = await stream.rest()
            assert events[-1].data == "[DONE]"
            assert ended(events) == []
        assert await server.exit_status() == 0
    async with forked_server(tmp_path / "t.db", **endpoint_environment(endpoint)) as again:
        thread = await again.client.thread("t1")
        assert thread["run_state"] == "finished"
        assert thread["messages"][1]["parts"] == [{"type": "text", "text": "One two."}]


async def test_idle_connections_end_and_a_request_under_way_is_still_answered(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    reply, gate = held()
    endpoint.script(reply, text_reply("Hello."))
    async with forked_server(tmp_path / "t.db", **endpoint_environment(endpoint)) as server:
        async with server.client.chat({"thread_id": "t1", "message": "Count."}) as stream:
            await stream.until("text-delta")
            url = httpx.URL(server.url)
            idle, idle_out = await asyncio.open_connection(url.host, url.port)
            idle_out.write(request("GET", "/health/live"))
            await idle.readuntil(b"\r\n\r\n")
            slow, slow_out = await asyncio.open_connection(url.host, url.port)
            posted = request("POST", "/chat", {"thread_id": "t2", "message": "Hello"})
            slow_out.write(posted[:-5])
            await slow_out.drain()
            server.terminate()
            async with asyncio.timeout(WAIT_SECONDS):
                await idle.read()  # to its end
                await refuses_connections(server.client)
                for byte in posted[-5:]:
                    slow_out.write(bytes([byte]))
                    await slow_out.drain()
                answer = await slow.read()
            assert answer.startswith(b"HTTP/1.1 200")
            assert answer.lower().count(b"connection: close") == 1
            assert b"[DONE]" in answer
            gate.set()
            await stream.rest()
        for writer in (idle_out, slow_out):
            writer.close()
        assert await server.exit_status() == 0


def request(method: str, path: str, body: Json | None = None) -> bytes:
    content = json.dumps(body).encode() if body else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
    return f"{head}\r\n".encode() + content


async def test_a_run_that_takes_too_long_is_stopped_and_can_be_continued(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    reply, _ = held()
    endpoint.script(reply)
    async with forked_server(
        tmp_path / "t.db", DRAIN_SECONDS="0.1", **endpoint_environment(endpoint)
    ) as server:
        async with server.client.chat({"thread_id": "t1", "message": "Count."}) as stream:
            await stream.until("text-delta")
            server.terminate()
            events = await stream.rest()
        assert ended(events) == [{"reason": "shutdown"}]
        assert events[-1].data == "[DONE]"
        assert await server.exit_status() == 0
    assert (await endpoint.closed(1)).completed is False
    async with forked_server(tmp_path / "t.db", **endpoint_environment(endpoint)) as again:
        thread = await again.client.thread("t1")
        assert thread["run_state"] == "stopped"
        assert thread["messages"][1]["ended"] == {"reason": "shutdown"}
        assert thread["messages"][1]["parts"] == [{"type": "text", "text": "One "}]
        endpoint.script(text_reply("two."))
        await again.client.turn({"thread_id": "t1", "continue": True})
        (_, answer) = (await again.client.thread("t1"))["messages"]
        assert [part["text"] for part in answer["parts"]] == ["One ", "two."]


@pytest.mark.one_process
async def test_a_second_signal_stops_the_runs_at_once_and_loses_nothing(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    reply, _ = held()
    endpoint.script(reply)
    async with forked_server(
        tmp_path / "t.db", DRAIN_SECONDS="600", **endpoint_environment(endpoint)
    ) as server:
        async with server.client.chat({"thread_id": "t1", "message": "Count."}) as stream:
            await stream.until("text-delta")
            server.terminate()
            await refuses_connections(server.client)
            server.terminate()
            server.terminate()
            events = await stream.rest()
        assert ended(events) == [{"reason": "shutdown"}]
        assert await server.exit_status() == 0
    async with forked_server(tmp_path / "t.db", **endpoint_environment(endpoint)) as again:
        thread = await again.client.thread("t1")
        assert thread["run_state"] == "stopped"
        assert thread["messages"][1]["parts"] == [{"type": "text", "text": "One "}]


async def test_twenty_live_runs_come_to_their_end_in_order(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    gate, never = asyncio.Event(), asyncio.Event()

    def reply(body: Body) -> Reply:
        number = int(body["messages"][-1]["content"].split()[1])
        return Reply((Say("So far. "), Pause(gate if number % 2 else never), Say("And on.")))

    endpoint.default = reply
    async with forked_server(
        tmp_path / "t.db", DRAIN_SECONDS="1", **endpoint_environment(endpoint)
    ) as server:

        async def read(number: int) -> list[Event]:
            body = {"thread_id": f"t{number}", "message": f"Run {number}"}
            async with server.client.chat(body) as stream:
                first = await stream.until("text-delta")
                started[number].set()
                return [first, *await stream.rest()]

        started = [asyncio.Event() for _ in range(20)]
        reading = [asyncio.create_task(read(number)) for number in range(20)]
        async with asyncio.timeout(20):
            for event in started:
                await event.wait()
        server.terminate()
        await refuses_connections(server.client)
        gate.set()
        streams = await asyncio.gather(*reading)
        assert await server.exit_status() == 0
    async with forked_server(tmp_path / "t.db", **endpoint_environment(endpoint)) as again:
        for number, events in enumerate(streams):
            assert events[-1].data == "[DONE]"
            finished = bool(number % 2)
            assert ended(events) == ([] if finished else [{"reason": "shutdown"}])
            thread = await again.client.thread(f"t{number}")
            assert thread["run_state"] == ("finished" if finished else "stopped")
            told = "".join(e.data.get("textDelta", "") for e in events[:-1])
            assert told == ("So far. And on." if finished else "So far. ")
            assert thread["messages"][1]["parts"] == [{"type": "text", "text": told}]


@pytest.mark.one_process
async def test_a_run_that_is_being_accepted_is_not_forgotten_by_the_shutdown(
    tmp_path: Path,
) -> None:
    script = ScriptedModel.of([asyncio.Event()])
    async with backend(tmp_path / "t.db", script) as inside:
        starting = asyncio.create_task(inside.start(message("Hello")))
        await eventually(lambda: inside.store.holder(key_of()))
        async with asyncio.timeout(WAIT_SECONDS):
            await inside.runs.drain(0)
        run = await starting
        assert (await run.log.status()).state == "ended"
        entry = await inside.entry()
        assert entry is not None
        assert entry.run_state == "stopped"
        with pytest.raises(ShuttingDown):
            await inside.start(TurnRequest(continue_=True))


def halves(count: int) -> ScriptedModel:
    """Says half a sentence, and nothing more, so many times."""
    half: list[Piece] = [text("Half "), asyncio.Event()]
    return ScriptedModel.of(*[half] * count)


async def live_runs(inside: Backend, count: int) -> list[LoggedRun]:
    """So many runs that have said a word and are waiting for the next."""
    runs = [await inside.start(message("Hello"), f"t{number}") for number in range(count)]
    for run in runs:
        await chunks_until(run, lambda chunks: any(isinstance(c, TextDelta) for c in chunks))
    return runs


@pytest.mark.one_process
async def test_runs_are_saved_some_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutdown, "SAVED_AT_ONCE", 2)
    async with backend(tmp_path / "t.db", halves(5)) as inside:
        runs = await live_runs(inside, 5)
        stopping, most = 0, 0
        stop = Claims.stop

        async def counted(claims: Claims, run_id: str, reason: Ended) -> None:
            nonlocal stopping, most
            stopping += 1
            most = max(most, stopping)
            await stop(claims, run_id, reason)
            stopping -= 1

        monkeypatch.setattr(Claims, "stop", counted)
        await inside.runs.drain(0)
        assert most == 2
        for number, run in enumerate(runs):
            assert (await run.log.status()).state == "ended"
            entry = await inside.entry(f"t{number}")
            assert entry is not None
            assert entry.run_state == "stopped"


@pytest.mark.one_process
async def test_what_cannot_be_saved_in_time_is_found_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutdown, "SAVE_SECONDS", 0.01)
    async with backend(tmp_path / "t.db", halves(3)) as inside:
        run, *_ = await live_runs(inside, 3)
        HeldMethod(monkeypatch, inside.checkpoints, "add")
        await inside.runs.drain(0)
        assert inside.runs.unsaved == 3
        assert not any(isinstance(chunk, Done) for chunk in await chunks_of(run))
        await inside.runs.close()
        assert inside.runs.unsaved == 0
    async with backend(tmp_path / "t.db", ScriptedModel.of([text("Whole."), finish()])) as again:
        entry = await again.entry("t0")
        assert entry is not None
        assert entry.run_state == "interrupted"
        chunks = await again.turn(TurnRequest(continue_=True), "t0")
        assert "".join(c.text for c in chunks if isinstance(c, TextDelta)) == "Whole."


@pytest.mark.one_process
@pytest.mark.parametrize("is_abstract", [False, True])
async def test_a_service_manager_is_told_when_the_server_is_ready_and_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_abstract: bool
) -> None:
    name = f"{tmp_path}/notify"
    monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}" if is_abstract else name)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}" if is_abstract else name)
        manager.setblocking(False)
        told = partial(asyncio.get_running_loop().sock_recv, manager, 100)
        async with serving(settings(tmp_path / "t.db")) as client, asyncio.timeout(WAIT_SECONDS):
            assert await told() == b"READY=1"
            assert (await client.http.get("/health/ready")).status_code == 200
            assert isinstance(client.server, InLoop)
            client.server.end()
            assert await told() == b"STOPPING=1"


async def test_whatever_goes_wrong_as_the_server_ends_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        server = client.server
        assert isinstance(server, InLoop)

        async def fail(_: object) -> None:
            raise RuntimeError("a fault")

        async with asyncio.timeout(WAIT_SECONDS):
            with monkeypatch.context() as broken:
                broken.setattr(InLoop, "stop_accepting", fail)
                server.end()
                assert server.ending
                with pytest.raises(RuntimeError, match="a fault"):
                    await server.ending
        assert server.should_exit


async def test_a_service_manager_that_is_gone_keeps_no_server_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nowhere"))
    async with serving(settings(tmp_path / "t.db")) as client:
        assert (await client.http.get("/health/ready")).status_code == 200
    assert "NOTIFY_SOCKET" in caplog.text
