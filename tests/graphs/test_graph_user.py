"""Every graph learns who calls, where LangGraph's own server says it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from langgraph_sdk.auth.types import BaseUser

from tests.support.serving import serving, settings
from turnstream.server.runs.graph_user import GraphUser

AGENT = """
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime


def tell(state, config: RunnableConfig, runtime: Runtime):
    user, same = config["configurable"]["langgraph_auth_user"], runtime.server_info.user
    told = [user["identity"], same.identity, same["display_name"], same.is_authenticated]
    return {"messages": [AIMessage(", ".join(map(str, [*told, [*same.permissions]])))]}


inner = StateGraph(MessagesState)
inner.add_node("tell", tell)
inner.add_edge(START, "tell")
graph = StateGraph(MessagesState)
graph.add_node("inner", inner.compile())
graph.add_edge(START, "inner")
"""


async def test_a_graph_and_its_subgraphs_know_the_user_and_no_checkpoint_does(
    tmp_path: Path,
) -> None:
    file = tmp_path / "agent_of_users.py"
    file.write_text(AGENT)
    async with serving(settings(tmp_path / "t.db", graph=f"{file}:graph")) as client:
        thread_id, _ = await client.turn({"message": "Hello"})
        thread = await client.thread(thread_id)
        assert thread["messages"][-1]["parts"][-1]["text"] == "local, local, local, False, []"
        body = {"message": "Hello", "configurable": {"langgraph_auth_user": {"identity": "root"}}}
        answer = await client.http.post("/chat", json=body)
        assert (answer.status_code, answer.json()["code"]) == (422, "value_not_allowed")
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        rows = connection.execute("SELECT metadata, checkpoint FROM checkpoints").fetchall()
    assert rows
    assert not any(b"langgraph_auth_user" in bytes(column) for row in rows for column in row)


async def test_a_graph_knows_the_name_and_the_roles_of_who_was_authenticated(
    tmp_path: Path,
) -> None:
    file = tmp_path / "agent_of_ann.py"
    file.write_text(AGENT)
    proxy = {"auth": ("header",), "trusted_proxies": ("127.0.0.1",)}
    async with serving(settings(tmp_path / "t.db", graph=f"{file}:graph", **proxy)) as client:
        client.http.headers.update({"X-Forwarded-User": "ann", "X-Forwarded-Groups": "a,b"})
        thread_id, _ = await client.turn({"message": "Hello"})
        thread = await client.thread(thread_id)
        told = "ann, ann, ann, True, ['a', 'b']"
        assert thread["messages"][-1]["parts"][-1]["text"] == told


def test_a_user_is_what_langgraph_takes_for_one() -> None:
    user = GraphUser("ann", "Ann")
    assert isinstance(user, BaseUser)
    assert dict(user) == {
        "identity": "ann",
        "display_name": "Ann",
        "is_authenticated": False,
        "permissions": (),
    }
    assert "email" not in user
    with pytest.raises(KeyError):
        user["email"]
