"""The graph's own state in the clients that people have."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import ClientOf
from tests.clients.driver import ClientProcess
from tests.http.test_client_state import EGGS, MILK, PLAN, STATE, agent
from tests.support.samples import repeat
from tests.support.serving import Client, serving, settings

TWICE: dict[str, Any] = {"todos": [MILK, EGGS] * 2, "plan": {**PLAN, "title": "Eggs"}}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Client]:
    given = settings(
        tmp_path / "t.db",
        graph=f"{agent(tmp_path)}:make",
        client_state=("todos", "plan"),
        undeclared_results="show",
    )
    async with serving(given) as client:
        yield client


@pytest.mark.parametrize("version", [pytest.param(" v7", id="v7"), repeat("", "v6")])
async def test_use_chats_on_data_has_the_state_and_its_messages_are_the_threads(
    version: str, server: Client, client_of: ClientOf
) -> None:
    chat = client_of(f"use-chat-hook.mjs{version}")
    await chat.do("open", url=server.url, id="chat-1")
    for text, state in (("Milk", STATE), ("Eggs", TWICE)):
        await chat.do("send", text=text)
        report = await chat.report()
        assert report["errors"] == []
        seen = [part["data"] for part in report["data"] if part["type"] == "data-state"]
        assert seen[-1] == state
        thread = await server.thread("chat-1", protocol="ui-message-stream")
        assert thread["state"] == state
        for shown, kept in zip(report["messages"], thread["messages"], strict=True):
            assert [part["type"] for part in shown["parts"]] == [
                part["type"] for part in kept["parts"]
            ]


async def test_assistant_uis_state_has_it_after_every_turn_and_a_reload(
    server: Client, assistant_ui: ClientProcess
) -> None:
    await assistant_ui.do("open", url=server.url)
    for text, state in (("Milk", STATE), ("Eggs", TWICE)):
        await assistant_ui.do("send", text=text)
        report = await assistant_ui.report()
        assert (report["errors"], report["warnings"]) == ([], [])
        assert report["state"]["state"] == state
    stale = {**report["state"], "state": {}}
    await assistant_ui.do("open", url=server.url, state=stale)
    await assistant_ui.do("resume")
    report = await assistant_ui.report()
    assert report["errors"] == []
    assert report["state"]["state"] == TWICE


@pytest.mark.parametrize("version", [pytest.param("", id="1.0.0"), repeat(" v0", "0.0.59")])
async def test_an_ag_ui_agents_state_has_it_after_every_turn_and_an_edit(
    version: str, server: Client, client_of: ClientOf
) -> None:
    agent = client_of(f"ag-ui.mjs{version}")
    await agent.do("open", url=server.url, threadId="t1")
    for text, state in (("Milk", STATE), ("Eggs", TWICE)):
        await agent.do("send", text=text)
        report = await agent.report()
        assert (report["failures"], report["warnings"]) == ([], [])
        assert report["state"] == state
    asked = [one["id"] for one in report["messages"] if one["role"] == "user"]
    await agent.do("cut", id=asked[1], text="Tea")
    assert (await agent.report())["state"] == {**TWICE, "plan": {**PLAN, "title": "Tea"}}


@pytest.mark.parametrize("version", [pytest.param("", id="1.0.0"), repeat(" v0", "0.0.59")])
async def test_what_an_app_changes_of_an_ag_ui_agents_state_reaches_the_graph(
    version: str, tmp_path: Path, client_of: ClientOf
) -> None:
    given = settings(
        tmp_path / "t.db",
        graph=f"{agent(tmp_path)}:make",
        client_state=("todos", "plan"),
        client_context=("todos",),
    )
    app = client_of(f"ag-ui.mjs{version}")
    mine = {"text": "tea", "done": True}
    async with serving(given) as server:
        await app.do("open", url=server.url, threadId="t1")
        await app.do("set", state={"todos": [mine], "plan": {"title": "Not mine"}})
        await app.do("send", text="Milk")
        report = await app.report()
        assert (report["failures"], report["warnings"]) == ([], [])
        assert report["state"] == {**STATE, "todos": [mine, MILK, EGGS]}
        await app.do("send", text="Milk")
        state = (await app.report())["state"]
        assert state["todos"].count(mine) == 1


@pytest.mark.parametrize("history", [False, True], ids=["state", "history"])
async def test_use_streams_values_have_it_after_every_turn_an_edit_and_a_reload(
    history: bool, server: Client, client_of: ClientOf
) -> None:
    page = client_of("use-stream.mjs")
    await page.do("open", url=server.url, history=history)
    for text, state in (("Milk", STATE), ("Eggs", TWICE)):
        await page.do("send", text=text)
        report = await page.report()
        assert report["errors"] == []
        assert report["values"] == {**state, "messages": report["messages"]}
    await page.do("reload")
    report = await page.report()
    assert report["values"] == {**TWICE, "messages": report["messages"]}
    if history:
        second = [one["id"] for one in report["messages"] if one["type"] == "human"][1]
        await page.do("edit", messageId=second, text="Tea")
        tea = {**TWICE, "plan": {**PLAN, "title": "Tea"}}
        assert (await page.report())["values"].items() >= tea.items()
