"""The module of a graph declares what clients see of its tools' results."""

import logging
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import Client, serving, settings
from turnstream.graphs.faults import GraphError
from turnstream.graphs.loading import load

AGENT = """
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

@tool
def search() -> dict:
    "Search."
    return {"title": "Tides", "secret": 7}

@tool
def book() -> str:
    "Book."
    return "Booked."

def ask(state):
    calls = [{"name": name, "args": {}, "id": name} for name in ("search", "book")]
    return {"messages": [AIMessage("", tool_calls=calls)]}

builder = StateGraph(MessagesState)
builder.add_node("ask", ask)
builder.add_node("tools", ToolNode([search, book]))
builder.add_edge(START, "ask")
builder.add_edge("ask", "tools")
graph = builder.compile()
"""


def written(folder: Path, name: str, table: str) -> str:
    file = folder / f"{name}.py"
    file.write_text(AGENT + table)
    return f"{file}:graph"


@pytest.mark.parametrize(
    ("table", "setting", "expected", "silent"),
    [
        ("", "hide", [{"hidden": True}, {"hidden": True}], "book, search"),
        (
            "CLIENT_FIELDS = {'search': ['title']}",
            "hide",
            [{"title": "Tides"}, {"hidden": True}],
            "book",
        ),
        ("CLIENT_FIELDS = {'search': ['title']}", "show", [{"title": "Tides"}, "Booked."], ""),
        ("CLIENT_FIELDS = {'search': [], 'book': ['*']}", "hide", [{}, "Booked."], ""),
    ],
    ids=["no table", "a table", "shown", "all"],
)
async def test_clients_see_what_the_table_and_the_setting_say(
    table: str,
    setting: Any,
    expected: list[Any],
    silent: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    request: pytest.FixtureRequest,
) -> None:
    name = f"agent_of_{request.node.callspec.id.replace(' ', '_')}"
    given = settings(
        tmp_path / "t.db", graph=written(tmp_path, name, table), undeclared_results=setting
    )
    with caplog.at_level(logging.WARNING, "turnstream.graphs"):
        async with serving(given) as client:
            thread_id, events = await client.turn({"message": "Go"})
            messages = (await client.thread(thread_id))["messages"]
    parts = [part for part in messages[-1]["parts"] if part["type"] == "tool-call"]
    assert [part["result"] for part in parts] == expected
    told = [record.getMessage() for record in caplog.records]
    assert [f"instead of the results of {silent}: " in sentence for sentence in told] == (
        [True] if silent else []
    )
    assert "secret" not in str(events)


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("agent_with_a_list", "['search']"),
        ("agent_with_a_string", "{'search': 'title'}"),
        ("agent_with_a_number", "{'search': [1]}"),
    ],
)
def test_a_table_that_does_not_fit_refuses_the_start(name: str, table: str, tmp_path: Path) -> None:
    with pytest.raises(GraphError) as raised:
        load(written(tmp_path, name, f"CLIENT_FIELDS = {table}"))
    sentence = str(raised.value)
    assert "CLIENT_FIELDS" in sentence
    assert "write a" in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


HIDDEN = [{"hidden": True}, {"hidden": True}]
SHOWN = [{"title": "Tides", "secret": 7}, "Booked."]
PROXY = {"auth": ("header",), "trusted_proxies": ("127.0.0.1",)}


async def results_of(client: Client, thread_id: str) -> list[list[Any]]:
    """The results that the thread shows, of each turn."""
    messages = (await client.thread(thread_id))["messages"]
    parts = [one["parts"] for one in messages if one["role"] == "assistant"]
    return [[each["result"] for each in turn if each["type"] == "tool-call"] for turn in parts]


async def test_results_are_shown_without_authentication_and_what_was_hidden_stays_hidden(
    tmp_path: Path,
) -> None:
    graph = written(tmp_path, "agent_that_hid", "")
    for setting, seen in (("hide", [HIDDEN]), (None, [HIDDEN, SHOWN]), ("show", [SHOWN, SHOWN])):
        given = settings(tmp_path / "t.db", graph=graph, undeclared_results=setting)
        async with serving(given) as client:
            if setting != "show":
                _, events = await client.turn({"message": "Go", "thread_id": "t1"})
                streamed = [event.data["result"] for event in events if event.type == "result"]
                assert streamed == seen[-1]
            assert await results_of(client, "t1") == seen
    async with serving(settings(tmp_path / "t.db", graph=graph, **PROXY)) as client:
        client.http.headers["X-Forwarded-User"] = "ann"
        thread_id, _ = await client.turn({"message": "Go"})
        assert await results_of(client, thread_id) == [HIDDEN]


async def test_a_name_may_have_a_wildcard_and_one_that_is_no_tools_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = "CLIENT_FIELDS = {'b*': ['*'], 'serch': ['title'], 'x*': ['*']}"
    graph = written(tmp_path, "agent_of_patterns", table)
    async with serving(
        settings(tmp_path / "t.db", graph=graph, undeclared_results="hide")
    ) as client:
        thread_id, _ = await client.turn({"message": "Go"})
        assert await results_of(client, thread_id) == [[{"hidden": True}, "Booked."]]
    assert "names serch, which is no tool of the graph; is search meant?" in caplog.text
    assert "names x*, which is no tool of the graph" in caplog.text
    assert "names b*" not in caplog.text
