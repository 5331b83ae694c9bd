"""Several graphs of one langgraph.json: listed, named by a body, and each thread belongs to one."""

import json
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import pytest
from langgraph_sdk import get_client

from tests.support.serving import Client, serving, settings, text_of
from turnstream.graphs.faults import GraphError

AGENT = """
from dataclasses import dataclass

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


@dataclass
class Context:
    tone: str = "plain"


class State(MessagesState):
    topic: str


def speak(state):
    return {"messages": [AIMessage("NAME %d" % len(state["messages"]))]}


graph = StateGraph(State, context_schema=Context)
graph.add_node("speak", speak)
graph.add_edge(START, "speak")
"""
NAMES = ("writer", "planner", "critic")


@asynccontextmanager
async def served(
    folder: Path, *names: str, default: str = "", allowed: Sequence[str] = ()
) -> AsyncIterator[Client]:
    """A project of these graphs, each of which says its name and how many messages came before."""
    graphs: dict[str, Any] = {}
    for name in names:
        (folder / f"several_{name}.py").write_text(AGENT.replace("NAME", name))
        graphs[name] = f"./several_{name}.py:graph"
    graphs[names[-1]] = {"path": graphs[names[-1]], "description": "The last one."}
    file = folder / "langgraph.json"
    file.write_text(json.dumps({"graphs": graphs}))
    setting = f"{file}#{default}" if default else str(file)
    given = settings(folder / "t.db", graph=setting, client_context=tuple(allowed))
    async with serving(given) as client:
        yield client


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with served(tmp_path, *NAMES) as client:
        yield client


async def said(client: Client, **body: Any) -> tuple[str, str]:
    """The thread's id, and what the graph said."""
    thread_id, events = await client.turn({"message": "Hello", **body})
    return thread_id, text_of(events)


async def problem(client: Client, **body: Any) -> tuple[int, str, str]:
    answer = await client.http.post("/chat", json={"message": "Hello", **body})
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"], answer.json()["detail"]


async def test_one_graph_that_cannot_be_served_does_not_stop_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "broken_one.py").write_text("import os\nos.environ['NO_SUCH_KEY']")
    (tmp_path / "sound_one.py").write_text(AGENT.replace("NAME", "sound"))
    graphs = {
        "broken": "./broken_one.py:graph",
        "gone": "./nowhere.py:graph",
        "sound": "./sound_one.py:graph",
    }
    (tmp_path / "langgraph.json").write_text(json.dumps({"graphs": graphs}))
    given = settings(tmp_path / "t.db", graph=str(tmp_path / "langgraph.json"))
    async with serving(given) as client:
        answer = (await client.http.get("/graphs")).json()
        assert [(one["name"], one["default"]) for one in answer["graphs"]] == [("sound", True)]
        reasons = {one["name"]: one["reason"] for one in answer["not_served"]}
        assert "KeyError: 'NO_SUCH_KEY' (broken_one.py, line 2)" in reasons["broken"]
        assert "there is no file" in reasons["gone"]
        logged = [one.args for one in caplog.records if "is not served" in one.msg]
        assert {"name": "broken", "error": reasons["broken"]} in logged
        assert (await said(client))[1] == "sound 1"
        assert (await problem(client, graph="broken"))[:2] == (409, "graph_not_served")
    by_proxy = {"auth": ("header",), "trusted_proxies": ("127.0.0.1",)}
    async with serving(settings(tmp_path / "t.db", graph=given.graph, **by_proxy)) as client:
        shown = await client.http.get("/graphs", headers={"X-Forwarded-User": "ann"})
        assert [one["name"] for one in shown.json()["not_served"]] == ["gone", "broken"]
        assert "NO_SUCH_KEY" not in shown.text
    with pytest.raises(GraphError, match="NO_SUCH_KEY"):
        async with serving(given.model_copy(update={"graph": f"{given.graph}#broken"})):
            pass


async def listed_graphs(client: Client) -> list[dict[str, Any]]:
    answer = await client.http.get("/graphs")
    assert answer.status_code == 200
    graphs: list[dict[str, Any]] = answer.json()["graphs"]
    return graphs


