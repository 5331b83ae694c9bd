"""What the audit trail has of runs: their beginnings, ends and calls, and nothing of content."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, inspect

from tests.support.audit_rows import CALL, audit_dump, events, of
from tests.support.backend import (
    Backend,
    after_crash,
    answers,
    backend,
    chunks_of,
    chunks_until,
    key_of,
    message,
)
from tests.support.foreign_lock import foreign_lock
from tests.support.sample_tools import CATALOGUE
from tests.support.scripted_model import Piece, ScriptedModel, call, finish, text
from tests.support.waiting import eventually
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.turns.chunks import Chunk, Result
from turnstream.server.turns.requests import TurnRequest
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.contract import real_tool

HELLO: list[Piece] = [text("Hello."), finish()]
ADD: list[Piece] = [call('{"a": 1, "b": 2}', name="add", id="c1"), finish("tool_calls")]
HANG: list[Piece] = [call("{}", name="hang", id="c1"), finish("tool_calls")]
QUESTION = (
    '{"prompt": "Which day?", "kind": "single", "options": [{"value": "fri", "label": "Fri"}]}'
)
CONTINUE = TurnRequest(continue_=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


def has_calls(chunks: Sequence[Chunk]) -> bool:
    return any(type(chunk).__name__ == "ArgsFinish" for chunk in chunks)


async def hanging(inside: Backend) -> None:
    """Start a run whose tool has begun and does not end."""
    await chunks_until(await inside.start(message("Hang.")), has_calls)


async def test_a_turn_with_tools_has_a_record_for_each_call_between_its_beginning_and_its_end(
    path: Path,
) -> None:
    calls: list[Piece] = [
        call('{"a": 1, "b": 2}', name="add", id="c1"),
        call('{"name": "Long"}', name="find_bridge", id="c2", index=1),
        call('{"a": "one"}', name="add", id="c3", index=2),
        call("{}", name="no_such_tool", id="c4", index=3),
        finish("tool_calls", tokens=(10, 20)),
    ]
    async with backend(
        path, ScriptedModel.of(calls, HELLO), catalogue=CATALOGUE, audits=True
    ) as inside:
        run = await inside.start(message("Add and find."))
        await chunks_of(run)
        records = await inside.recorded()
    assert events(records) == ["run_started", *["tool_call"] * 4, "run_ended"]
    assert {(r.principal, r.thread_id, r.run_id) for r in records} == {
        ("local", "thread-1", run.header.run_id)
    }
    assert sorted(of(records, "tool_call", "tool_call_id", *CALL)) == [
        ("c1", "add", "server", "result"),
        ("c2", "find_bridge", "server", "error"),
        ("c3", "add", "invalid", "invalid_arguments"),
        ("c4", None, "invalid", "unknown_tool"),
    ]
    assert all(isinstance(ms, int) for (ms,) in of(records, "tool_call", "duration_ms")[-2:])
    assert of(records, "run_ended", "outcome", "input_tokens", "output_tokens") == [
        ("finished", 17, 25)
    ]
    assert [r.at for r in records] == sorted(r.at for r in records)


async def test_what_the_browser_shows_or_answers_is_no_call_of_the_servers(path: Path) -> None:
    asks: list[Piece] = [
        call(
            QUESTION,
            name="request_user_selection",
            id="c1",
        ),
        finish("tool_calls"),
    ]
    async with backend(path, ScriptedModel.of(asks, HELLO), audits=True) as inside:
        await inside.turn(message("Ask me."))
        await inside.turn(answers(("c1", {"value": "fri"})))
        records = await inside.recorded()
    assert of(records, "run_ended", "outcome") == [("waiting",), ("finished",)]
    assert of(records, "tool_call", *CALL) == []


async def test_a_stopped_runs_open_call_is_cancelled_and_its_end_is_recorded(path: Path) -> None:
    model = ScriptedModel.of(HANG)
    async with backend(path, model, catalogue=CATALOGUE, audits=True) as inside:
        await hanging(inside)
        await inside.stop()
        records = await inside.recorded()
    assert events(records) == ["run_started", "tool_call", "run_ended"]
    assert of(records, "tool_call", *CALL) == [("hang", "server", "cancelled")]
    assert of(records, "run_ended", "outcome") == [("stopped",)]


async def test_a_failed_runs_end_is_recorded_with_the_tokens_until_then(path: Path) -> None:
    model = ScriptedModel.of(ADD, [ValueError("down")])
    async with backend(path, model, catalogue=CATALOGUE, audits=True) as inside:
        await inside.turn(message("Add."))
        records = await inside.recorded()
    assert of(records, "tool_call", *CALL) == [("add", "server", "result")]
    assert of(records, "run_ended", "outcome", "input_tokens", "output_tokens") == [
        ("failed", 7, 5)
    ]


async def test_a_call_that_ends_is_recorded_while_its_run_goes_on(path: Path) -> None:
    model = ScriptedModel.of(ADD, [asyncio.Event()])
    async with backend(path, model, catalogue=CATALOGUE, audits=True) as inside:
        await inside.start(message("Add."))

        async def recorded() -> bool:
            return len(await inside.recorded()) == 2

        await eventually(recorded)
        assert of(await inside.recorded(), "tool_call", *CALL) == [("add", "server", "result")]


async def test_after_a_crash_the_run_is_recorded_as_interrupted_with_the_call_that_it_cut_off(
    path: Path,
) -> None:
    async with backend(path, ScriptedModel.of(HANG), catalogue=CATALOGUE, audits=True) as before:
        await hanging(before)
        async with after_crash(path, ScriptedModel.of(HELLO), CATALOGUE, audits=True) as after:
            records = await after.recorded()
            assert events(records) == ["run_started", "tool_call", "run_ended"]
            assert of(records, "tool_call", "tool_call_id", *CALL) == [
                ("c1", "hang", "server", "interrupted")
            ]
            assert of(records, "run_ended", "outcome") == [("interrupted",)]
            assert len({record.run_id for record in records}) == 1
            await after.turn(message("Go on."))
            assert of(await after.recorded(), "run_ended", "outcome")[1:] == [("finished",)]


async def test_a_run_of_which_a_crash_left_nothing_is_recorded_as_interrupted(path: Path) -> None:
    async with backend(path, ScriptedModel.of(), audits=True) as before:
        await before.store.begin_run(key_of(), "run", "Hi")
        async with after_crash(path, ScriptedModel.of(), audits=True) as after:
            assert await after.entry() is None
            assert of(await after.recorded(), "run_ended", "run_id", "outcome") == [
                ("run", "interrupted")
            ]


async def test_a_call_that_a_crash_cut_off_and_a_later_run_makes_up_for_is_both_runs(
    path: Path,
) -> None:
    is_lost = True

    @real_tool(client_fields=[])
    async def look() -> dict[str, Any]:
        """Look; the first time for ever."""
        if is_lost:
            await asyncio.Event().wait()
        return {}

    catalogue = Catalogue((look,), ())
    asked: list[Piece] = [call("{}", name="look", id="c1"), finish("tool_calls")]
    async with backend(path, ScriptedModel.of(asked), catalogue=catalogue, audits=True) as before:
        await hanging(before)
        is_lost = False
        async with after_crash(path, ScriptedModel.of(HELLO), catalogue, audits=True) as after:
            await after.turn(CONTINUE)
            records = await after.recorded()
    assert of(records, "tool_call", "tool_call_id", *CALL) == [
        ("c1", "look", "server", "interrupted"),
        ("c1", "look", "server", "result"),
    ]
    calls = [record for record in records if record.event == "tool_call"]
    assert calls[0].run_id != calls[1].run_id


async def test_a_run_whose_beginning_cannot_be_recorded_does_not_begin(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_given: object, **_named: object) -> None:
        raise StorageUnavailable("storage_full")

    async with backend(path, ScriptedModel.of(HELLO), audits=True) as inside:
        with monkeypatch.context() as patch:
            patch.setattr("turnstream.server.storage.extension_writes._execute", full)
            with pytest.raises(StorageUnavailable):
                await inside.start(message("Hi"))
        assert await inside.entry() is None
        await inside.turn(message("Hi"))
        assert events(await inside.recorded()) == ["run_started", "run_ended"]


async def test_records_wait_while_the_database_is_locked(path: Path) -> None:
    held = asyncio.Event()
    model = ScriptedModel.of(ADD, [held, *HELLO])
    async with backend(path, model, catalogue=CATALOGUE, audits=True) as inside:
        run = await inside.start(message("Add."))
        await chunks_until(run, lambda chunks: any(isinstance(c, Result) for c in chunks))
        with foreign_lock(path):
            held.set()
        await chunks_of(run)
        assert events(await inside.recorded()) == ["run_started", "tool_call", "run_ended"]


async def test_only_the_deletion_of_a_thread_that_there_was_is_recorded(path: Path) -> None:
    async with backend(path, ScriptedModel.of(HELLO), audits=True) as inside:
        await inside.turn(message("Hi"))
        await inside.runs.delete(key_of())
        await inside.runs.delete(key_of())
        await inside.runs.delete(key_of("another"))
        records = await inside.recorded()
    assert of(records, "thread_deleted", "principal", "thread_id") == [("local", "thread-1")]


def table_names(connection: Connection) -> list[str]:
    return inspect(connection).get_table_names()


async def test_without_an_audit_nothing_is_written(path: Path) -> None:
    async with backend(path, ScriptedModel.of(ADD), catalogue=CATALOGUE) as inside:
        await inside.turn(message("Add."))
        assert "audit" not in await inside.store.read(table_names)


async def test_no_record_has_a_word_of_what_was_said_or_done(path: Path) -> None:
    secret = "hunter2"
    calls: list[Piece] = [
        text(f"I say {secret}."),
        call(f'{{"name": "{secret}"}}', name="find_bridge", id="c1"),
        call(f'{{"{secret}": 1}}', name="add", id="c2", index=1),
        call(f'"{secret}', name="add", id="c3", index=2),
        call("{}", name=f"tool_{secret}", id="c4", index=3),
        finish("tool_calls"),
    ]
    model = ScriptedModel.of(calls, [ValueError(secret)])
    async with backend(path, model, catalogue=CATALOGUE, audits=True) as inside:
        await inside.turn(message(f"My password is {secret}"))
        assert len(await inside.recorded()) == 6
        assert secret not in audit_dump(path)
