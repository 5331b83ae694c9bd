"""Requests that would do harm: to a broken thread, to a user's answer, to all other runs."""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.backend import (
    Backend,
    answers,
    backend,
    chunks_of,
    chunks_until,
    key_of,
    message,
)
from tests.support.scripted_model import ScriptedModel, call, finish, text
from tests.support.serving import serving, settings
from tests.support.waiting import HeldMethod
from turnstream.server.callers.principal import LOCAL
from turnstream.server.formats import DEFAULT
from turnstream.server.runs.busy_threads import RunInProgress
from turnstream.server.runs.client_tools import as_ui_tools
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.storage.checkpointer import open_checkpointer
from turnstream.server.storage.interfaces import StorageError
from turnstream.server.turns.requests import (
    Branch,
    ClientTool,
    IdempotencyKey,
    InvalidRequest,
    TurnRequest,
)
from turnstream.tools.builtin import CATALOGUE
from turnstream.tools.schemas import fault, misfit

QUESTION = '{"kind":"single","prompt":"Which?","options":[{"value":"red"},{"value":"blue"}]}'


def asking(id: str) -> list[Any]:
    return [call(QUESTION, name="request_user_selection", id=id), finish("tool_calls")]


async def test_a_request_that_is_refused_leaves_a_broken_thread_to_be_continued(
    tmp_path: Path,
) -> None:
    model = ScriptedModel.of([text("never "), asyncio.Event()])
    async with backend(tmp_path / "t.db", model) as inner:
        await chunks_until(await inner.start(message()), lambda chunks: len(chunks) > 2)
        # As a crash leaves it: the thread's file, copied while the run is live.
        with sqlite3.connect(tmp_path / "t.db") as live, sqlite3.connect(tmp_path / "c.db") as copy:
            live.backup(copy)
        live.close()
        copy.close()
    async with backend(tmp_path / "c.db", ScriptedModel.of()) as inner:
        with pytest.raises(InvalidRequest):
            await inner.start(answers(("nobody-asked", 1)))
        chunks = await inner.turn(TurnRequest(continue_=True))
        assert "Done." in str(chunks)


async def test_an_answer_that_came_with_a_message_survives_its_regeneration(tmp_path: Path) -> None:
    model = ScriptedModel.of(asking("c1"))
    async with backend(tmp_path / "t.db", model) as inner:
        await inner.turn(message())
        await inner.turn(answers(("c1", {"value": "red"}), words="and hello"))
        await inner.turn(TurnRequest(branch=Branch("regenerate", None)))
        asked = (await inner.turns())[1]
        assert "'value': 'red'" in str(asked)
        assert "not_answered" not in str(asked)


async def test_a_request_that_is_being_refused_turns_no_other_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with backend(tmp_path / "t.db", ScriptedModel.of()) as inner:
        check = HeldMethod(monkeypatch, inner.checkpoints, "load", once=True)
        refused = asyncio.create_task(inner.start(TurnRequest(continue_=True)))
        await check.reached.wait()
        claim = HeldMethod(monkeypatch, inner.store, "claim", once=True)
        other = asyncio.create_task(inner.start(message()))
        await claim.reached.wait()
        claim.through.set()
        # The store works on one thing after the other: this comes behind the other's claim.
        assert await inner.store.holder(key_of())
        check.through.set()
        await chunks_of(await other)
        with pytest.raises(InvalidRequest):
            await refused


async def test_a_live_run_is_named_to_whoever_comes_second(tmp_path: Path) -> None:
    model = ScriptedModel.of([text("Hm "), asyncio.Event()])
    async with backend(tmp_path / "t.db", model) as inner:
        run = await inner.start(message())
        with pytest.raises(RunInProgress) as busy:
            await inner.start(message())
        assert (busy.value.key, busy.value.run_id) == (key_of(), run.header.run_id)
        assert await inner.reader.find(key_of(), run.header.run_id) == run


async def test_a_key_that_was_freed_by_a_deletion_stays_with_its_next_run(tmp_path: Path) -> None:
    async with backend(tmp_path / "t.db", ScriptedModel.of()) as inner:
        first = await start_under_a_key(inner, "a")
        await first.log.ended()
        await inner.runs.delete(key_of("a"))
        second = await start_under_a_key(inner, "b")
        await inner.store.forget_requests(key_of("a"), first.header.run_id)
        assert await start_under_a_key(inner, "b") == second


async def start_under_a_key(inner: Backend, thread: str) -> LoggedRun:
    request = replace(message(), thread_id=thread)
    key = IdempotencyKey("k", "digest")
    return await inner.runs.start(LOCAL, request, DEFAULT.name, key)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "$schema": 5},
        {"type": "object", "$schema": {}},
        {"type": "object", "properties": 1},
        {"type": "object", "patternProperties": {"^(a+)+$": {}}},
        {"type": "array"},
        {"type": "object", "oneOf": []},
    ],
    ids=str,
)
def test_a_schema_that_cannot_be_used_is_refused(schema: dict[str, Any]) -> None:
    assert fault(schema)
    with pytest.raises(InvalidRequest):
        as_ui_tools([ClientTool("mine", "", schema)], CATALOGUE)


def test_a_schema_nested_without_end_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(400):
        schema = {"type": "object", "properties": {"a": schema}}
    assert fault(schema)


def test_a_schema_that_goes_round_in_circles_is_no_fit() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}
    assert misfit(schema, {"a": 1})


def test_a_pattern_that_takes_for_ever_is_left_to_the_client() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    assert fault(schema) is None
    assert misfit(schema, {"a": "a" * 60 + "!"}) is None
    assert misfit(schema, {"a": 1})


def test_all_schemas_of_a_request_are_read_on_one_budget() -> None:
    large = {"type": "object", "$defs": {"a": {"allOf": [{"title": ""} for _ in range(1500)]}}}
    tools = [ClientTool(f"t{i}", "", large) for i in range(3)]
    assert as_ui_tools(tools[:1], CATALOGUE)
    with pytest.raises(InvalidRequest, match="too large to be checked") as refused:
        as_ui_tools(tools, CATALOGUE)
    assert refused.value.code == "invalid_tool"


def test_tools_without_end_are_refused() -> None:
    many = [ClientTool(f"t{i}", "", {"type": "object"}) for i in range(65)]
    with pytest.raises(InvalidRequest) as refused:
        as_ui_tools(many, CATALOGUE)
    assert refused.value.code == "too_many_tools"


async def test_another_name_of_a_database_in_use_is_the_same_database(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "t.db")
    async with open_checkpointer(tmp_path / "t.db"):
        with pytest.raises(StorageError, match="in use"):
            async with open_checkpointer(tmp_path / "link.db"):
                pass


async def test_a_question_mark_in_the_databases_name_is_a_letter_of_it(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "a?mode=ro&x.db")) as client:
        await client.turn({"message": "Hello"})
        assert not (tmp_path / "a").exists()
        listed = (await client.http.get("/threads")).json()["threads"]
        assert len(listed) == 1


@pytest.mark.parametrize("host", ["localhost:80@evil.example", "localhost/x", "localhost:1:2"])
async def test_a_host_header_that_is_none_is_refused(tmp_path: Path, host: str) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        answer = await client.http.get("/health", headers={"Host": host})
        assert answer.status_code == 403


async def test_an_argument_that_a_real_tool_does_not_have_is_refused(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        answer = await client.http.post("/tools/multiply", json={"a": 1, "b": 2, "c": 3})
        assert answer.json()["code"] == "invalid_arguments"
        assert "'c'" in answer.json()["detail"]
