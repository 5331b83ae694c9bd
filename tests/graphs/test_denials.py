"""A graph that is not ours runs its tools by itself: a call that its caller may not make does not
run, wherever the tool is, and the thread goes on."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import Client, serving, settings, text_of
from turnstream.graphs.graph_tools import tools_of
from turnstream.server.extensions.users.policy_file import PolicyError

GRAPH = """
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

RAN = []


@tool
async def search(query: str) -> str:
    "Search."
    RAN.append("search")
    return "found"


@tool
def erase(query: str) -> str:
    "Erase; in a thread."
    RAN.append("erase")
    return "gone"


@tool
async def outer(query: str) -> str:
    "Calls another tool."
    RAN.append("outer")
    return await erase.ainvoke({"query": query})


@tool
def outer_in_thread(query: str) -> str:
    "Calls another tool in its thread."
    RAN.append("outer_in_thread")
    return erase.invoke({"query": query})


def speak(state):
    last = state["messages"][-1]
    if last.type == "human" and "/" in last.text:
        names = last.text.split("/")[1].split(",")
        calls = [{"name": n, "args": {"query": "q"}, "id": n + last.id} for n in names]
        return {"messages": [AIMessage("", tool_calls=calls)]}
    return {"messages": [AIMessage("You said " + last.text)]}


TOOLS = [search, erase, outer, outer_in_thread]


def made(tools):
    builder = StateGraph(MessagesState)
    builder.add_node("speak", speak)
    builder.add_node("tools", tools)
    builder.add_edge(START, "speak")
    builder.add_conditional_edges("speak", tools_condition)
    builder.add_edge("tools", "speak")
    return builder


graph = made(ToolNode(TOOLS)).compile()
raising = made(ToolNode(TOOLS, handle_tool_errors=False)).compile()
telling = made(ToolNode(TOOLS, handle_tool_errors=True)).compile()
inner = made(ToolNode(TOOLS)).compile()
nested = StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner").compile()


async def call(state):
    return await inner.ainvoke(state)


called = StateGraph(MessagesState).add_node("call", call).add_edge(START, "call").compile()
"""

ROLES = """
[roles.user]
tools = ["search", "outer*"]

[roles.admin]
"""


def headers(role: str = "user") -> dict[str, str]:
    return {"X-Forwarded-User": "ann", "X-Forwarded-Groups": role}


@asynccontextmanager
async def under(
    folder: Path, name: str = "graph", policy: str = ROLES
) -> AsyncIterator[tuple[Client, list[str]]]:
    """A server of a graph, and the names of the tools that have run."""
    file = folder / f"graph_of_{folder.name}.py"
    file.write_text(GRAPH)
    (folder / "policy.toml").write_text(policy)
    configured = settings(
        folder / "t.db",
        graph=f"{file}:{name}",
        policy=folder / "policy.toml",
        auth=("header",),
        trusted_proxies=("127.0.0.1",),
    )
    async with serving(configured) as client:
        assert client.state is not None
        client.http.headers.update(headers())
        tools = client.state["graphs"].by_name[client.state["graphs"].default].attached
        yield client, ran_in(tools.graph)


def ran_in(graph: Any) -> list[str]:
    """The list in which the graph's module notes the tools that run."""
    tool: Any = tools_of(graph)["search"]
    ran: list[str] = tool.coroutine.__globals__["RAN"]
    return ran


async def asked(client: Client, *names: str, **more: Any) -> dict[str, str]:
    """A turn in which the graph calls these tools: the error code of each, or nothing."""
    await client.turn({"message": f"/{','.join(names)}", "thread_id": "a", **more})
    thread = await client.thread("a")
    parts = [part for message in thread["messages"] for part in message["parts"]]
    calls = [part for part in parts if part["type"] == "tool-call"][-len(names) :]
    results = {call["toolName"]: call["result"] for call in calls}
    return {
        name: result["error"]["code"] if "error" in result else ""
        for name, result in results.items()
    }


async def goes_on(client: Client) -> bool:
    _, events = await client.turn({"message": "Hello", "thread_id": "a"})
    return text_of(events) == "You said Hello"


