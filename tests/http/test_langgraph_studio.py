"""LangGraph Studio: the calls of its page, whose origin the deployer allows."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.langgraph_reader import named_frames
from tests.support.serving import Client, serving, settings

STUDIO = "https://smith.langchain.com"
GRAPH = """
from tests.graphs.zoo.model import ReplyingModel
from tests.graphs.zoo.todos import note_both, todo_agent


def make():
    return todo_agent(ReplyingModel(replies=note_both))
"""
SAID = {"messages": [{"type": "human", "content": "Milk"}]}
RUN = {"assistant_id": "todos", "input": SAID, "stream_mode": ["debug", "messages", "values"]}
THREAD = "/langgraph/threads/t1"
CALLS: list[tuple[str, str, Any]] = [
    ("GET", "/langgraph/info", None),
    ("GET", "/langgraph/ok", None),
    ("POST", "/langgraph/assistants/search", {"limit": 100}),
    ("GET", "/langgraph/assistants/todos", None),
    ("GET", "/langgraph/assistants/todos/schemas", None),
    ("GET", "/langgraph/assistants/todos/graph?xray=true", None),
    ("GET", "/langgraph/assistants/todos/subgraphs?recurse=true", None),
    ("POST", "/langgraph/assistants", {"graph_id": "todos", "name": "Mine"}),
    ("POST", "/langgraph/threads", {"thread_id": "t1", "metadata": {"graph_id": "todos"}}),
    ("POST", f"{THREAD}/runs/stream", {**RUN, "stream_subgraphs": True}),
    ("POST", "/langgraph/threads/search", {"limit": 20, "metadata": {"graph_id": "todos"}}),
    ("GET", THREAD, None),
    ("GET", f"{THREAD}/state", None),
    ("POST", f"{THREAD}/history", {"limit": 50}),
    ("POST", f"{THREAD}/state", {"values": SAID}),
    ("GET", f"{THREAD}/runs", None),
    ("POST", f"{THREAD}/copy", None),
    ("PUT", "/langgraph/store/items", {"namespace": ["notes"], "key": "a", "value": {"b": 1}}),
    ("POST", "/langgraph/store/items/search", {"namespace_prefix": ["notes"]}),
    ("POST", "/langgraph/store/namespaces", {}),
    ("PATCH", THREAD, {"metadata": {"name": "Milk"}}),
    ("DELETE", THREAD, None),
]


async def call(client: Client, method: str, path: str, body: Any) -> Any:
    asked = {
        "Origin": STUDIO,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "content-type,x-api-key,x-auth-scheme",
        "Access-Control-Request-Private-Network": "true",
    }
    allowed = await client.http.options(path, headers=asked)
    assert allowed.status_code == 200, (method, path, allowed.text)
    assert allowed.headers["access-control-allow-private-network"] == "true"
    headers = {"Origin": STUDIO, "X-Api-Key": "", "X-Auth-Scheme": "langsmith"}
    answer = await client.http.request(method, path, json=body, headers=headers)
    assert answer.is_success, (method, path, answer.text)
    assert answer.headers["access-control-allow-origin"] == STUDIO
    return answer


async def test_its_page_makes_each_of_its_calls_from_its_own_origin(tmp_path: Path) -> None:
    file = tmp_path / "todos.py"
    file.write_text(GRAPH)
    given = settings(tmp_path / "t.db", graph=f"{file}:make", allowed_origins=(STUDIO,))
    async with serving(given) as client:
        answers = {
            path: await call(client, *one) for one in CALLS for path in [f"{one[0]} {one[1]}"]
        }
    schemas = answers["GET /langgraph/assistants/todos/schemas"].json()
    assert schemas["graph_id"] == "todos"
    assert "messages" in schemas["input_schema"]["properties"]
    drawing = answers["GET /langgraph/assistants/todos/graph?xray=true"].json()
    assert {"plan", "agent", "tools"} <= {node["id"] for node in drawing["nodes"]}
    told = named_frames(answers[f"POST {THREAD}/runs/stream"].content)
    nodes = [
        one.data["payload"]["name"]
        for one in told
        if one.event == "debug"
        if one.data["type"] == "task"
    ]
    assert nodes == ["plan", "agent", "tools", "agent"]
    (thread,) = answers["POST /langgraph/threads/search"].json()
    assert thread["thread_id"] == "t1"


@pytest.mark.parametrize("path", ["/langgraph/info", f"{THREAD}/runs/stream"])
async def test_a_page_that_nobody_has_allowed_makes_none(path: str, tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        asked = {"Origin": STUDIO, "Access-Control-Request-Method": "POST"}
        private = {"Access-Control-Request-Private-Network": "true"}
        refused = await client.http.options(path, headers=asked | private)
        assert not refused.is_success
        assert "access-control-allow-origin" not in refused.headers
