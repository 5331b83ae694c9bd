"""Databases that an earlier version has written: their threads are as they were, and go on.

What they hold and how they were made: tests/data/v1/README.md.
"""

import json
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.counting_tools import CountingTools
from tests.support.endpoint import StrictEndpoint, text_reply
from tests.support.endpoint.script import Scripted
from tests.support.serving import Client, endpoint_settings, serving
from turnstream.server.storage.store import open_store

Json = dict[str, Any]

FILES = Path(__file__).parents[1] / "data" / "v1"
GRAPHS = {"built_in": "turnstream.graphs.chat:build", "own_graph": "docs.examples.own_graph:build"}
RECORDED: dict[str, dict[str, dict[str, Json]]] = {
    name: json.loads((FILES / f"{name}.json").read_text(encoding="utf-8")) for name in GRAPHS
}
"""What the version that wrote a database said of it: by thread and protocol."""

DISPOSITIONS = ("server", "shown", "client", "approval", "invalid")
LATER = {"pinned": False, "archived": False}
"""What later versions say of every thread."""
EACH = pytest.mark.parametrize("name", GRAPHS)
STRUCTURE = """
    SELECT made.name, columns.name FROM sqlite_master AS made
    LEFT JOIN pragma_table_info(made.name) AS columns ON made.type = 'table'
"""
"""The tables, with each of their columns, and the indexes."""


@dataclass(frozen=True)
class Served:
    """A database with a server of this version on it."""

    client: Client
    endpoint: StrictEndpoint
    counting_tools: CountingTools

    async def turn(self, thread_id: str, *replies: Scripted, **body: Any) -> Json:
        """A whole turn, which ends as it should: the thread after it."""
        self.endpoint.script(*replies)
        _, events = await self.client.turn({"thread_id": thread_id, **body})
        assert [event.data["finishReason"] for event in events[-2:-1]] == ["stop"], events
        thread = await self.client.thread(thread_id)
        assert (thread["run_state"], thread["pending"]) == ("finished", [])
        return thread


@asynccontextmanager
async def served(name: str, folder: Path) -> AsyncIterator[Served]:
    """Ends with the proof that the model got no history that a strict one would refuse."""
    database, counting_tools = folder / "t.db", CountingTools()
    shutil.copy(FILES / f"{name}.sqlite", database)
    counting_tools.release.set()
    async with StrictEndpoint() as endpoint:
        configured = endpoint_settings(database, endpoint, graph=GRAPHS[name])
        async with serving(configured, counting_tools.catalogue) as client:
            yield Served(client, endpoint, counting_tools)
        assert endpoint.refused == []
        assert endpoint.unplayed == 0


def said(thread: Json) -> list[tuple[str, Any]]:
    """Roles and parts: texts as they are, of a call its state."""
    return [
        (message["role"], [part.get("text", part.get("state")) for part in message["parts"]])
        for message in thread["messages"]
    ]


def without_later_keys(thread: Json) -> Json:
    """Without what later versions say also of what an earlier one stored: a call's disposition, the
    model of a step."""
    for step in [step for message in thread["messages"] for step in message.get("steps", ())]:
        step.pop("model", None)
    calls = [p for m in thread["messages"] for p in m["parts"] if p["type"] == "tool-call"]
    for call in calls:
        if call.get("disposition") in DISPOSITIONS:
            del call["disposition"]
    return thread


@EACH
def test_a_file_is_whole_and_its_crashed_run_is_not_settled_yet(name: str, tmp_path: Path) -> None:
    database = shutil.copy(FILES / f"{name}.sqlite", tmp_path / "t.db")
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        states = dict(connection.execute("SELECT id, run_state FROM threads"))
    assert states.keys() == RECORDED[name].keys()
    assert states["crashed"] == "live"


@EACH
async def test_a_file_gets_the_columns_and_indexes_of_a_new_one(name: str, tmp_path: Path) -> None:
    shutil.copy(FILES / f"{name}.sqlite", tmp_path / "old.db")
    structures = []
    for file in ("old.db", "new.db"):
        async with open_store(tmp_path / file, 1000):
            pass
        with closing(sqlite3.connect(tmp_path / file)) as connection:
            structures.append({*connection.execute(STRUCTURE)})
    old, new = structures
    assert new - old == set()


@EACH
async def test_every_thread_is_shown_as_it_was(name: str, tmp_path: Path) -> None:
    async with served(name, tmp_path) as house:
        shown = {
            thread_id: {
                protocol: without_later_keys(
                    await house.client.thread(thread_id, protocol=protocol)
                )
                for protocol in protocols
            }
            for thread_id, protocols in RECORDED[name].items()
        }
    assert shown == {
        thread_id: {protocol: {**LATER, **thread} for protocol, thread in protocols.items()}
        for thread_id, protocols in RECORDED[name].items()
    }
    assert shown["crashed"]["assistant-transport"]["run_state"] == "interrupted"


