"""LangGraph SDK: the stream of a thread, with all runs that begin while somebody reads."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoint import Pause, Say, StrictEndpoint, reply, text_reply
from tests.support.langgraph_reader import named_frames
from tests.support.serving import Client, endpoint_settings, serving
from tests.support.waiting import WAIT_SECONDS
from turnstream.server.runs.runs import Runs
from turnstream.server.storage.interfaces import StorageUnavailable

PATH = "/langgraph/threads/t1"


def asked(words: str) -> dict[str, Any]:
    said = {"type": "human", "content": words}
    return {"assistant_id": "chat", "input": {"messages": [said]}}


@asynccontextmanager
async def reading(client: Client, cursor: str = "", **query: str) -> AsyncIterator[Any]:
    """Read the stream of the thread: its events, one by one."""
    headers = {"Last-Event-ID": cursor} if cursor else {}
    stream = client.http.stream("GET", f"{PATH}/stream", params=query, headers=headers)
    async with asyncio.timeout(WAIT_SECONDS), stream as answer:
        assert answer.status_code == 200

        async def events() -> AsyncIterator[Any]:
            text = ""
            async for piece in answer.aiter_text():
                *whole, text = (text + piece).split("\n\n")
                for frame in whole:
                    for event in named_frames(f"{frame}\n\n".encode()):
                        yield event

        async with aclosing(events()) as told:  # type: ignore[type-var]
            yield told


async def until_done(told: Any) -> list[Any]:
    """The events up to the end of a run."""
    events = []
    async for event in told:
        events.append(event)
        if event.event == "metadata" and event.data.get("status") == "run_done":
            break
    return events


async def test_its_reader_gets_each_run_that_begins_and_goes_on_from_where_it_was(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(*[text_reply(words) for words in ("One.", "Two.", "Three.")])
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        await client.http.post(f"{PATH}/runs/wait", json=asked("1"))
        async with reading(client) as told:
            for words in ("Two.", "Three."):
                await client.http.post(f"{PATH}/runs/wait", json=asked(words))
                events = await until_done(told)
                last = [one for one in events if one.event == "values"][-1]
                assert last.data["messages"][-1]["content"] == words
                assert [one.event for one in events].count("end") == 0
        ids = [one.id for one in events if one.id]
        async with reading(client, ids[0]) as told:
            again = await until_done(told)
        assert [one.id for one in again if one.id] == ids[1:]


async def test_a_reader_that_comes_while_a_run_is_live_gets_no_earlier_one(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(text_reply("One."), text_reply("Two."), reply(pause, Say("Three.")))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        for words in ("1", "2"):
            await client.http.post(f"{PATH}/runs/wait", json=asked(words))
        live = (await client.http.post(f"{PATH}/runs", json=asked("3"))).json()["run_id"]
        async with reading(client, stream_mode="lifecycle") as told:
            first = await anext(told)
            pause.event.set()
            done = await until_done(told)
        assert {one.data["run_id"] for one in [first, *done]} == {live}


async def test_it_begins_with_all_runs_for_who_asks_and_says_that_a_place_is_lost(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."), text_reply("Two."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        for words in ("1", "2"):
            await client.http.post(f"{PATH}/runs/wait", json=asked(words))
        async with reading(client, "-1", stream_mode="state_update") as told:
            ends = [(await until_done(told))[-2].data["messages"][-1] for _ in range(2)]
        assert [one["content"] for one in ends] == ["One.", "Two."]
        async with reading(client, "gone:7") as told:
            (lost,) = [event async for event in told if event.event == "error"]
        assert lost.data["error"] == "cursor_lost"


async def test_it_goes_on_when_the_store_is_away_for_a_moment(
    tmp_path: Path, endpoint: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.script(text_reply("One."))
    away = asyncio.Event()

    async def check(_self: Runs) -> None:
        away.set()
        monkeypatch.undo()
        raise StorageUnavailable("storage_unreachable")

    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        await client.http.post("/langgraph/threads", json={"thread_id": "t1"})
        monkeypatch.setattr(Runs, "check", check)
        async with reading(client, stream_mode="lifecycle") as told:
            await away.wait()
            await client.http.post(f"{PATH}/runs", json=asked("1"))
            events = await until_done(told)
        assert {one.event for one in events} == {"metadata"}


@pytest.mark.parametrize(
    ("mode", "names"), [("lifecycle", {"metadata"}), ("state_update", {"metadata", "values"})]
)
async def test_a_reader_may_ask_for_less(
    mode: str, names: set[str], tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(text_reply("One."))
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        await client.http.post("/langgraph/threads", json={"thread_id": "t1"})
        async with reading(client, stream_mode=mode) as told:
            await client.http.post(f"{PATH}/runs/wait", json=asked("1"))
            assert {one.event for one in await until_done(told)} == names


async def test_it_ends_with_its_thread_and_says_what_cannot_be_read(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client:
        assert (await client.http.get(f"{PATH}/stream")).status_code == 404
        await client.http.post("/langgraph/threads", json={"thread_id": "t1"})
        wrong = await client.http.get(f"{PATH}/stream", params={"stream_mode": "values"})
        assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_stream_mode")
        async with reading(client) as told:
            assert (await client.http.delete("/threads/t1")).status_code == 204
            assert [event async for event in told] == []
