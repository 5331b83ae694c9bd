"""TURNSTREAM_CLIENT_STATE over HTTP: what is refused at the start, and what every reader gets."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.graphs.zoo.todos import SECRET
from tests.support.langgraph_reader import named_frames
from tests.support.serving import Client, parse_events, serving, settings
from turnstream.graphs.faults import GraphError

AGENT = """
from tests.graphs.zoo.model import ReplyingModel
from tests.graphs.zoo.todos import asking_agent, note_both, todo_agent


def make():
    return todo_agent(ReplyingModel(replies=note_both))


def asks():
    return asking_agent(ReplyingModel(replies=lambda *_: "Noted."))
"""
MILK, EGGS = {"text": "milk", "done": False}, {"text": "eggs", "done": False}
PLAN = {"title": "Milk", "steps": ["note", "say"]}
STATE = {"todos": [MILK, EGGS], "plan": PLAN}
PROMPT = {"message": "Milk"}


def agent(folder: Path) -> Path:
    file = folder / "chat.py"
    file.write_text(AGENT)
    return file


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    given = settings(
        tmp_path / "t.db", graph=f"{agent(tmp_path)}:make", client_state=("todos", "plan")
    )
    async with serving(given) as client:
        yield client


async def test_a_stream_of_parts_has_the_state_as_data_and_the_thread_has_its_values(
    client: Client,
) -> None:
    thread_id, events = await client.turn(PROMPT)
    told = [item["data"] for e in events if e.type == "data" for item in e.data["data"]]
    assert told == [
        {"values": {"todos": []}, "whole": True},
        {"values": {"plan": PLAN}},
        {"values": {"todos": [MILK, EGGS]}},
    ]
    thread = await client.http.get(f"/threads/{thread_id}")
    assert thread.json()["state"] == STATE
    assert SECRET not in thread.text
    assert "secrets" not in thread.text
    assert (await client.http.get("/export")).json()["state"] == STATE


async def test_the_ai_sdks_stream_has_it_whole_each_time_and_in_no_message(client: Client) -> None:
    messages = [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Milk"}]}]
    body = {"id": "t1", "trigger": "submit-message", "messages": messages}
    _, events = await client.turn(body)
    told: list[dict[str, Any]] = [event.data for event in events if event.type == "data-state"]
    assert all(part["transient"] for part in told)
    assert [part["data"] for part in told] == [{"todos": []}, {"todos": [], "plan": PLAN}, STATE]
    thread = await client.thread("t1", protocol="ui-message-stream")
    assert thread["state"] == STATE
    assert "data-state" not in str(thread["messages"])


async def test_a_state_that_comes_back_is_brought_up_to_date_also_if_no_run_is_live(
    client: Client,
) -> None:
    thread_id, _ = await client.turn(PROMPT)
    stale = {"thread_id": thread_id, "messages": [], "state": {"todos": []}, "mine": 1}
    for state, expected in ((stale, True), ({**stale, "state": STATE}, False)):
        answer = await client.http.post("/chat", json={"commands": [], "state": state})
        operations = [
            operation
            for event in parse_events(answer.content)
            if event.type == "update-state"
            for operation in event.data["operations"]
        ]
        told = [op for op in operations if op["path"] == ["state"]]
        assert told == ([{"type": "set", "path": ["state"], "value": STATE}] if expected else [])


async def test_ag_ui_has_it_as_a_snapshot_and_what_has_changed_as_json_patches(
    client: Client,
) -> None:
    messages = [{"id": "u1", "role": "user", "content": "Milk"}]
    rest: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    body = {"threadId": "t1", "runId": "r1", "messages": messages, **rest}
    answer = await client.http.post("/ag-ui", json=body)
    told = [event.data for event in parse_events(answer.content) if "STATE" in event.type]
    assert told == [
        {"type": "STATE_SNAPSHOT", "snapshot": {"todos": []}},
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/plan", "value": PLAN}]},
        {
            "type": "STATE_DELTA",
            "delta": [{"op": "add", "path": "/todos", "value": [MILK, EGGS]}],
        },
    ]


async def test_langgraphs_values_have_it_by_name_as_it_changes_and_so_has_the_newest_state(
    client: Client,
) -> None:
    body = {"assistant_id": "chat", "input": {"messages": [{"type": "human", "content": "Milk"}]}}
    path = "/langgraph/threads/t1"
    answer = await client.http.post(f"{path}/runs/stream", json={**body, "stream_mode": ["values"]})
    values = [f.data for f in named_frames(answer.content) if f.event == "values"]
    told = [{key: item for key, item in one.items() if key != "messages"} for one in values]
    planned = {"todos": [], "plan": PLAN}
    assert told == [{"todos": []}, planned, planned, STATE, STATE]
    newest = (await client.http.get(f"{path}/state")).json()
    assert newest["values"] == values[-1]
    assert (await client.http.get(path)).json()["values"] == values[-1]
    history = (await client.http.post(f"{path}/history", json={})).json()
    assert [one["values"].keys() - {"messages"} for one in history] == [
        {"todos", "plan"},
        *[set()] * len(values[-1]["messages"]),
    ]


async def test_without_the_setting_no_reader_hears_of_it(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db", graph=f"{agent(tmp_path)}:make")) as client:
        thread_id, events = await client.turn(PROMPT)
        assert [event for event in events if event.type == "data"] == []
        assert "state" not in await client.thread(thread_id)


async def test_of_several_graphs_each_shows_the_names_that_it_has(tmp_path: Path) -> None:
    agent(tmp_path)
    own = tmp_path / "plain.py"
    own.write_text(PLAIN)
    listed = tmp_path / "langgraph.json"
    listed.write_text('{"graphs": {"plain": "./plain.py:graph", "todos": "./chat.py:make"}}')
    given = settings(tmp_path / "t.db", graph=str(listed), client_state=("todos", "topic"))
    async with serving(given) as client:
        for graph, state in (("plain", {"topic": "tea"}), ("todos", {"todos": [MILK, EGGS]})):
            thread_id, _ = await client.turn({**PROMPT, "graph": graph})
            assert (await client.thread(thread_id))["state"] == state


PLAIN = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


class State(MessagesState):
    topic: str


def speak(state):
    return {"messages": [AIMessage("Tea.")], "topic": "tea"}


builder = StateGraph(State)
builder.add_node("speak", speak)
builder.add_edge(START, "speak")
graph = builder.compile()
"""


