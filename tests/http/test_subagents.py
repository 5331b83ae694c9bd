"""A subagent in every format: under its call, live and in the thread, as a setting says."""

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.ag_ui_reader import AgUiReader, by_owner
from tests.support.forked_server import forked_server
from tests.support.langgraph_reader import named_frames
from tests.support.protocol_readers import decoded_state, payloads
from tests.support.serving import Client, parse_events, serving, settings
from tests.support.sse_frames import without_pings
from tests.support.waiting import eventually, until

AGENT = """
from tests.graphs.zoo.model import ReplyingModel
from tests.graphs.zoo.subagents import agents_as_tools, edit


def graph():
    return agents_as_tools(ReplyingModel(replies=edit))
"""
SAID = ["Looking.", "I found facts of moss."]
Json = dict[str, Any]


async def served(folder: Path, **values: Any) -> AsyncIterator[Client]:
    file = folder / "agent_with_a_subagent.py"
    file.write_text(AGENT)
    async with serving(settings(folder / "t.db", graph=f"{file}:graph", **values)) as client:
        yield client


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async for client in served(tmp_path):
        yield client


def texts(parts: list[Json]) -> list[str]:
    return [part["text"] for part in parts if part["type"] == "text"]


async def test_native_streams_it_as_data_and_the_thread_has_it_in_the_call(client: Client) -> None:
    thread, events = await client.turn({"message": "moss"})
    items = [item for e in events if e.type == "data" for item in e.data["data"]]
    told = [item["data"] for item in items if item["name"] == "substep"]
    words = "".join(one["chunk"].get("textDelta", "") for one in told)
    assert words == 'Looking.{"topic":"moss"}I found facts of moss.'
    assert told[0]["chunk"]["agent"] == "researcher"
    loaded = await client.thread(thread)
    call = loaded["messages"][-1]["parts"][0]
    assert [text for step in call["messages"] for text in texts(step["parts"])] == SAID
    assert {step["agent"] for step in call["messages"]} == {"researcher"}
    assert {one["tool_call_id"] for one in told} == {call["toolCallId"]}
    export = json.loads((await client.http.get("/export")).text)
    assert export["messages"] == loaded["messages"]
    await client.http.delete(f"/threads/{thread}")


async def test_assistant_uis_state_has_its_messages_by_the_call(client: Client) -> None:
    message = {"role": "user", "parts": [{"type": "text", "text": "moss"}]}
    body = {"commands": [{"type": "add-message", "message": message}], "state": {}}
    answer = await client.http.post("/chat", json=body)
    said = [json.dumps(e.data) for e in parse_events(answer.content) if isinstance(e.data, dict)]
    state = decoded_state({}, said)
    call = state["messages"][1]["tool_calls"][0]
    told = [one for one in state["substeps"][call["id"]] if one["type"] == "ai"]
    assert [one["content"] for one in told] == SAID


async def test_the_ai_sdk_has_it_as_interim_outputs_which_the_tools_own_replaces(
    client: Client,
) -> None:
    said = [{"type": "text", "text": "moss"}]
    body = {"id": "t1", "messages": [{"id": "u1", "role": "user", "parts": said}]}
    answer = await client.http.post("/chat", json=body)
    events = [e.data for e in parse_events(answer.content) if isinstance(e.data, dict)]
    outputs = [event for event in events if event["type"] == "tool-output-available"]
    *interim, last = outputs
    assert all(one["preliminary"] for one in interim)
    assert "preliminary" not in last
    assert last["output"] == SAID[1]
    sizes = [len(json.dumps(one)) for one in interim]
    assert sizes == sorted(sizes)
    assert texts(interim[-1]["output"]["parts"])[0] == SAID[0]


async def test_langgraphs_sdk_has_it_under_its_namespace_if_it_asks(client: Client) -> None:
    body = {
        "assistant_id": "agent_with_a_subagent",
        "input": {"messages": [{"role": "user", "content": "moss"}]},
    }
    events = {}
    for asked in (True, False):
        sent = {**body, "stream_subgraphs": asked}
        answer = await client.http.post("/langgraph/runs/stream", json=sent)
        assert answer.status_code == 200, answer.text
        events[asked] = named_frames(answer.content)
    assert not [one for one in events[False] if "|" in one.event]
    told = [one for one in events[True] if one.event.startswith("messages|tools:")]
    chunks = [one.data[0] for one in told if one.data[0]["type"] == "AIMessageChunk"]
    words = "".join(str(chunk["content"]) for chunk in chunks)
    assert words == "".join(SAID)
    assert {one.data[1]["lc_agent_name"] for one in told if "lc_agent_name" in one.data[1]} == {
        "researcher"
    }
    updates = [one for one in events[True] if one.event.startswith("updates|tools:")]
    assert len(updates) == 3  # two messages and a result
    values = [one for one in events[True] if one.event.startswith("values|tools:")]
    assert [message["type"] for message in values[-1].data["messages"]] == ["ai", "tool", "ai"]


