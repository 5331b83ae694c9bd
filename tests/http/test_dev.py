"""`turnstream dev` tells the developer of a graph what it raised; no other server does, and it is
for this machine alone."""

import asyncio
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.support.environment import isolate
from tests.support.serving import process, serving, settings, text_of
from tests.support.waiting import WAIT_SECONDS
from turnstream.server.__main__ import main
from turnstream.server.runs.causes import TOLD as TOLD_CAUSES

AGENT = """
import os

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode


@tool
def search(query: str) -> dict:
    "Search."
    return {"found": query}


def look(given):
    return given["nokey"]


def speak(state):
    match state["messages"][-1]:
        case message if message.text == "Fail":
            look({})
        case message if message.text == "Leak":
            raise RuntimeError(os.environ["SOME_TOKEN"])
        case message if message.text == "Search":
            call = {"name": "search", "args": {"query": "q"}, "id": "c1"}
            return {"messages": [AIMessage("", tool_calls=[call])]}
    return {"messages": [AIMessage("First.")]}


def next_node(state):
    return "tools" if state["messages"][-1].tool_calls else "__end__"


builder = StateGraph(MessagesState).add_node("speak", speak).add_node("tools", ToolNode([search]))
builder.add_edge(START, "speak").add_conditional_edges("speak", next_node)
graph = builder.compile()
"""
FIXED = "Something went wrong on the server."
TOLD = f"{FIXED} KeyError: 'nokey' at dev_agent.py:17 in look, dev_agent.py:23 in speak"


@pytest.fixture
def graph(tmp_path: Path) -> str:
    (tmp_path / "dev_agent.py").write_text(AGENT)
    return f"{tmp_path / 'dev_agent.py'}:graph"


async def test_a_developer_is_told_what_a_node_raised_and_where(
    graph: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "a-secret-value")
    given = settings(tmp_path / "t.db", graph=graph)
    async with serving(given, is_development=True) as client:
        thread_id, events = await client.turn({"message": "Fail"})
        assert [event.data["error"] for event in events if event.type == "error"] == [TOLD]
        assert (await client.thread(thread_id))["messages"][-1]["error"]["message"] == TOLD
        assert TOLD.removeprefix(FIXED) in caplog.text
        _, events = await client.turn({"message": "Search"})
        assert {"found": "q"} in [event.data.get("result") for event in events[:-1]]
        _, events = await client.turn({"message": "Leak"})
        assert next(e for e in events if e.type == "error").data["error"].endswith("in speak")
        said = [record.getMessage() for record in caplog.records]
        assert "a-secret-value" not in str([*said, *events])
    TOLD_CAUSES.clear()  # As in another process.
    async with serving(given) as client:
        assert (await client.thread(thread_id))["messages"][-1]["error"]["message"] == FIXED


async def test_in_any_other_server_the_log_has_the_type_and_the_place_alone(
    graph: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(settings(tmp_path / "t.db", graph=graph)) as client:
        thread_id, events = await client.turn({"message": "Fail"})
        assert [event.data["error"] for event in events if event.type == "error"] == [FIXED]
        assert (await client.thread(thread_id))["messages"][-1]["error"]["message"] == FIXED
    said = [record.getMessage() for record in caplog.records if "failed, error" in record.message]
    assert len(said) == 1
    assert said[0].endswith(": KeyError at dev_agent.py:17 in look")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "https://a.example"}, 403),
        ({"X-Forwarded-For": "203.0.113.1"}, 403),
        ({"Forwarded": "for=203.0.113.1"}, 403),
        ({"CF-Connecting-IP": "203.0.113.1"}, 403),
        ({"Host": "a.example"}, 403),
    ],
)
async def test_a_server_of_a_developer_answers_nobody_who_comes_through_a_tunnel(
    headers: dict[str, str], status: int, tmp_path: Path
) -> None:
    async with serving(settings(tmp_path / "t.db"), is_development=True) as client:
        answer = await client.http.get("/threads", headers=headers)
        assert answer.status_code == status
        page = await client.http.get("/", headers=headers)
        assert page.status_code in (status, 200 if "Origin" in headers else status)


@pytest.mark.parametrize(
    "options",
    [("--host", "0.0.0.0", "--auth", "off"), ("--allowed-hosts", "a.example")],
)
def test_a_server_of_a_developer_is_refused_where_others_reach_it(
    options: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    isolate(monkeypatch, tmp_path)
    assert main(["dev", *options]) == 2
    assert "serves this machine alone" in capsys.readouterr().err


async def test_a_changed_file_is_served_and_the_threads_are_kept(
    graph: str, tmp_path: Path
) -> None:
    command = ("-P", "-m", "turnstream.server", "dev", graph, "--port", "0")
    async with process(tmp_path / "t.db", command, folder=tmp_path) as served:
        thread_id, events = await served.client.turn({"message": "Hello"})
        assert text_of(events) == "First."
        page = (await served.client.http.get("/")).text
        assert "js/main.js" in page  # The sources: a change of them is there at a reload.
        file = tmp_path / "dev_agent.py"
        file.write_text(AGENT.replace("First.", "Second."))
        async with asyncio.timeout(WAIT_SECONDS):
            while text_of(events) != "Second.":
                with suppress(httpx.TransportError):  # of a server that makes way
                    _, events = await served.client.turn({"message": "Hello"})
        thread = await served.client.thread(thread_id)
        assert thread["messages"][-1]["parts"][0]["text"] == "First."
        served.terminate()
        assert await served.exit_status() == 0


CALLING = """
import os

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


class State(MessagesState):
    api_key: str
    found: str


model = GenericFakeChatModel(messages=iter([AIMessage("Hello.")] * 9))


def speak(state):
    prompt = [("system", os.environ["SOME_TOKEN"]), *state["messages"]]
    said = model.bind(headers={"x": "header-value"}, api_key="bound-value").invoke(prompt)
    return {"messages": [said], "api_key": "a-key-of-the-state", "found": "yes"}


graph = StateGraph(State).add_node("speak", speak).add_edge(START, "speak").compile()
"""


async def test_a_developer_sees_the_graph_the_state_and_the_calls_of_models_without_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "a-secret-value")
    (tmp_path / "dev_calling.py").write_text(CALLING)
    given = settings(tmp_path / "t.db", graph=f"{tmp_path / 'dev_calling.py'}:graph")
    async with serving(given, is_development=True) as client:
        thread_id, _ = await client.turn({"message": "Hi there"})
        assert (await client.http.get("/graphs")).json()["development"] is True
        drawing = (await client.http.get("/dev/graph")).json()["drawing"]
        assert "speak" in drawing
        answer = await client.http.get(f"/dev/threads/{thread_id}")
        seen = answer.json()
        assert seen["drawing"] == drawing
        assert (seen["state"]["found"], len(seen["state"]["messages"])) == ("yes", 2)
        assert [one["step"] for one in seen["checkpoints"]] == [1, 0, -1]
        (call,) = seen["calls"]
        assert (call["node"], call["response"][0]["content"]) == ("speak", "Hello.")
        assert [one["content"] for one in call["request"]["messages"]] == ["***", "Hi there"]
        for secret in ("a-secret-value", "header-value", "bound-value", "a-key-of-the-state"):
            assert secret not in answer.text
        assert (await client.http.get("/dev/threads/another")).status_code == 404
    async with serving(given) as client:
        for path in ("/dev/graph", f"/dev/threads/{thread_id}"):
            assert (await client.http.get(path)).status_code == 404
        assert "development" not in (await client.http.get("/graphs")).json()