async def test_the_list_says_what_a_client_may_choose_and_set(tmp_path: Path) -> None:
    takes = {"context": ["tone"], "configurable": ["tone", "topic"], "input": ["topic"]}
    async with served(tmp_path, "writer", "planner", allowed=["topic", "tone"]) as client:
        assert await listed_graphs(client) == [
            {"name": "writer", "default": True, **takes, "client_tools": False},
            {
                "name": "planner",
                "description": "The last one.",
                "default": False,
                **takes,
                "client_tools": False,
            },
        ]


async def test_the_built_in_graph_is_a_list_of_one(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        assert await listed_graphs(client) == [
            {
                "name": "chat",
                "default": True,
                "context": [],
                "configurable": [],
                "input": [],
                "client_tools": True,
            }
        ]
        thread_id, _ = await client.turn({"message": "Hello", "graph": "chat"})
        assert "graph" not in await client.thread(thread_id)


PARTS = [{"type": "text", "text": "Hello"}]
MESSAGE = {"role": "user", "parts": PARTS}
BODIES: list[dict[str, Any]] = [
    {"message": "Hello"},
    {"id": "t1", "trigger": "submit-message", "messages": [{"id": "u1", **MESSAGE}]},
    {"commands": [{"type": "add-message", "message": MESSAGE}]},
]


PATH = "/langgraph/threads"


async def made(client: Client, **body: Any) -> dict[str, Any]:
    answer = await client.http.post(PATH, json=body)
    assert answer.status_code == 200, answer.text
    thread: dict[str, Any] = answer.json()
    return thread


async def found(client: Client, **metadata: str) -> list[str]:
    answer = await client.http.post(f"{PATH}/search", json={"metadata": metadata})
    return [one["thread_id"] for one in answer.json()]


RUNS: list[tuple[str, dict[str, Any]]] = [
    ("/chat", {"thread_id": "t1", "message": "Hello", "graph": "critic"}),
    ("/chat", {**BODIES[1], "graph": "critic"}),
    ("/chat", {**BODIES[2], "threadId": "t1", "graph": "critic"}),
    (
        "/ag-ui/critic",
        {"threadId": "t1", "messages": [{"id": "u1", "role": "user", "content": "Hi"}]},
    ),
    (
        f"{PATH}/t1/runs/stream",
        {"assistant_id": "critic", "input": {"messages": [{"type": "human", "content": "Hi"}]}},
    ),
]


@pytest.mark.parametrize("body", BODIES, ids=["native", "AI SDK", "assistant-transport"])
async def test_any_body_chooses_a_graph(body: dict[str, Any], client: Client) -> None:
    thread_id, _ = await client.turn({**body, "graph": "planner"})
    thread = await client.thread(thread_id)
    assert thread["graph"] == "planner"
    assert thread["messages"][-1]["parts"][-1]["text"] == "planner 1"


async def test_the_address_of_ag_ui_may_name_the_graph(client: Client) -> None:
    posted = {"threadId": "t1", "messages": [{"id": "u1", "role": "user", "content": "Hello"}]}
    answer = await client.http.post("/ag-ui/critic", json=posted)
    assert answer.status_code == 200, answer.text
    assert (await client.thread("t1"))["graph"] == "critic"
    answer = await client.http.post("/ag-ui/writer", json=posted)
    assert (answer.status_code, answer.json()["code"]) == (409, "graph_mismatch")


async def test_without_a_name_the_first_takes_a_new_thread(client: Client) -> None:
    thread_id, words = await said(client)
    assert words == "writer 1"
    assert (await client.thread(thread_id))["graph"] == "writer"


async def test_the_one_behind_the_hash_is_the_default_beside_the_others(tmp_path: Path) -> None:
    async with served(tmp_path, *NAMES, default="critic") as client:
        graphs = await listed_graphs(client)
        assert [graph["name"] for graph in graphs] == ["critic", "writer", "planner"]
        assert (await said(client))[1] == "critic 1"
        assert (await said(client, graph="writer"))[1] == "writer 1"


async def test_an_unknown_graph_is_refused_with_those_there_are(client: Client) -> None:
    expected = "There is no graph 'poet'; there are writer, planner, critic."
    assert await problem(client, graph="poet") == (422, "unknown_graph", expected)
    assert (await problem(client, graph=5))[:2] == (422, "invalid_body")
    assert (await client.http.get("/threads")).json()["threads"] == []


@pytest.mark.parametrize(
    ("path", "body"), RUNS, ids=["native", "AI SDK", "assistant-transport", "AG-UI", "LangGraph"]
)
async def test_no_body_that_names_an_unknown_graph_runs_another(
    path: str, body: dict[str, Any], client: Client
) -> None:
    wrong = json.loads(json.dumps(body).replace("critic", "critik"))
    answer = await client.http.post(path.replace("critic", "critik"), json=wrong)
    expected = (404, "assistant_not_found") if "langgraph" in path else (422, "unknown_graph")
    assert (answer.status_code, answer.json()["code"]) == expected
    assert "writer, planner, critic" in answer.json()["detail"]
    assert (await client.http.get("/threads")).json()["threads"] == []


LANGGRAPH_ID = str(uuid5(UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8"), "planner"))


async def test_an_assistant_is_found_by_the_id_that_langgraph_derives_from_its_graph(
    client: Client,
) -> None:
    found_one = await client.http.get(f"/langgraph/assistants/{LANGGRAPH_ID}")
    assert found_one.json()["graph_id"] == "planner"
    thread = await made(client, thread_id="t1", metadata={"graph_id": LANGGRAPH_ID})
    assert thread["metadata"]["graph_id"] == "planner"
    body = {**RUNS[-1][1], "assistant_id": LANGGRAPH_ID}
    assert (await client.http.post(f"{PATH}/t2/runs", json=body)).status_code == 200
    assert (await client.thread("t2"))["graph"] == "planner"
    assert await found(client, assistant_id=LANGGRAPH_ID) == ["t2", "t1"]


async def test_an_assistant_that_there_is_not_is_a_404_wherever_it_is_named(
    client: Client,
) -> None:
    body = {**RUNS[-1][1], "assistant_id": "stress_tset"}
    answers = [
        await client.http.post(f"{PATH}/t1/runs", json=body),
        await client.http.post(f"{PATH}/t1/runs/stream", json=body),
        await client.http.post(PATH, json={"metadata": {"graph_id": "stress_tset"}}),
        await client.http.get("/langgraph/assistants/stress_tset"),
        await client.http.get(f"/langgraph/assistants/{LANGGRAPH_ID[:-1]}0"),
    ]
    codes = [(answer.status_code, answer.json()["code"]) for answer in answers]
    assert codes == [(404, "assistant_not_found")] * 5
    await made(client, thread_id="t1")
    await said(client, thread_id="t1")
    assert await found(client, graph_id="stress_tset") == []


async def test_a_thread_goes_on_with_its_own_graph(client: Client) -> None:
    thread_id, _ = await said(client, graph="critic")
    assert (await said(client, thread_id=thread_id))[1] == "critic 3"
    assert (await said(client, thread_id=thread_id, graph="critic"))[1] == "critic 5"
    _, events = await client.turn({"thread_id": thread_id, "regenerate": True})
    assert text_of(events) == "critic 5"


async def test_another_graph_than_the_threads_own_is_refused_with_both_names(
    client: Client,
) -> None:
    thread_id, _ = await said(client, graph="critic")
    before = await client.thread(thread_id)
    status, code, detail = await problem(client, thread_id=thread_id, graph="planner")
    assert (status, code) == (409, "graph_mismatch")
    assert "belongs to the graph 'critic', the request names 'planner'" in detail
    assert await client.thread(thread_id) == before


async def test_a_thread_that_a_client_named_itself_is_new_until_it_has_run(client: Client) -> None:
    assert (await said(client, thread_id="mine", graph="critic"))[1] == "critic 1"
    assert (await problem(client, thread_id="mine", graph="writer"))[1] == "graph_mismatch"


@pytest.mark.parametrize("metadata", [{}, {"graph_id": "planner"}])
@pytest.mark.parametrize(
    ("path", "body"), RUNS, ids=["native", "AI SDK", "assistant-transport", "AG-UI", "LangGraph"]
)
async def test_the_first_run_of_a_thread_chooses_its_graph_whatever_it_was_made_for(
    path: str, body: dict[str, Any], metadata: dict[str, str], client: Client
) -> None:
    await made(client, thread_id="t1", metadata=metadata)
    answer = await client.http.post(path, json=body)
    assert answer.status_code == 200, answer.text
    assert (await client.thread("t1"))["graph"] == "critic"
    got = (await client.http.get(f"{PATH}/t1")).json()["metadata"]
    assert (got["graph_id"], got["assistant_id"]) == ("critic", "critic")
    assert (await problem(client, thread_id="t1", graph="planner"))[1] == "graph_mismatch"


async def test_a_client_of_langgraph_runs_any_graph_on_a_thread_that_it_has_made(
    client: Client,
) -> None:
    async with get_client(url=f"{client.url}/langgraph", api_key=None) as sdk:
        said_hi: Any = {"messages": [{"type": "human", "content": "Hi"}]}
        for name in NAMES:
            thread = await sdk.threads.create(graph_id=name)
            assert (thread["metadata"] or {})["graph_id"] == name
            values: Any = [
                part.data
                async for part in sdk.runs.stream(
                    thread["thread_id"],
                    name,
                    input=said_hi,
                    stream_mode="values",
                )
                if part.event == "values"
            ][-1]
            assert values["messages"][-1]["content"] == f"{name} 1"


async def test_a_thread_keeps_the_graph_that_it_was_made_for(client: Client) -> None:
    thread = await made(client, thread_id="t1", metadata={"graph_id": "planner"})
    assert thread["metadata"]["graph_id"] == "planner"
    other = {"graph_id": "critic"}
    same = await made(client, thread_id="t1", if_exists="do_nothing", metadata=other)
    assert same["metadata"] == thread["metadata"]
    assert (await client.thread("t1"))["graph"] == "planner"
    assert await found(client, graph_id="planner") == ["t1"]
    assert (await said(client, thread_id="t1"))[1] == "planner 1"


async def test_a_thread_that_was_made_for_no_graph_has_none_until_it_runs(client: Client) -> None:
    thread = await made(client, thread_id="t1")
    assert thread["metadata"] == {}
    assert "graph" not in await client.thread("t1")
    assert "graph" not in (await client.http.get("/threads")).json()["threads"][0]
    assert await found(client) == ["t1"]
    assert await found(client, graph_id="writer") == []
    assert (await client.http.get(f"{PATH}/t1/state")).json()["values"] == {"messages": []}
    assert (await said(client, thread_id="t1"))[1] == "writer 1"
    assert await found(client, graph_id="writer") == ["t1"]


async def test_a_thread_made_for_a_graph_that_is_gone_begins_on_another(tmp_path: Path) -> None:
    async with served(tmp_path, *NAMES) as client:
        await made(client, thread_id="t1", metadata={"graph_id": "critic"})
    async with served(tmp_path, "writer", "planner") as client:
        assert (await said(client, thread_id="t1"))[1] == "writer 1"


async def test_a_thread_of_no_graph_is_narrowed_to_the_tools_of_any(tmp_path: Path) -> None:
    tool = "@tool\ndef search(query: str) -> str:\n    'Search.'\n    return query\n"
    imports = "from langchain_core.tools import tool\nfrom langgraph.prebuilt import ToolNode\n"
    node = "graph.add_node('tools', ToolNode([search]))\n"
    (tmp_path / "with_tool.py").write_text(AGENT.replace("NAME", "finder") + imports + tool + node)
    (tmp_path / "without.py").write_text(AGENT.replace("NAME", "writer"))
    graphs = {"writer": "./without.py:graph", "finder": "./with_tool.py:graph"}
    file = tmp_path / "langgraph.json"
    file.write_text(json.dumps({"graphs": graphs}))
    async with serving(settings(tmp_path / "t.db", graph=str(file))) as client:
        await made(client, thread_id="t1")
        narrow = {"allowed_tools": ["search"]}
        assert (await client.http.patch("/threads/t1", json=narrow)).status_code == 200
        assert (await said(client, thread_id="t1"))[1] == "writer 1"
        assert (await client.http.patch("/threads/t1", json=narrow)).status_code == 422


async def test_the_list_of_threads_names_their_graphs(client: Client) -> None:
    for graph in NAMES:
        await said(client, graph=graph)
    threads = (await client.http.get("/threads")).json()["threads"]
    assert [thread["graph"] for thread in threads] == [*reversed(NAMES)]


async def test_a_thread_keeps_its_graph_when_the_default_changes(tmp_path: Path) -> None:
    async with served(tmp_path, *NAMES) as client:
        thread_id, _ = await said(client)
    async with served(tmp_path, *NAMES, default="critic") as client:
        assert (await said(client, thread_id=thread_id))[1] == "writer 3"


async def test_a_thread_of_a_graph_that_is_gone_is_shown_and_deleted_but_takes_nothing(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, *NAMES) as client:
        thread_id, _ = await said(client, graph="critic")
        before = await client.thread(thread_id)
    async with served(tmp_path, "writer", "planner") as client:
        assert await client.thread(thread_id) == before
        for named in ({}, {"graph": "writer"}):
            status, code, detail = await problem(client, thread_id=thread_id, **named)
            assert (status, code) == (409, "graph_not_served")
            assert "belongs to the graph 'critic'" in detail
            assert "there are writer, planner." in detail
        assert (await client.http.delete(f"/threads/{thread_id}")).status_code == 204
        assert (await said(client, thread_id=thread_id))[1] == "writer 1"


async def test_a_single_graph_has_the_threads_of_every_other(tmp_path: Path) -> None:
    async with served(tmp_path, *NAMES) as client:
        thread_id, _ = await said(client, graph="critic")
    async with served(tmp_path, "writer") as client:
        assert (await said(client, thread_id=thread_id))[1] == "writer 3"
        assert "graph" not in await client.thread(thread_id)


async def test_threads_of_a_version_without_graphs_belong_to_the_default(tmp_path: Path) -> None:
    async with served(tmp_path, *NAMES) as client:
        thread_id, _ = await said(client, graph="critic")
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.execute("ALTER TABLE threads DROP COLUMN graph")
        connection.commit()
    async with served(tmp_path, *NAMES) as client:
        assert (await client.thread(thread_id))["graph"] == "writer"
        assert (await problem(client, thread_id=thread_id, graph="critic"))[1] == "graph_mismatch"
        assert (await said(client, thread_id=thread_id))[1] == "writer 3"


async def test_each_graph_says_what_may_be_set_of_it(tmp_path: Path) -> None:
    async with served(tmp_path, *NAMES, allowed=["topic"]) as client:
        refused = await problem(client, graph="critic", context={"tone": "kind"})
        assert refused[:2] == (422, "value_not_allowed")
        assert (await said(client, graph="critic", input={"topic": "tides"}))[1] == "critic 1"


KEPT = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph
from typing import TypedDict
from turnstream.graphs.state import ChatState


class Plain(TypedDict):
    messages: list


def speak(state):
    if state["messages"][-1].text == "Fail":
        raise RuntimeError
    return {"messages": [AIMessage("Kept.")]}


def graph_of(state):
    graph = StateGraph(state)
    graph.add_node("speak", speak)
    graph.add_edge(START, "speak")
    return graph


plain, kept = graph_of(Plain), graph_of(ChatState)
"""


async def test_a_thread_is_read_by_its_own_graph(tmp_path: Path) -> None:
    """The default could not: it keeps messages in another way."""
    file = tmp_path / "langgraph.json"
    (tmp_path / "keeping_agents.py").write_text(KEPT)
    graphs = {name: f"./keeping_agents.py:{name}" for name in ("plain", "kept")}
    file.write_text(json.dumps({"graphs": graphs}))
    given = settings(tmp_path / "t.db", graph=str(file))
    async with serving(given) as client:
        thread_id, _ = await client.turn({"message": "First", "graph": "kept"})
        shown = (await client.thread(thread_id))["messages"]
        assert [message["role"] for message in shown] == ["user", "assistant"]
        state, new = {"thread_id": thread_id}, BODIES[2]["commands"]
        for commands in (new[:0], new):
            answer = await client.http.post("/chat", json={"commands": commands, "state": state})
            assert '"First"' in answer.text
        await client.turn({"thread_id": thread_id, "message": "Fail"})
        assert (await client.thread(thread_id))["run_state"] == "failed"
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.execute("UPDATE threads SET run_state = 'live'")
        connection.commit()
    async with serving(given) as client:
        assert (await client.thread(thread_id))["run_state"] == "failed"