@pytest.mark.parametrize("name", ["graph", "nested", "called"])
async def test_a_denied_call_is_answered_and_the_run_goes_on(tmp_path: Path, name: str) -> None:
    async with under(tmp_path, name) as (client, ran):
        codes = await asked(client, "search", "erase")
        assert codes == {"search": "", "erase": "tool_not_allowed"}
        assert ran == ["search"]
        assert await goes_on(client)
        client.http.headers.update(headers("admin"))
        assert await asked(client, "erase") == {"erase": ""}
        assert ran == ["search", "erase"]


@pytest.mark.parametrize("outer", ["outer", "outer_in_thread"])
async def test_a_tool_that_another_tool_calls_does_not_run_either(
    tmp_path: Path, outer: str
) -> None:
    async with under(tmp_path) as (client, ran):
        assert await asked(client, outer) == {outer: "tool_not_allowed"}
        assert ran == [outer]
        assert await goes_on(client)


async def test_a_graph_whose_errors_end_the_run_fails_cleanly(tmp_path: Path) -> None:
    async with under(tmp_path, "raising") as (client, ran):
        _, events = await client.turn({"message": "/erase", "thread_id": "a"})
        assert events[-1].data == "[DONE]"
        kinds = Counter(event.type for event in events)
        assert kinds["error"] == kinds["message-finish"] == 1
        assert (await client.thread("a"))["run_state"] == "failed"
        assert ran == []
        assert await goes_on(client)


async def test_a_graph_that_words_errors_itself_does_not_run_the_tool_either(
    tmp_path: Path,
) -> None:
    async with under(tmp_path, "telling") as (client, ran):
        assert await asked(client, "erase") != {"erase": ""}
        assert ran == []
        assert await goes_on(client)


async def test_a_request_can_narrow_the_run_of_such_a_graph(tmp_path: Path) -> None:
    async with under(tmp_path) as (client, ran):
        codes = await asked(client, "search", "outer", allowed_tools=["outer"])
        assert codes == {"search": "tool_not_allowed", "outer": "tool_not_allowed"}
        assert ran == ["outer"]
        for choice, status, code in (
            (["serch"], 422, "unknown_tool"),
            (["erase"], 403, "tool_not_allowed"),
            (["calculator"], 422, "unknown_tool"),
        ):
            answer = await client.http.post(
                "/chat", json={"message": "Hi", "allowed_tools": choice}
            )
            assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_a_plain_rule_holds_for_such_a_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rule_of_search.py").write_text(
        "def allow(principal, call):\n"
        "    assert call['args'] == {'query': 'q'}\n"
        "    return 'deny' if call['name'] == 'search' else 'allow'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    policy = 'rule = "rule_of_search:allow"\n[roles.user]\n'
    async with under(tmp_path, policy=policy) as (client, ran):
        codes = await asked(client, "search", "erase")
        assert codes == {"search": "tool_not_allowed", "erase": ""}
        assert ran == ["erase"]


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        ('[roles.user]\napproval = ["era*"]', r"roles\.user\.approval covers 'erase'"),
        (
            '[roles.user]\napproval_by_others = ["erase"]',
            r"roles\.user\.approval_by_others covers 'erase'",
        ),
        (
            "[roles.user.limits]\ntool_calls_per_day = { search = 3 }",
            r"roles\.user\.limits\.tool_calls_per_day covers 'search'",
        ),
        (
            'rule = "asyncio:sleep"\n[roles.user]',
            "the rule asyncio:sleep is async, and cannot be awaited",
        ),
    ],
)
async def test_what_cannot_be_enforced_there_keeps_the_server_from_starting(
    tmp_path: Path, policy: str, sentence: str
) -> None:
    with pytest.raises(PolicyError, match=sentence):
        async with under(tmp_path, policy=policy):
            raise AssertionError("it started")


async def test_what_is_denied_anyway_needs_no_approval(tmp_path: Path) -> None:
    policy = '[roles.user]\ntools = ["search"]\napproval = ["erase"]\n'
    async with under(tmp_path, policy=policy) as (client, ran):
        assert await asked(client, "erase") == {"erase": "tool_not_allowed"}
        assert ran == []
