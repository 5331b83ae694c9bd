"""The end of the server: in order on SIGTERM, without loss on kill -9."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from server.protocols.requests import TurnRequest
from server.runs.registry import ShuttingDown
from tests.endpoint import (
    Body,
    Call,
    Delay,
    Pause,
    Reply,
    Say,
    StrictEndpoint,
    call_reply,
    text_reply,
)
from tests.endpoint.script import Args, Step
from tests.forked import forked
from tests.scripted_model import ScriptedModel
from tests.serving import Client, Event, process
from tests.turns import THREAD, house, message
from tests.waiting import until

Json = dict[str, Any]


@pytest.fixture
async def endpoint() -> AsyncIterator[StrictEndpoint]:
    async with StrictEndpoint() as endpoint:
        yield endpoint
        assert endpoint.refused == []


def model(endpoint: StrictEndpoint) -> dict[str, str]:
    return {
        "MODEL": "scripted",
        "OPENAI_BASE_URL": endpoint.base_url,
        "OPENAI_API_KEY": "test",
        "OFFLINE_WORD_SECONDS": "0",
    }


def held() -> tuple[Reply, asyncio.Event]:
    gate = asyncio.Event()
    return Reply((Say("One "), Pause(gate), Say("two."))), gate


async def refuses_new_runs(client: Client) -> None:
    """Wait until the server takes no new runs, as it says with a 503."""
    async with asyncio.timeout(10):
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


async def test_a_live_run_may_finish_while_new_ones_are_refused(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    reply, gate = held()
    endpoint.script(reply)
    async with process(tmp_path / "t.db", **model(endpoint)) as server:
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
    async with forked(tmp_path / "t.db", **model(endpoint)) as again:
        thread = await again.client.thread("t1")
        assert thread["run_state"] == "finished"
        assert thread["messages"][1]["parts"] == [{"type": "text", "text": "One two."}]


async def test_a_run_that_takes_too_long_is_stopped_and_can_be_continued(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    reply, _ = held()
    endpoint.script(reply)
    async with forked(tmp_path / "t.db", DRAIN_SECONDS="0.1", **model(endpoint)) as server:
        async with server.client.chat({"thread_id": "t1", "message": "Count."}) as stream:
            await stream.until("text-delta")
            server.terminate()
            events = await stream.rest()
        assert ended(events) == [{"reason": "shutdown"}]
        assert events[-1].data == "[DONE]"
        assert await server.exit_status() == 0
    assert (await endpoint.closed(1)).completed is False
    async with forked(tmp_path / "t.db", **model(endpoint)) as again:
        thread = await again.client.thread("t1")
        assert thread["run_state"] == "stopped"
        assert thread["messages"][1]["ended"] == {"reason": "shutdown"}
        assert thread["messages"][1]["parts"] == [{"type": "text", "text": "One "}]
        endpoint.script(text_reply("two."))
        await again.client.turn({"thread_id": "t1", "continue": True})
        (_, answer) = (await again.client.thread("t1"))["messages"]
        assert [part["text"] for part in answer["parts"]] == ["One ", "two."]


async def test_a_second_signal_stops_the_runs_at_once_and_loses_nothing(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    reply, _ = held()
    endpoint.script(reply)
    async with forked(tmp_path / "t.db", DRAIN_SECONDS="600", **model(endpoint)) as server:
        async with server.client.chat({"thread_id": "t1", "message": "Count."}) as stream:
            await stream.until("text-delta")
            server.terminate()
            await refuses_new_runs(server.client)
            server.terminate()
            server.terminate()
            events = await stream.rest()
        assert ended(events) == [{"reason": "shutdown"}]
        assert await server.exit_status() == 0
    async with forked(tmp_path / "t.db", **model(endpoint)) as again:
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
    async with forked(tmp_path / "t.db", DRAIN_SECONDS="1", **model(endpoint)) as server:

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
    async with forked(tmp_path / "t.db", **model(endpoint)) as again:
        for number, events in enumerate(streams):
            assert events[-1].data == "[DONE]"
            finished = bool(number % 2)
            assert ended(events) == ([] if finished else [{"reason": "shutdown"}])
            thread = await again.client.thread(f"t{number}")
            assert thread["run_state"] == ("finished" if finished else "stopped")
            told = "".join(e.data.get("textDelta", "") for e in events[:-1])
            assert told == ("So far. And on." if finished else "So far. ")
            assert thread["messages"][1]["parts"] == [{"type": "text", "text": told}]


async def test_a_run_that_is_being_accepted_is_not_forgotten_by_the_shutdown(
    tmp_path: Path,
) -> None:
    script = ScriptedModel.of([asyncio.Event()])
    async with house(tmp_path / "t.db", script) as inside:
        starting = asyncio.create_task(inside.runs.start(THREAD, message("Hello")))
        await until(lambda: inside.runs.live)
        async with asyncio.timeout(10):
            await inside.runs.drain(0)
        run = await starting
        assert run.log.closed
        assert run.state == "stopped"
        entry = await inside.store.get(THREAD)
        assert entry is not None
        assert entry.run_state == "stopped"
        with pytest.raises(ShuttingDown):
            await inside.runs.start(THREAD, TurnRequest("assistant-transport", resume=True))


# kill -9

PACE = Delay(0.004)
MOMENTS = 20


def paced(*steps: Step) -> Reply:
    return Reply(tuple(step for given in steps for step in (PACE, given)))


def paced_turn(number: int) -> Sequence[Reply]:
    return (
        paced(
            *(Say(f"word{n} ") for n in range(5)),
            Call(0, f"a{number}", "calculator", '{"expres'),
            Args(0, 'sion": "6 * 7"}'),
            Call(1, f"b{number}", "calculator", '{"expression": "1 / 0"}'),
        ),
        paced(Say("More. "), Call(0, f"c{number}", "calculator", '{"expression": "2 + 2"}')),
        paced(*(Say(f"last{n} ") for n in range(8))),
    )


def turn_of(body: Body) -> Reply:
    """The next step of `Turn <number>`; to anything else a short answer."""
    said = body["messages"]
    last_user = max(n for n, m in enumerate(said) if m["role"] == "user")
    words = said[last_user]["content"].split()
    if words[0] != "Turn":
        return text_reply("Fine.")
    steps = paced_turn(int(words[1]))
    taken: int = sum(m["role"] == "assistant" for m in said[last_user:])
    return steps[min(taken, len(steps) - 1)]


def finished_parts(events: Sequence[Event]) -> list[Json]:
    """What a client saw as finished: calls whose arguments or results were whole, and the texts
    of steps that were."""
    parts: list[Json] = []
    whole, done = 0, set[int]()
    for event in events:
        data = event.data
        match event.type:
            case "part-start":
                parts.append({**data["part"], "text": ""})
            case "text-delta":
                parts[data["path"][0]]["text"] += data["textDelta"]
            case "tool-call-args-text-finish":
                done |= {data["path"][0], *range(whole, data["path"][0] + 1)}
            case "result":
                parts[data["path"][0]]["result"] = data["result"]
            case "step-finish":
                done |= set(range(len(parts)))
                whole = len(parts)
    return [parts[index] for index in sorted(done)]


def is_kept(seen: Json, kept: Sequence[Json]) -> bool:
    if seen["type"] == "text":
        return any(part.get("text") == seen["text"] for part in kept)
    return any(
        part.get("toolCallId") == seen["toolCallId"]
        and part["argsText"] == seen["text"]
        and ("result" not in seen or part.get("result") == seen["result"])
        for part in kept
    )


async def seen_until(client: Client, thread_id: str, words: str, count: int) -> list[Event]:
    """The first events of a turn."""
    events: list[Event] = []
    async with client.chat({"thread_id": thread_id, "message": words}) as stream:
        async with asyncio.timeout(10):
            async for event in stream:
                events.append(event)
                if len(events) >= count:
                    break
    return events


async def check_killed(client: Client, number: int, events: Sequence[Event]) -> None:
    """The thread of a run that was killed, when the server is there again."""
    thread_id = f"t{number}"
    thread = await client.thread(thread_id)
    over = any(event.type == "message-finish" for event in events)
    assert thread["run_state"] in (("finished",) if over else ("interrupted", "finished"))
    assert thread["run"] is None
    kept = [part for m in thread["messages"][1:] for part in m["parts"]]
    for seen in finished_parts(events):
        assert is_kept(seen, kept), (seen, kept)
    assert (await client.http.get(f"/chat/{thread_id}/stream")).status_code == 204
    if thread["run_state"] == "interrupted" and number % 2:
        request: Json = {"thread_id": thread_id, "continue": True}
    else:
        request = {"thread_id": thread_id, "message": "Go on."}
    _, said = await client.turn(request)
    assert [e.data["finishReason"] for e in said if e.type == "message-finish"] == ["stop"]
    after = await client.thread(thread_id)
    assert after["run_state"] == "finished"
    kept = [part for m in after["messages"][1:] for part in m["parts"]]
    assert all(is_kept(seen, kept) for seen in finished_parts(events))
    users = [m for m in after["messages"] if m["role"] == "user"]
    assert len(users) == (1 if "continue" in request else 2)
    assert all(part.get("state") != "pending" for part in kept)


async def test_a_server_killed_at_any_moment_has_lost_nothing_that_was_seen_as_finished(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.default = turn_of
    chance = random.Random(5)
    database = tmp_path / "t.db"
    killed: list[tuple[int, list[Event]]] = []
    async with forked(database, **model(endpoint)) as server:
        whole = len(await seen_until(server.client, "whole", "Turn 999", 999))
        moments = [chance.randrange(1, whole) for _ in range(MOMENTS)]
        events = await seen_until(server.client, "t0", "Turn 0", moments[0])
        server.kill()
    killed.append((0, events))
    for number, moment in enumerate(moments[1:], start=1):
        async with forked(database, **model(endpoint)) as server:
            await check_killed(server.client, *killed[-1])
            words = f"Turn {number}"
            events = await seen_until(server.client, f"t{number}", words, moment)
            server.kill()
        killed.append((number, events))
    async with forked(database, **model(endpoint)) as server:
        await check_killed(server.client, *killed[-1])
        page = (await server.client.http.get("/threads")).json()
        assert len(page["threads"]) == MOMENTS + 1
    assert sum(bool(finished_parts(events)) for _, events in killed) > MOMENTS / 2


async def test_a_cursor_of_a_process_that_is_gone_is_lost(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    reply, _ = held()
    endpoint.script(reply)
    async with (
        forked(tmp_path / "t.db", **model(endpoint)) as server,
        server.client.chat({"thread_id": "t1", "message": "Count."}) as stream,
    ):
        seen = await stream.until("text-delta")
        server.kill()
    async with forked(tmp_path / "t.db", **model(endpoint)) as again:
        cursor = {"Last-Event-ID": seen.id or ""}
        answer = await again.client.http.get("/chat/t1/stream", headers=cursor)
        assert b'"code":"cursor_lost"' in answer.content
        stopped = await again.client.http.post("/chat/t1/stop")
        assert stopped.json()["state"] == "interrupted"


async def test_results_beside_a_call_that_had_not_finished_survive(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    """The model is asked again only when all calls of its message are answered."""
    endpoint.script(call_reply(("calculator", '{"expression": "6 * 7"}'), ids=("c1",)))
    endpoint.default = Reply((Pause(asyncio.Event()),))
    async with (
        forked(tmp_path / "t.db", **model(endpoint)) as server,
        server.client.chat({"thread_id": "t1", "message": "6 * 7?"}) as stream,
    ):
        await stream.until("result")
        server.kill()
    async with forked(tmp_path / "t.db", **model(endpoint)) as again:
        thread = await again.client.thread("t1")
        assert thread["run_state"] == "interrupted"
        (call,) = thread["messages"][1]["parts"]
        assert (call["toolCallId"], call["state"]) == ("c1", "result")
        endpoint.default = text_reply("It is 42.")
        await again.client.turn({"thread_id": "t1", "continue": True})
        assert [m["role"] for m in endpoint.requests[-1]["messages"][-2:]] == ["assistant", "tool"]
