"""LangGraph SDK: who waits for the result of a run is kept connected, and counts as a reader."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.endpoint import Pause, Say, StrictEndpoint, reply, text_reply
from tests.support.scripted_server import scripted_server
from tests.support.serving import endpoint_settings, serving
from tests.support.waiting import HeldMethod, eventually
from turnstream.server.http.state import AppState
from turnstream.server.runs.reader import RunReader
from turnstream.server.turns.header import LOCAL_OWNER, ThreadKey

HI = {"assistant_id": "chat", "input": {"messages": [{"type": "human", "content": "Hi"}]}}


async def test_line_breaks_come_until_the_result_is_there_and_no_more_may_wait_than_read(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(reply(Say("The tide "), pause, Say("is high.")))
    configured = endpoint_settings(
        tmp_path / "t.db", endpoint, ping_seconds=0.05, max_open_streams=1
    )
    async with (
        serving(configured) as server,
        httpx.AsyncClient(base_url=f"{server.url}/langgraph") as http,
        http.stream("POST", "/threads/t1/runs/wait", json=HI) as waiting,
    ):
        assert waiting.headers["content-type"] == "application/json"
        pieces = waiting.aiter_raw()
        assert [await anext(pieces) for _ in range(3)] == [b"\n"] * 3
        again = waiting.headers["location"]
        refused = await http.get(again)
        assert (refused.status_code, refused.json()["code"]) == (503, "limit_reached")
        pause.event.set()
        rest = b"".join([piece async for piece in pieces])
        result = await http.get(again)
        assert result.json() == httpx.Response(200, content=rest).json()
        assert result.json()["messages"][-1]["content"] == "The tide is high."


async def test_a_run_whose_result_somebody_waits_for_is_not_ended_as_unread(tmp_path: Path) -> None:
    pause = Pause(asyncio.Event())
    async with (
        scripted_server(tmp_path, reply(Say("The tide "), pause, Say("is high."))) as server,
        httpx.AsyncClient(base_url=f"{server.url}/langgraph") as http,
        http.stream("POST", "/threads/t1/runs/wait", json=HI) as waiting,
    ):
        pieces = waiting.aiter_raw()  # Without a name it would close the stream.
        assert await anext(pieces) == b"\n"
        await eventually(partial(is_read, server.http.state))
        pause.event.set()


async def is_read(state: AppState | None) -> bool:
    return bool((await (await live_log(state)).status()).readers == 1)


async def live_log(state: AppState | None) -> Any:
    """The log of the live run of the thread t1."""
    assert state is not None
    run = await state["reader"].live(ThreadKey(LOCAL_OWNER, "t1"))
    assert run is not None
    return run.log


async def test_the_thread_of_a_run_without_one_stays_until_the_result_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause = Pause(asyncio.Event())
    slow = reply(Say("The tide "), pause, Say("is high."))
    async with (
        scripted_server(tmp_path, slow, text_reply("Low.")) as server,
        httpx.AsyncClient(base_url=f"{server.url}/langgraph") as http,
    ):
        made = (await http.post("/runs", json=HI)).json()
        thread = f"/threads/{made['thread_id']}"
        making = HeldMethod(monkeypatch, RunReader, "progress", once=True)
        async with http.stream("GET", f"{thread}/runs/{made['run_id']}/join") as waiting:
            pieces = waiting.aiter_raw()
            assert await anext(pieces) == b"\n"
            pause.event.set()
            await making.reached.wait()
            other = await http.post("/runs/wait", json=HI)

            async def is_gone(path: str) -> bool:
                return (await http.get(path)).status_code == 404

            await eventually(partial(is_gone, f"/threads/{other.headers['x-thread-id']}"))
            making.through.set()
            result = httpx.Response(200, content=b"".join([piece async for piece in pieces])).json()
        assert [one["content"] for one in result["messages"]] == ["Hi", "The tide is high."]
        await eventually(partial(is_gone, thread))


async def test_a_live_run_whose_log_is_lost_has_no_result_before_its_end(tmp_path: Path) -> None:
    pause = Pause(asyncio.Event())
    async with (
        scripted_server(tmp_path, reply(Say("The tide "), pause, Say("is high."))) as server,
        httpx.AsyncClient(base_url=f"{server.url}/langgraph") as http,
        http.stream("POST", "/threads/t1/runs/wait", json=HI) as waiting,
    ):
        pieces = waiting.aiter_raw()
        assert await anext(pieces) == b"\n"
        await eventually(partial(is_read, server.http.state))
        (await live_log(server.http.state)).discard()
        told = httpx.Response(200, content=b"".join([piece async for piece in pieces])).json()
        again = waiting.headers["location"]
        assert told == (await http.get(again)).json()
        assert (told.keys(), told["__error__"]["error"]) == ({"__error__"}, "cursor_lost")
        pause.event.set()

        async def has_result() -> bool:
            return "messages" in (await http.get(again)).json()

        await eventually(has_result)
        assert (await http.get(again)).json()["messages"][-1]["content"] == "The tide is high."


async def test_what_a_body_says_of_an_earlier_thread_has_no_effect_on_a_run_without_one(
    tmp_path: Path,
) -> None:
    said = {"if_not_exists": "reject", "metadata": {"based_on": "msg_1"}, "thread_id": "t1"}
    async with (
        scripted_server(tmp_path, text_reply("High.")) as server,
        httpx.AsyncClient(base_url=f"{server.url}/langgraph") as http,
    ):
        answer = await http.post("/runs/wait", json={**HI, **said})
        assert [one["content"] for one in answer.json()["messages"]] == ["Hi", "High."]
        assert answer.headers["x-thread-id"] != "t1"