async def test_a_name_that_no_graph_has_is_one_line_at_the_start(tmp_path: Path) -> None:
    given = settings(
        tmp_path / "t.db", graph=f"{agent(tmp_path)}:make", client_state=("todo", "plan")
    )
    with pytest.raises(GraphError) as refused:
        async with serving(given):
            pass
    assert str(refused.value) == (
        "TURNSTREAM_CLIENT_STATE names 'todo', which no graph keeps in its state; beside the "
        "messages there is plan, secrets, todos."
    )


async def test_the_built_in_graph_has_nothing_to_name(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="beside the messages there is nothing"):
        async with serving(settings(tmp_path / "t.db", client_state=("todos",))):
            pass


def test_messages_cannot_be_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="TURNSTREAM_CLIENT_STATE: messages are shown as they are"):
        settings(tmp_path / "t.db", client_state=("messages",))


async def test_a_value_beyond_the_limit_is_hidden(tmp_path: Path) -> None:
    given: Any = {"client_state": ("todos", "plan"), "max_state_bytes": 50}
    served = settings(tmp_path / "t.db", graph=f"{agent(tmp_path)}:make", **given)
    async with serving(served) as client:
        thread_id, _ = await client.turn(PROMPT)
        state = (await client.thread(thread_id))["state"]
        assert state == {"todos": {"hidden": True}, "plan": PLAN}
