"""The end of the server on SIGTERM: runs finish or are stopped, in order."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from server.runs import shutdown
from server.runs.reader import LoggedRun
from server.runs.shutdown import ShuttingDown
from server.turns.chunks import Done, TextDelta
from server.turns.requests import TurnRequest
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
from tests.support.serving import Client, Event, endpoint_environment
from tests.support.waiting import WAIT_SECONDS, HeldMethod, eventually

Json = dict[str, Any]


def held() -> tuple[Reply, asyncio.Event]:
    gate = asyncio.Event()
    return Reply((Say("One "), Pause(gate), Say("two."))), gate


async def refuses_new_runs(client: Client) -> None:
    """Wait until the server takes no new runs, as it says with a 503."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            request = {"thread_id": "probe", "continue": True}  # refused in any case
            answer = await client.http.post("/chat", json=request)
            if answer.status_code == 503:
                assert answer.json()["code"] == "shutting_down"
                assert int(answer.headers["retry-after"]) > 0
                return


def ended(events: Sequence[Event]) -> list[Json]:
    return [item["data"] for e in events if e.type == "data" for item in e.data["data"]]


# SIGTERM


@pytest.mark.one_process  # of workers: test_workers
async def test_a_live_run_may_finish_while_new_ones_are_refused(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    reply, gate = held()
    endpoint.script(reply)
    async with forked_server(tmp_path / "t.db", **endpoint_environment(endpoint)) as server:
        client = server.client
        async with client.chat({"thread_id": "t1", "message": "Count."}) as stream:
            await stream.until("text-delta")
            server.terminate()
            await refuses_new_runs(client)
            async with client.stream("GET", "/chat/t1/stream") as late:
                assert late.run_id == stream.run_id
                gate.set()
                assert (await late.rest())[-1].data == "[DONE]"
            events = await stream.rest()
            assert events[-1].data == "[DONE]"
            assert ended(events) == []
        assert await server.exit_status() == 0
    async with forked_server(tmp_path / "t.db", **endpoint_environment(endpoint)) as again:
        thread = await again.client.thread("t1")
        assert thread["run_state"] == "finished"
        assert thread["messages"][1]["parts"] == [{"type": "text", "text": "One two."}]


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
            await refuses_new_runs(server.client)
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
        await refuses_new_runs(server.client)
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
        saving, most = 0, 0
        add = inside.checkpoints.add

        async def counted(*given: Any) -> None:
            nonlocal saving, most
            saving += 1
            most = max(most, saving)
            await add(*given)
            saving -= 1

        monkeypatch.setattr(inside.checkpoints, "add", counted)
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