async def test_langgraphs_sdk_finds_its_messages_after_a_reload(client: Client) -> None:
    thread, _ = await client.turn({"message": "moss"})
    path = f"/langgraph/threads/{thread}"
    history = (await client.http.post(f"{path}/history", json={})).json()
    ((state, task),) = [(one, task) for one in history for task in one["tasks"]]
    (call,) = state["values"]["messages"][-1]["tool_calls"]
    assert (task["id"], task["name"], task["path"][:2]) == (
        call["id"],
        "tools",
        ["__pregel_push", 0],
    )
    assert [one["tool_call_id"] for one in task["result"]["messages"]] == [call["id"]]
    below = {"checkpoint": {"checkpoint_ns": f"tools:{call['id']}"}}
    (found,) = (await client.http.post(f"{path}/history", json=below)).json()
    told = [one for one in found["values"]["messages"] if one["type"] == "ai"]
    assert [one["content"] for one in told] == SAID
    assert (await client.http.post(f"{path}/state/checkpoint", json=below)).json() == found
    nobody = {"checkpoint": {"checkpoint_ns": "tools:none"}}
    assert (await client.http.post(f"{path}/history", json=nobody)).json() == []
    other = {"checkpoint": {"checkpoint_ns": "node:1"}}
    assert (await client.http.post(f"{path}/history", json=other)).status_code == 422
    answer = await client.http.post(f"{path}/state", json={**below, "values": {}})
    assert answer.json()["code"] == "unsupported_option"


async def test_langgraphs_sdk_finds_them_in_a_branch_that_the_thread_has_left(
    client: Client,
) -> None:
    thread, _ = await client.turn({"message": "moss"})
    asked = (await client.thread(thread))["messages"][0]["id"]
    await client.turn({"thread_id": thread, "edit": {"message_id": asked, "message": "oak"}})
    path = f"/langgraph/threads/{thread}/history"
    history = (await client.http.post(path, json={})).json()
    said = []
    for id in (task["id"] for state in history for task in state["tasks"]):
        below = {"checkpoint": {"checkpoint_ns": f"tools:{id}"}}
        (found,) = (await client.http.post(path, json=below)).json()
        said.append(found["values"]["messages"][-1]["content"])
    assert said == ["I found facts of oak.", SAID[1]]


@pytest.mark.parametrize("version", [None, "1.0"])
async def test_ag_ui_has_its_messages_apart_and_shows_the_call_alone_before_1_0(
    version: str | None, client: Client
) -> None:
    message = {"id": "u1", "role": "user", "content": "moss"}
    declared = {"protocolVersion": version} if version else {}
    body = {"threadId": "t1", "runId": "r1", "messages": [message], "tools": [], **declared}
    answer = await client.http.post("/ag-ui", json=body)
    said = payloads(without_pings(answer.content))
    reader = AgUiReader([message], version).read(said)
    assert reader.finished is not None
    assert reader.finished["runId"] == "r1"
    protocol = f"ag-ui-{version}" if version else "ag-ui"
    loaded = await client.thread("t1", protocol=protocol)
    assert by_owner(reader.messages) == by_owner(loaded["messages"])
    words = {
        owner: [m["content"] for m in messages if m["role"] == "assistant" and "content" in m]
        for owner, messages in by_owner(reader.messages).items()
    }
    (call,) = reader.messages[1]["toolCalls"]
    below = {f"{call['id']}/researcher": SAID} if version else {}
    assert words == {"": [f"Written: {SAID[1]}"], **below}
    assert loaded.get("subagents", []) == [*reader.subagents.values()]
    answer = await client.http.get(
        "/chat/t1/stream", headers={"Last-Event-ID": f"{answer.headers['x-run-id']}:0"}
    )
    again = payloads(without_pings(answer.content))
    assert AgUiReader(loaded["messages"], version).read(again).finished == reader.finished


HELD_AGENT = """
import asyncio
from pathlib import Path
from uuid import uuid4

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool


class Model(BaseChatModel):
    tool: str

    @property
    def _llm_type(self):
        return "held"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        asked = messages[-1]
        said = AIMessage("Looking.", tool_calls=[
            {"name": self.tool, "args": {"topic": topic}, "id": uuid4().hex}
            for topic in asked.text.split(" and ")
        ])
        if asked.type == "tool":
            said = AIMessage(f"I found {asked.text}")
        return ChatResult(generations=[ChatGeneration(message=said)])


@tool
async def look_up(topic: str) -> str:
    'Look something up.'
    while not (Path(__file__).parent / "go").exists():
        await asyncio.sleep(0.01)
    return f"facts of {topic}."


researcher = create_agent(Model(tool="look_up"), tools=[look_up], name="researcher")


@tool
async def research(topic: str) -> str:
    'Research a topic.'
    done = await researcher.ainvoke({"messages": [("user", topic)]})
    return done["messages"][-1].text


graph = create_agent(Model(tool="research"), tools=[research])
"""
LOADED = ("assistant-transport", "ui-message-stream", "ag-ui-1.0", "langgraph")


