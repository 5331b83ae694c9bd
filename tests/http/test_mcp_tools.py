"""Tools of MCP servers in a served turn, and what is left of their processes."""

import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.test_chat_turns import results, said
from tests.support.child_processes import children_of, is_there
from tests.support.endpoint import StrictEndpoint, call_reply, text_reply
from tests.support.mcp_raw_server import tool
from tests.support.serving import (
    Client,
    endpoint_environment,
    endpoint_settings,
    process,
    serving,
)
from tests.support.waiting import eventually, until
from tests.tools.test_mcp import STDIO, file_of
from tests.tools.test_mcp_servers import raw_server
from turnstream.tools.mcp import servers


@pytest.fixture
async def client(tmp_path: Path, endpoint: StrictEndpoint) -> AsyncIterator[Client]:
    fields = {"tools": {"weather": {"client_fields": ["city"]}}}
    file = file_of(tmp_path, t={**STDIO, "turnstream": fields})
    async with serving(endpoint_settings(tmp_path / "t.db", endpoint, mcp=file)) as client:
        yield client


async def test_a_model_calls_a_tool_of_an_mcp_server_and_clients_see_what_is_declared(
    client: Client, endpoint: StrictEndpoint
) -> None:
    call = ("t_weather", '{"city": "Rome"}')
    endpoint.script(call_reply(call, ("t_boom", "{}")), text_reply("Sunny."))
    _, events = await client.turn({"message": "Go"})
    # They run side by side, and end in any order.
    weather, boom = sorted(results(events), key=lambda result: "error" in result)
    assert weather == {"city": "Rome"}
    assert boom["error"]["code"] == "tool_failed"
    assert said(events) == "Sunny."
    answers = [m["content"] for m in endpoint.requests[1]["messages"] if m["role"] == "tool"]
    assert json.loads(answers[0])["station"] == "private"
    assert "sk-123" not in json.dumps(endpoint.requests)


@pytest.mark.full
async def test_arguments_that_do_not_fit_never_reach_the_server(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(("t_add", '{"a": "one"}')), text_reply("Sorry."))
    _, events = await client.turn({"message": "Go"})
    assert results(events)[0]["error"]["code"] == "invalid_arguments"


@pytest.mark.full
async def test_a_destructive_tool_waits_for_a_person(
    client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(("t_erase", '{"name": "x"}'), ids=("c1",)), text_reply("Gone."))
    thread, events = await client.turn({"message": "Go"})
    assert events[-2].data["finishReason"] == "tool-calls"
    approval = {"tool_call_id": "c1", "approved": True}
    _, events = await client.turn({"thread_id": thread, "approvals": [approval]})
    assert said(events) == "Gone."


