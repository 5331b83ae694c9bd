"""Tools that a client brings along for a graph of one's own, in the format of each client."""

import asyncio
import json
from ast import literal_eval
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoint import Pause, Say, StrictEndpoint, call_reply, reply, text_reply
from tests.support.serving import endpoint_settings, serving
from turnstream.server.runs.runs import Runs
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.storage.sql_store import SqlStore

Json = dict[str, Any]
THREAD = "thread-1"
IGNORED = "x-turnstream-ignored"
SCHEMA = {"type": "object", "properties": {"of": {"type": "string"}}}
PICK = {"name": "pick_colour", "description": "The user picks.", "parameters": SCHEMA}
BY_NAME = {"pick_colour": {"description": "The user picks.", "parameters": SCHEMA}}
ANSWER = {"toolCallId": "call_1", "content": '"green"', "role": "tool", "id": "t1"}


def parts(id: str) -> Json:
    return {"id": id, "role": "user", "parts": [{"type": "text", "text": "Paint"}]}


def commands(*items: Json, **fields: Any) -> Json:
    return {"commands": [*items], "state": {"thread_id": THREAD, "messages": []}, **fields}


def run(*messages: Json, **fields: Any) -> Json:
    return {"assistant_id": "agent", "input": {"messages": [*messages], **fields}}


RUNS = f"/langgraph/threads/{THREAD}/runs/stream"
CALLED = {
    "type": "tool-pick_colour",
    "toolCallId": "call_1",
    "state": "output-available",
    "input": {"of": "tea"},
    "output": "green",
}
SAID: Json = {"id": "u1", "role": "user", "content": "Paint"}
FORMATS: dict[str, tuple[str, Json, Json]] = {
    "native": (
        "/chat",
        {"thread_id": THREAD, "message": "Paint", "client_tools": [PICK]},
        {"thread_id": THREAD, "tool_results": [{"tool_call_id": "call_1", "result": "green"}]},
    ),
    "assistant-transport": (
        "/chat",
        commands({"type": "add-message", "message": parts("u1")}, tools=BY_NAME),
        commands(
            {"type": "add-tool-result", "toolCallId": "call_1", "toolName": "pick_colour"}
            | {"result": "green", "isError": False},
            tools=BY_NAME,
        ),
    ),
    "AI SDK": (
        "/chat",
        {"id": THREAD, "messages": [parts("u1")], "tools": BY_NAME},
        {
            "id": THREAD,
            "messages": [parts("u1"), {"id": "u1.a", "role": "assistant", "parts": [CALLED]}],
            "tools": BY_NAME,
        },
    ),
    "AG-UI": (
        "/ag-ui",
        {"threadId": THREAD, "messages": [SAID], "tools": [PICK]},
        {"threadId": THREAD, "messages": [SAID, ANSWER], "tools": [PICK]},
    ),
    "LangGraph": (
        RUNS,
        run({"type": "human", "content": "Paint"}, tools=[{"type": "function", "function": PICK}]),
        run({"type": "tool", "tool_call_id": "call_1", "content": '"green"'}, tools=[PICK]),
    ),
}
formats = pytest.mark.parametrize(("path", "asks", "answers"), FORMATS.values(), ids=[*FORMATS])


def project(folder: Path, graph: str) -> Path:
    """A project of one graph, `agent`, a function of `tests.support.offered_tools`."""
    (folder / "agent.py").write_text(
        f"from tests.support.offered_tools import {graph} as agent\n", encoding="utf-8"
    )
    path = folder / "langgraph.json"
    path.write_text(json.dumps({"dependencies": ["."], "graphs": {"agent": "./agent.py:agent"}}))
    return path


@formats
async def test_each_client_offers_its_tools_to_an_agent_and_answers_their_calls(
    path: str, asks: Json, answers: Json, tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(("pick_colour", '{"of":"tea"}'), ids=("call_1",)), text_reply("Ah."))
    own = endpoint_settings(tmp_path / "t.db", endpoint, graph=str(project(tmp_path, "agent")))
    async with serving(own) as client:
        answer = await client.http.post(path, json=asks)
        assert answer.status_code == 200, answer.text
        assert "tools" not in answer.headers.get(IGNORED, "")
        assert [one["tool_name"] for one in (await client.thread(THREAD))["pending"]] == [
            "pick_colour"
        ]
        assert (await client.http.post(path, json=answers)).status_code == 200
        (part, text) = (await client.thread(THREAD))["messages"][-1]["parts"]
        assert (part["result"], text["text"]) == ("green", "Ah.")
    offered = [{one["function"]["name"] for one in asked["tools"]} for asked in endpoint.requests]
    assert offered == [{"weather", "pick_colour"}] * 2
    assert endpoint.requests[0]["tools"][-1]["function"] == PICK