async def loaded(client: Client, thread: str) -> dict[str, str]:
    """A thread as each format has it. LangGraph's has subagents in states of their own."""
    found = {name: json.dumps(await client.thread(thread, protocol=name)) for name in LOADED}
    path = f"/langgraph/threads/{thread}/history"
    history = (await client.http.post(path, json={})).json()
    tasks = [task["id"] for one in history for task in one["tasks"] if task["name"] == "tools"]
    for id in tasks:
        below = {"checkpoint": {"checkpoint_ns": f"tools:{id}"}}
        found["langgraph"] += (await client.http.post(path, json=below)).text
    return found


def are_kept(database: Path) -> bool:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT body FROM substeps").fetchall()
    return sum("Looking." in body for (body,) in rows) == 2


async def test_what_two_subagents_said_before_kill_9_is_in_every_format_and_they_go_on(
    tmp_path: Path,
) -> None:
    agent, path = tmp_path / "held_agent.py", tmp_path / "t.db"
    agent.write_text(HELD_AGENT)
    graph = f"{agent}:graph"
    async with (
        forked_server(path, GRAPH=graph) as first,
        first.client.chat({"thread_id": "t1", "message": "moss and fern"}),
    ):
        await until(lambda: path.exists() and are_kept(path))
        first.kill()
        await first.exit_status()
    (tmp_path / "go").touch()
    async with forked_server(path, GRAPH=graph) as second:
        for name, shown in (await loaded(second.client, "t1")).items():
            # The AI SDK has these words as interim outputs, of calls at work alone.
            said = 1 if name == "ui-message-stream" else 3
            assert shown.count("Looking.") == said, name
        await second.client.turn({"thread_id": "t1", "continue": True})
        for name, shown in (await loaded(second.client, "t1")).items():
            assert all(f"I found facts of {topic}." in shown for topic in ("moss", "fern")), name


async def found(client: Client, words: str) -> list[str]:
    answer = await client.http.get("/threads", params={"q": words})
    return [thread["id"] for thread in answer.json()["threads"]]


async def test_a_thread_is_found_by_its_words_if_a_setting_says_so(tmp_path: Path) -> None:
    async for client in served(tmp_path, search_substeps=True):
        thread, _ = await client.turn({"message": "moss"})
        other, _ = await client.turn({"message": "fern"})
        assert await found(client, "looking") == [other, thread]
        assert await found(client, "looking moss") == [thread]
        await client.turn({"thread_id": thread, "message": "and then"})
        assert await found(client, "looking moss") == [thread]
        asked = (await client.thread(thread))["messages"][0]["id"]
        edit = {"message_id": asked, "message": "oak"}
        await client.turn({"thread_id": thread, "edit": edit})
        assert await found(client, "looking moss") == []
        assert await found(client, "looking oak") == [thread]


async def test_what_is_hidden_now_is_found_no_more(tmp_path: Path) -> None:
    async for client in served(tmp_path, search_substeps=True):
        thread, _ = await client.turn({"message": "moss"})
        assert await found(client, "looking") == [thread]
    async for client in served(tmp_path, search_substeps=True, substeps="hide"):
        assert await found(client, "looking") == []
        await eventually(partial(found, client, "facts moss"))
        assert await found(client, "looking") == []


async def test_else_a_thread_is_found_by_its_answer_alone(client: Client) -> None:
    thread, _ = await client.turn({"message": "moss"})
    assert await found(client, "looking") == []
    assert await found(client, "facts moss") == [thread]


async def test_a_search_for_what_is_hidden_or_not_indexed_is_said_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ValidationError, match="needs TURNSTREAM_SEARCH"):
        settings(tmp_path / "t.db", search=False, search_substeps=True)
    async for _ in served(tmp_path, search_substeps=True, substeps="hide"):
        assert "TURNSTREAM_SEARCH_SUBSTEPS has no effect" in caplog.text


@pytest.mark.parametrize("values", [{"substeps": "hide"}, {"undeclared_results": "hide"}])
async def test_it_is_hidden_by_its_setting_or_with_the_results(
    tmp_path: Path, values: dict[str, Any]
) -> None:
    async for client in served(tmp_path, **values):
        thread, events = await client.turn({"message": "moss"})
        assert not [e for e in events if "substep" in json.dumps(e.data)]
        assert "messages" not in (await client.thread(thread))["messages"][-1]["parts"][0]