async def test_a_published_server_is_used_as_it_is(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    published = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}
    shown = {"tools": {"convert_time": {"client_fields": ["*"]}}}
    file = file_of(tmp_path, time={**published, "turnstream": shown})
    args = {"source_timezone": "Europe/Paris", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    endpoint.script(call_reply(("time_convert_time", json.dumps(args))), text_reply("At seven."))
    async with serving(endpoint_settings(tmp_path / "p.db", endpoint, mcp=file)) as client:
        _, events = await client.turn({"message": "Go"})
    assert "Asia/Tokyo" in json.dumps(results(events))
    assert said(events) == "At seven."


async def test_a_stop_cancels_the_call_on_the_server(
    tmp_path: Path, client: Client, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(("t_hang", json.dumps({"mark": str(tmp_path / "mark")}))))
    async with client.chat({"message": "Go"}) as stream:
        await until((tmp_path / "mark.began").exists)
        await client.http.post(f"/chat/{stream.thread_id}/stop", json={})
        await stream.rest()
    await until((tmp_path / "mark.cancelled").exists)


async def test_progress_of_a_call_reaches_the_client_with_words_where_they_are_declared(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    for fields, told in (
        ([], {"progress": 1.0, "total": 2.0}),
        (["progress_message"], {"progress": 1.0, "total": 2.0, "message": "half of it"}),
    ):
        options = {"tools": {"steps": {"client_fields": fields}}}
        file = file_of(tmp_path, t={**STDIO, "turnstream": options})
        endpoint.script(call_reply(("t_steps", '{"config": "it"}')), text_reply("Done."))
        async with serving(endpoint_settings(tmp_path / "p.db", endpoint, mcp=file)) as client:
            _, events = await client.turn({"message": "Go"})
        said_aside = [item for e in events if e.type == "data" for item in e.data["data"]]
        assert [a["data"]["data"] for a in said_aside if a["name"] == "tool-progress"] == [told]


async def test_an_approval_of_a_tool_that_has_vanished_can_only_be_declined(
    tmp_path: Path, endpoint: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "PAUSE_SECONDS", 0)
    file = file_of(tmp_path, t=STDIO)
    async with serving(endpoint_settings(tmp_path / "v.db", endpoint, mcp=file)) as client:
        endpoint.script(call_reply(("t_erase", '{"name": "x"}'), ids=("c1",)))
        thread, _ = await client.turn({"message": "Go"})
        await client.http.post("/tools/t_shrink", json={"name": "erase"})
        await eventually(lambda: is_gone(client, "t_erase"))

        def decided(approved: bool) -> dict[str, Any]:
            approval = {"tool_call_id": "c1", "approved": approved}
            return {"thread_id": thread, "approvals": [approval]}

        refused = await client.http.post("/chat", json=decided(True))
        assert (refused.status_code, refused.json()["code"]) == (409, "unknown_tool")
        endpoint.script(text_reply("Then not."))
        _, events = await client.turn(decided(False))
        assert said(events) == "Then not."
        assert "t_erase" not in [t["function"]["name"] for t in endpoint.requests[-1]["tools"]]


async def is_gone(client: Client, name: str) -> bool:
    listed = (await client.http.get("/tools")).json()["tools"]
    return name not in [tool["name"] for tool in listed]


async def test_a_model_calls_a_tool_that_came_while_the_server_ran(
    tmp_path: Path, endpoint: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "PAUSE_SECONDS", 0)
    options = {"tools": {"*": {"client_fields": ["*"]}}}
    file = file_of(tmp_path, t={**STDIO, "turnstream": options})
    async with serving(endpoint_settings(tmp_path / "n.db", endpoint, mcp=file)) as client:
        await client.http.post("/tools/t_grow", json={"name": "more"})

        async def is_there() -> bool:
            return not await is_gone(client, "t_more")

        await eventually(is_there)
        endpoint.script(call_reply(("t_more", '{"a": 1, "b": 2}')), text_reply("Three."))
        _, events = await client.turn({"message": "Go"})
        assert results(events) == [{"result": 3}]


async def test_five_hundred_tools_are_served_listed_and_called(
    tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    file = file_of(tmp_path, r=raw_server(tmp_path, [tool(f"tool{n}") for n in range(500)]))
    async with serving(endpoint_settings(tmp_path / "m.db", endpoint, mcp=file)) as client:
        listed = (await client.http.get("/tools")).json()["tools"]
        assert len([one for one in listed if one["name"].startswith("r_tool")]) == 500
        alone = await client.http.post("/tools/r_tool499", json={})
        assert alone.json()["result"] == {"hidden": True}
        # OpenAI's API takes 128 tools at most: a request, a thread or a policy chooses.
        endpoint.script(call_reply(("r_tool499", "{}")), text_reply("Done."))
        chosen = ["r_tool499", "calculator"]
        _, events = await client.turn({"message": "Go", "allowed_tools": chosen})
        assert results(events) == [{"hidden": True}]


@pytest.mark.full
async def test_the_tools_are_listed_and_can_be_called_alone(client: Client) -> None:
    tools = {tool["name"]: tool for tool in (await client.http.get("/tools")).json()["tools"]}
    assert tools["t_erase"]["approval"] == "always"
    assert tools["t_add"]["parameters"]["required"] == ["a", "b"]
    answer = await client.http.post("/tools/t_weather", json={"city": "Rome"})
    assert answer.json()["result"] == {"city": "Rome"}


@pytest.mark.parametrize(
    ("way", "is_deaf"),
    [
        pytest.param(signal.SIGTERM, True),
        pytest.param(signal.SIGKILL, False, marks=pytest.mark.full),
        pytest.param(signal.SIGTERM, False, marks=pytest.mark.full),
        pytest.param(signal.SIGKILL, True, marks=pytest.mark.full),
    ],
)
async def test_no_process_of_a_server_outlives_ours(
    tmp_path: Path, endpoint: StrictEndpoint, way: signal.Signals, is_deaf: bool
) -> None:
    server = raw_server(tmp_path, [tool("echo")], "deaf") if is_deaf else STDIO
    variables = {**endpoint_environment(endpoint), "MCP": str(file_of(tmp_path, t=server))}
    async with process(tmp_path / "t.db", **variables) as served:
        children = children_of(served.pid)
        assert len(children) == 1
        os.kill(served.pid, way)
        await served.exit_status()
        await until(lambda: not any(map(is_there, children)))
