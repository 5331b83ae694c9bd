"""Charts from an earlier result over HTTP: stream, replay and thread show the same one."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoint import Body, Reply, StrictEndpoint, call_reply
from tests.support.run_chunks import (
    COMPONENT,
)
from tests.support.serving import Client, endpoint_settings, parse_events, serving
from tests.support.sse_frames import without_pings

CURVE = '{"logger":"inverter 3","start":"2024-06-01"}'


def offered(body: Body) -> Reply:
    """A model that does as it was offered: it draws the last result under its id."""
    said = json.loads(body["messages"][-1]["content"])
    args = {"component": said["draws"][0], "props": {"title": "T"}, "data_from": said["data_from"]}
    return call_reply((COMPONENT, json.dumps(args)), ids=("r1",))


@pytest.mark.parametrize("protocol", ["assistant-transport", "ui-message-stream"])
async def test_stream_replay_and_thread_have_the_same_filled_component(
    protocol: str, tmp_path: Path
) -> None:
    async with (
        StrictEndpoint() as endpoint,
        serving(endpoint_settings(tmp_path / "t.db", endpoint)) as client,
    ):
        endpoint.script(call_reply(("get_power_curve", CURVE)), offered)
        query = {"protocol": protocol}
        body = {"thread_id": "t1", "message": "Draw inverter 3 on 1 June"}
        async with client.chat(body, params=query) as stream:
            await stream.rest()
            live, run_id = without_pings(bytes(stream.raw)), stream.run_id
        replay = await client.http.get(
            "/chat/t1/stream", params={**query, "last_event_id": f"{run_id}:0"}
        )
        points = await curve(client)
        streamed = component(parse_events(live))
        assert streamed["props"]["x"] == points["x"]
        assert streamed["props"]["series"] == points["series"]
        assert streamed["props"]["title"] == "T"
        assert component(parse_events(replay.content)) == streamed
        assert endpoint.refused == []
        thread = await client.thread("t1", **query)
        part = thread["messages"][-1]["parts"][-1]
        assert part["output" if protocol == "ui-message-stream" else "result"] == streamed


async def curve(client: Client) -> dict[str, Any]:
    answer = await client.http.post("/tools/get_power_curve", json=json.loads(CURVE))
    points: dict[str, Any] = answer.json()["result"]
    assert len(points["x"]) == 96
    return points


def component(events: list[Any]) -> dict[str, Any]:
    """The result of a component in a stream of either format."""
    results = [
        event.data.get("result", event.data.get("output"))
        for event in events
        if event.type in ("result", "tool-output-available")
    ]
    found: dict[str, Any] = results[-1]
    assert found["component"] == "line_chart"
    return found
