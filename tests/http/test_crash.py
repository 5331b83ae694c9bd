"""A server that dies: killed with kill -9 at any moment, and between two writes."""

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from tests.support.backend import Backend, after_crash, backend, key_of, message
from tests.support.endpoint import (
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
from tests.support.endpoint.script import Args, Step
from tests.support.forked_server import forked_server
from tests.support.samples import sample
from tests.support.scripted_model import Piece, ScriptedModel, finish, text
from tests.support.serving import Client, Event, endpoint_environment
from tests.support.waiting import WAIT_SECONDS, HeldMethod
from turnstream.server.storage.checkpointer import SqliteCheckpointer
from turnstream.server.storage.store import SqliteStore
from turnstream.server.turns.header import LOCAL_OWNER
from turnstream.server.turns.requests import InvalidRequest, TurnRequest

Json = dict[str, Any]


# kill -9

PACE = Delay(0.004)
MOMENTS = sample(40, 8)


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
        async with asyncio.timeout(WAIT_SECONDS):
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


@pytest.mark.long
async def test_a_server_killed_at_any_moment_has_lost_nothing_that_was_seen_as_finished(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.default = turn_of
    chance = random.Random(5)
    database = tmp_path / "t.db"
    killed: list[tuple[int, list[Event]]] = []
    async with forked_server(database, **endpoint_environment(endpoint)) as server:
        whole = len(await seen_until(server.client, "whole", "Turn 999", 999))
        moments = [chance.randrange(1, whole) for _ in range(MOMENTS)]
        events = await seen_until(server.client, "t0", "Turn 0", moments[0])
        server.kill()
    killed.append((0, events))
    for number, moment in enumerate(moments[1:], start=1):
        async with forked_server(database, **endpoint_environment(endpoint)) as server:
            await check_killed(server.client, *killed[-1])
            words = f"Turn {number}"
            events = await seen_until(server.client, f"t{number}", words, moment)
            server.kill()
        killed.append((number, events))
    async with forked_server(database, **endpoint_environment(endpoint)) as server:
        await check_killed(server.client, *killed[-1])
        page = (await server.client.http.get("/threads", params={"limit": "100"})).json()
        assert len(page["threads"]) == MOMENTS + 1
    assert sum(bool(finished_parts(events)) for _, events in killed) > MOMENTS / 2


async def test_a_cursor_of_a_process_that_is_gone_is_lost(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(Reply((Say("One "), Pause(asyncio.Event()), Say("two."))))
    async with (
        forked_server(tmp_path / "t.db", **endpoint_environment(endpoint)) as server,
        server.client.chat({"thread_id": "t1", "message": "Count."}) as stream,
    ):
        seen = await stream.until("text-delta")
        server.kill()
    async with forked_server(tmp_path / "t.db", **endpoint_environment(endpoint)) as again:
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
        forked_server(tmp_path / "t.db", **endpoint_environment(endpoint)) as server,
        server.client.chat({"thread_id": "t1", "message": "6 * 7?"}) as stream,
    ):
        await stream.until("result")
        server.kill()
    async with forked_server(tmp_path / "t.db", **endpoint_environment(endpoint)) as again:
        thread = await again.client.thread("t1")
        assert thread["run_state"] == "interrupted"
        (call,) = thread["messages"][1]["parts"]
        assert (call["toolCallId"], call["state"]) == ("c1", "result")
        endpoint.default = text_reply("It is 42.")
        await again.client.turn({"thread_id": "t1", "continue": True})
        assert [m["role"] for m in endpoint.requests[-1]["messages"][-2:]] == ["assistant", "tool"]


# between two writes: what the disk held at that instant


CONTINUE = TurnRequest(continue_=True)
HELLO: list[Piece] = [text("Hello."), finish()]


async def state(inside: Backend) -> str | None:
    entry = await inside.entry()
    return entry.run_state if entry else None


@asynccontextmanager
async def killed_before_the_end_was_noted(
    path: Path, model: ScriptedModel, patch: pytest.MonkeyPatch, *, stop: bool = False
) -> AsyncIterator[Backend]:
    async with backend(path, model) as before:
        end = HeldMethod(patch, SqliteStore, "end_run")
        await before.start(message("Hi"))
        stopping = asyncio.create_task(before.stop()) if stop else None
        await end.reached.wait()
        assert await state(before) == "live"
        patch.undo()
        async with after_crash(path, ScriptedModel.of(HELLO)) as after:
            yield after
        end.through.set()
        if stopping:
            await stopping


async def test_a_run_is_told_of_only_when_its_request_is_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with backend(path, ScriptedModel.of([asyncio.Event()])) as before:
        await before.start(message("Hi"))
        async with after_crash(path, ScriptedModel.of(HELLO)) as after:
            assert [m.text for m in await after.messages()] == ["Hi"]
            assert await state(after) == "interrupted"
            await after.turn(CONTINUE)
            assert [m.text for m in await after.messages()] == ["Hi", "Hello."]


async def test_a_new_thread_whose_first_request_was_not_answered_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    async with backend(path, ScriptedModel.of(HELLO)) as before:
        checkpoint = HeldMethod(monkeypatch, SqliteCheckpointer, "aput")
        start = asyncio.create_task(before.start(message("Hi")))
        await checkpoint.reached.wait()
        assert await state(before) == "live"
        monkeypatch.undo()
        async with after_crash(path, ScriptedModel.of(HELLO)) as after:
            assert await state(after) is None
            assert (await after.store.page(LOCAL_OWNER, 10)).entries == []
            await after.turn(message("Hi"))
            assert await state(after) == "finished"
        assert not start.done()
        checkpoint.through.set()
        await start


async def test_a_thread_whose_next_request_was_not_answered_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.db"
    async with backend(path, ScriptedModel.of(HELLO, HELLO)) as before:
        await before.turn(message("Hi"))
        checkpoint = HeldMethod(monkeypatch, SqliteCheckpointer, "aput")
        start = asyncio.create_task(before.start(message("And now?")))
        await checkpoint.reached.wait()
        assert await state(before) == "live"
        monkeypatch.undo()
        async with after_crash(path, ScriptedModel.of(HELLO)) as after:
            assert await state(after) == "finished"
            assert [m.text for m in await after.messages()] == ["Hi", "Hello."]
        checkpoint.through.set()
        await start


async def test_a_run_that_was_over_and_not_noted_as_such_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel.of(HELLO)
    async with killed_before_the_end_was_noted(tmp_path / "t.db", model, monkeypatch) as after:
        assert await state(after) == "finished"
        with pytest.raises(InvalidRequest, match="has ended as it should"):
            await after.turn(CONTINUE)


@pytest.mark.parametrize(
    ("said", "stop", "ended"),
    [([text("Half "), asyncio.Event()], True, "stopped"), ([ValueError("down")], False, "failed")],
    ids=["stopped", "failed"],
)
async def test_a_run_that_had_broken_off_and_was_not_noted_as_such_can_be_continued(
    said: list[Piece],
    stop: bool,
    ended: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = ScriptedModel.of(said)
    path = tmp_path / "t.db"
    async with killed_before_the_end_was_noted(path, model, monkeypatch, stop=stop) as after:
        assert await state(after) == ended
        await after.turn(CONTINUE)
        assert await state(after) == "finished"


async def test_a_thread_that_cannot_be_read_keeps_no_server_from_starting(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    async with backend(path, ScriptedModel.of()) as before:
        await before.turn(message("Hi"))
        await before.store.begin_run(key_of(), "run", "Hi")
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE checkpoints SET checkpoint = 'torn'")
        async with after_crash(path, ScriptedModel.of(HELLO)) as after:
            assert await state(after) == "interrupted"
            await after.start(message("Hi"), "another")


CALLED = AIMessage(
    "", id="a", tool_calls=[{"name": "calculator", "args": {}, "id": "c", "type": "tool_call"}]
)
RESULT = ToolMessage("{}", tool_call_id="c", id="t")
SHOWN = ToolMessage("{}", tool_call_id="c", id="t", response_metadata={"end": "shown"})


def said(**metadata: Any) -> AIMessage:
    return AIMessage("Hello.", id="a", response_metadata=metadata)


@pytest.mark.parametrize(
    ("after_the_question", "expected"),
    [
        ([], "interrupted"),
        ([CALLED, RESULT], "interrupted"),
        ([CALLED], "finished"),
        ([CALLED, SHOWN], "finished"),
        ([said()], "finished"),
        ([said(error={"code": "model_error", "message": "", "id": "x"})], "failed"),
        ([said(ended={"reason": "stopped"})], "stopped"),
        ([said(ended={"reason": "limit", "limit": "max_run_seconds", "value": 1})], "stopped"),
        ([said(ended={"reason": "limit", "limit": "max_steps", "value": 1})], "finished"),
    ],
)
async def test_a_lost_runs_thread_tells_how_it_ended(
    after_the_question: list[AnyMessage], expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.db"
    async with backend(path, ScriptedModel.of()) as before:
        await before.checkpoints.add(key_of(), [HumanMessage("Hi", id="h"), *after_the_question])
        await before.store.begin_run(key_of(), "run", "Hi")
        async with after_crash(path, ScriptedModel.of(HELLO)) as after:
            assert await state(after) == expected
            if expected == "interrupted":
                await after.turn(CONTINUE)
                assert (await after.messages())[-1].text == "Hello."
                assert await state(after) == "finished"