@EACH
async def test_the_list_has_every_thread_by_its_last_activity(name: str, tmp_path: Path) -> None:
    entries = [protocols["assistant-transport"] for protocols in RECORDED[name].values()]
    expected = sorted(entries, key=lambda entry: str(entry["updated_at"]), reverse=True)
    async with served(name, tmp_path) as house:
        listed = (await house.client.http.get("/threads")).json()["threads"]
    assert [entry["id"] for entry in listed] == [entry["id"] for entry in expected]


@pytest.mark.parametrize(
    ("name", "thread_id"), [(name, id) for name, threads in RECORDED.items() for id in threads]
)
async def test_every_thread_takes_a_message(name: str, thread_id: str, tmp_path: Path) -> None:
    async with served(name, tmp_path) as house:
        thread = await house.turn(thread_id, text_reply("Fine."), message="Go on.")
        assert said(thread)[-2:] == [("user", ["Go on."]), ("assistant", ["Fine."])]
        before = RECORDED[name][thread_id]["assistant-transport"]["messages"]
        assert [m["id"] for m in thread["messages"][:-2]] == [m["id"] for m in before]
        (prompt,) = house.endpoint.requests
        assert prompt["messages"][-1] == {"role": "user", "content": "Go on."}


@EACH
async def test_a_question_that_waits_is_answered(name: str, tmp_path: Path) -> None:
    async with served(name, tmp_path) as house:
        answer = {"tool_call_id": "call_1", "result": {"value": "sat"}}
        replies = text_reply("Saturday it is.")
        thread = await house.turn("pending", replies, tool_results=[answer])
        assert said(thread)[-1] == ("assistant", ["Well.", "result", "Saturday it is."])


@EACH
async def test_an_answer_that_does_not_fit_a_question_that_waits_is_refused(
    name: str, tmp_path: Path
) -> None:
    async with served(name, tmp_path) as house:
        answer = {"tool_call_id": "call_1", "result": {"value": "sun"}}
        body = {"thread_id": "pending", "tool_results": [answer]}
        refused = await house.client.http.post("/chat", json=body)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_answer")


async def test_a_call_of_a_clients_tool_is_answered(tmp_path: Path) -> None:
    async with served("built_in", tmp_path) as house:
        answer = {"tool_call_id": "call_1", "result": {"colour": "green"}}
        thread = await house.turn("pending_client", text_reply("Green."), tool_results=[answer])
        assert said(thread)[-1] == ("assistant", ["result", "Green."])


@EACH
async def test_a_crashed_turn_goes_on_and_runs_no_finished_tool_again(
    name: str, tmp_path: Path
) -> None:
    async with served(name, tmp_path) as house:
        body = {"continue": True}
        thread = await house.turn("crashed", text_reply("Tea and milk."), **body)
        assert said(thread)[-1] == ("assistant", ["result", "result", "Tea and milk."])
        assert house.counting_tools.calls == {"milk": 1}


@EACH
@pytest.mark.parametrize(("thread_id", "before"), [("stopped", "So far."), ("failed", "result")])
async def test_a_turn_that_was_stopped_or_failed_goes_on(
    name: str, thread_id: str, before: str, tmp_path: Path
) -> None:
    async with served(name, tmp_path) as house:
        body = {"continue": True}
        thread = await house.turn(thread_id, text_reply("And so on."), **body)
        assert said(thread)[-1] == ("assistant", [before, "And so on."])
        assert not house.counting_tools.calls


@EACH
async def test_an_edited_message_is_edited_again(name: str, tmp_path: Path) -> None:
    async with served(name, tmp_path) as house:
        edit = {"message_id": "forked-3", "message": "First, once more."}
        thread = await house.turn("forked", text_reply("One, again."), edit=edit)
        assert said(thread) == [("user", ["First, once more."]), ("assistant", ["One, again."])]


@EACH
async def test_a_branch_begins_at_the_second_message_behind_the_first_turn(
    name: str, tmp_path: Path
) -> None:
    async with served(name, tmp_path) as house:
        first = RECORDED[name]["two_turns"]["assistant-transport"]["messages"][:2]
        edit = {"message_id": "two_turns-2", "message": "Truly?"}
        thread = await house.turn("two_turns", text_reply("Truly."), edit=edit)
        assert without_later_keys(thread)["messages"][:2] == first
        assert said(thread)[2:] == [("user", ["Truly?"]), ("assistant", ["Truly."])]
        thread = await house.turn("two_turns", text_reply("Of course."), regenerate=True)
        assert said(thread)[2:] == [("user", ["Truly?"]), ("assistant", ["Of course."])]
        asked = [prompt["messages"][1:] for prompt in house.endpoint.requests]
        assert asked[0] == asked[1]


@EACH
async def test_an_old_answer_is_made_anew(name: str, tmp_path: Path) -> None:
    async with served(name, tmp_path) as house:
        thread = await house.turn("two_turns", text_reply("No."), regenerate="two_turns-2.a")
        assert said(thread)[-2:] == [("user", ["Really?"]), ("assistant", ["No."])]
