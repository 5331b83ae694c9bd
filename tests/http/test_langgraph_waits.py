"""LangGraph SDK: who waits for the result of a run is kept connected, and counts as a reader."""

import asyncio
from pathlib import Path

import httpx

from tests.support.endpoint import Pause, Say, StrictEndpoint, reply
from tests.support.serving import endpoint_settings, serving

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