@formats
async def test_a_ui_tool_of_the_graph_is_answered_by_each_client_that_brings_one_of_its_name(
    path: str, asks: Json, answers: Json, tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    endpoint.script(call_reply(("pick_colour", '{"of":"tea"}'), ids=("call_1",)), text_reply("Ah."))
    own = endpoint_settings(tmp_path / "t.db", endpoint, graph=str(project(tmp_path, "ui_agent")))
    async with serving(own) as client:
        answer = await client.http.post(path, json=asks)
        assert answer.status_code == 200, answer.text
        assert "tools.pick_colour" in answer.headers[IGNORED]
        assert [one["tool_name"] for one in (await client.thread(THREAD))["pending"]] == [
            "pick_colour"
        ]
        answer = await client.http.post(path, json=answers)
        assert answer.status_code == 200, answer.text
        (part, text) = (await client.thread(THREAD))["messages"][-1]["parts"]
        assert (part["disposition"], part["result"], text["text"]) == ("client", "green", "Ah.")
    described = [one["function"]["description"] for one in endpoint.requests[0]["tools"]]
    assert described == ["Tell the weather.", "Ask for a colour."]


async def test_a_message_that_waits_is_kept_also_if_the_store_cannot_say_what_takes_its_tools(
    tmp_path: Path, endpoint: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause = Pause(asyncio.Event())
    endpoint.script(reply(pause, Say("One.")), text_reply("Two."))
    start = Runs.start_or_queue

    async def then_fails(*given: Any) -> Any:
        run = await start(*given)
        broken.setattr(SqlStore, "get", unreachable)
        return run

    async def unreachable(*_: object) -> None:
        raise StorageUnavailable("storage_unreachable")

    own = endpoint_settings(tmp_path / "t.db", endpoint, graph=str(project(tmp_path, "bare")))
    later = {"Prefer": "respond-async"}
    async with serving(own) as client:
        body: Json = {"thread_id": THREAD, "message": "Hello"}
        assert (await client.http.post("/chat", json=body, headers=later)).status_code == 202
        with monkeypatch.context() as broken:
            broken.setattr(Runs, "start_or_queue", then_fails)
            body = {"threadId": THREAD, "messages": [{**SAID, "id": "u2"}], "tools": [PICK]}
            answer = await client.http.post("/ag-ui?on_busy=queue", json=body, headers=later)
        assert answer.status_code == 202, answer.text
        pause.event.set()


SHOWING = """
from typing import Any
from langgraph.graph import START, MessagesState, StateGraph

class State(MessagesState, total=False):
    tools: list[Any]

def chat(state):
    return {"messages": [("ai", repr(state.get("tools")))]}

agent = StateGraph(State).add_node("chat", chat).add_edge(START, "chat").compile()
"""


@pytest.mark.parametrize("may_set", [True, False])
async def test_an_input_of_langgraph_has_tools_or_a_value_of_that_name(
    may_set: bool, tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    (tmp_path / "showing.py").write_text(SHOWING)
    config = tmp_path / "langgraph.json"
    graphs = {"agent": "./showing.py:agent"}
    config.write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    allowed = ("tools",) if may_set else ()
    own = endpoint_settings(tmp_path / "t.db", endpoint, graph=str(config), client_context=allowed)
    said: Json = {"messages": [{"role": "user", "content": "Paint"}]}
    values: list[list[Any]] = [["search"], [{"name": "search", "k": 3}], [{"type": "web"}]]
    async with serving(own) as client:

        async def shown(**given: Any) -> Any:
            body = {"assistant_id": "agent", "input": given}
            answer = await client.http.post(RUNS.replace("/stream", "/wait"), json=body)
            if answer.status_code != 200:
                return answer.json()["code"]
            return literal_eval(answer.json()["messages"][-1]["content"])

        for value in values:
            assert await shown(**said, tools=value) == (value if may_set else "value_not_allowed")
        assert await shown(**said, tools=[PICK]) == [PICK]
        assert await shown(**said, tools=[]) == []
        assert await shown(tools=[PICK]) == ([PICK] if may_set else "value_not_allowed")


@formats
async def test_a_graph_without_a_place_for_them_is_served_and_says_so(
    path: str, asks: Json, answers: Json, tmp_path: Path, endpoint: StrictEndpoint
) -> None:
    del answers
    own = endpoint_settings(tmp_path / "t.db", endpoint, graph=str(project(tmp_path, "bare")))
    async with serving(own) as client:
        answer = await client.http.post(path, json=asks)
        if path == "/chat" and "client_tools" in asks:
            assert (answer.status_code, answer.json()["code"]) == (
                422,
                "client_tools_not_supported",
            )
            return
        assert answer.status_code == 200, answer.text
        assert "tools" in answer.headers[IGNORED].split(", ")
    assert [one["function"]["name"] for one in endpoint.requests[0]["tools"]] == ["weather"]
