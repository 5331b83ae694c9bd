"""Runs on a Postgres database: what they save, read and delete."""

import asyncio
from functools import partial
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver

from tests.runs.test_postgres_leases import held_inserts, waits_for_a_lock
from tests.support.backend import backend, key_of, message
from tests.support.contracts.threads import SECOND, THREAD, begin
from tests.support.postgres_workers import let_lapse, put, query, saved, workers
from tests.support.statement_count import counted
from tests.support.waiting import eventually
from turnstream.graphs.offline import OfflineChatModel
from turnstream.server.extensions.workers.postgres.checkpointer import (
    PostgresCheckpointer,
    ReadingSaver,
)
from turnstream.server.extensions.workers.postgres.puts import putting
from turnstream.server.extensions.workers.postgres.transactions import driver
from turnstream.server.storage.interfaces import LeaseLost
from turnstream.server.storage.location import PostgresUrl

PLACE: Any = {"configurable": {"thread_id": THREAD.checkpoint_key, "checkpoint_ns": ""}}
TABLES = ("checkpoints", "checkpoint_writes", "checkpoint_blobs", "claims", "requests")
MODEL = OfflineChatModel(word_seconds=0)


def rows(url: PostgresUrl) -> dict[str, int]:
    return {name: query(url, f"SELECT count(*) FROM {name}")[0][0] for name in TABLES}


def saved_rows(url: PostgresUrl) -> list[list[tuple[Any, ...]]]:
    return [query(url, f"SELECT * FROM {name} ORDER BY 3, 4, 6") for name in TABLES[:3]]


async def test_turns_are_saved_and_a_deleted_thread_leaves_no_row(
    postgres_url: PostgresUrl,
) -> None:
    async with backend(postgres_url, MODEL) as inside:
        await inside.turn(message("What is 17 * 23, and what time is it in Tokyo?"))
        await inside.turn(message("And 2 * 3?"))
        before = await inside.messages()
    assert rows(postgres_url)["checkpoints"] > 4
    async with backend(postgres_url, MODEL) as inside:
        assert await inside.messages() == before
        await inside.runs.delete(key_of())
        assert await inside.messages() == []
    assert set(rows(postgres_url).values()) == {0}


async def test_a_long_thread_is_deleted_step_by_step_the_newest_first(
    postgres_url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "turnstream.server.extensions.workers.postgres.checkpointer.DELETED_AT_ONCE", 4
    )
    async with backend(postgres_url, MODEL) as inside:
        for words in ("One", "Two", "Three"):
            await inside.turn(message(words))
        whole = [each.id for each in await inside.messages()]
        saver = inside.checkpoints._saver
        assert isinstance(saver, PostgresCheckpointer)
        await inside.store.claim_for_deletion(key_of(), "d1")
        deletes_more, left = True, [whole]
        while deletes_more:
            deletes_more = await asyncio.to_thread(saver.delete_newest, key_of().checkpoint_key)
            left.append([each.id for each in await inside.messages()])
        assert len({len(some) for some in left}) > 2, "it was deleted step by step"
        assert all(whole[: len(some)] == some for some in left)
        await saver.adelete_thread(key_of().checkpoint_key)
        await inside.store.release(key_of(), "d1")
    assert set(rows(postgres_url).values()) == {0}


async def test_what_was_read_to_plan_a_run_is_handed_to_it(
    postgres_url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = 0
    history = PostgresSaver.get_delta_channel_history

    def counted(saver: PostgresSaver, **asked: Any) -> Any:
        nonlocal reads
        reads += 1
        return history(saver, **asked)

    async with backend(postgres_url, MODEL) as inside:
        await inside.turn(message("One"))
        monkeypatch.setattr(PostgresSaver, "get_delta_channel_history", counted)
        await inside.turn(message("Two"))
    assert reads == 1


async def test_a_write_that_is_cancelled_comes_to_its_end(postgres_url: PostgresUrl) -> None:
    checkpoint = empty_checkpoint()
    async with workers(postgres_url, 1) as [worker]:
        await begin(worker.store, THREAD, "r1")
        with worker.checkpointer.watch(THREAD.checkpoint_key) as writes:
            with held_inserts(postgres_url, "checkpoints"):
                writing = asyncio.create_task(worker.checkpointer.aput(PLACE, checkpoint, {}, {}))
                await eventually(lambda: waits_for_a_lock(postgres_url, "INSERT INTO checkpoints"))
                writing.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await writing
                assert await saved(worker, THREAD) == []
            await writes.settled()
            assert await saved(worker, THREAD) == [checkpoint["id"]]


async def test_a_write_that_fails_at_its_end_leaves_nothing(postgres_url: PostgresUrl) -> None:
    def fail_behind(saver: PostgresSaver) -> None:
        with saver._cursor() as cursor:
            cursor.execute("SELECT no_such_column FROM checkpoints", ())

    async with workers(postgres_url, 1) as [worker]:
        await begin(worker.store, THREAD, "r1")
        put = putting(PLACE, empty_checkpoint(), {}, {})
        writing = partial(worker.checkpointer._put, THREAD.checkpoint_key, [put, fail_behind])
        with pytest.raises(psycopg.errors.UndefinedColumn):
            await asyncio.to_thread(writing)
        assert await saved(worker, THREAD) == []


async def test_puts_of_one_transaction_are_one_statement_and_leave_the_rows_of_langgraphs_saver(
    postgres_url: PostgresUrl,
) -> None:
    first, second = empty_checkpoint(), empty_checkpoint()
    second["channel_values"] = {"whole": 1, "many": ["a", "\0"], "none": None, "word": "w"}
    versions: Any = {"many": "1", "whole": "1", "gone": "1"}
    behind: Any = {"configurable": {**PLACE["configurable"], "checkpoint_id": first["id"]}}
    written = [("many", ["b"]), ("__error__", "e"), ("word", None)]

    def puts(saver: PostgresSaver) -> None:
        saver.put(PLACE, first, {"source": "input"}, {})
        saver.put_writes(behind, written, "task", "path")
        saver.put_writes(behind, [("__resume__", "r")], "null")
        saver.put(behind, second, {"source": "loop"}, versions)

    async with workers(postgres_url, 1) as [worker]:
        await begin(worker.store, THREAD, "r1")
        saver = worker.checkpointer
        with counted() as sent:
            await asyncio.to_thread(saver._put, THREAD.checkpoint_key, [puts])
        assert (len(sent.statements), sent.transactions) == (1, 1)
        ours = saved_rows(postgres_url)
        for name in TABLES[:3]:
            query(postgres_url, f"DELETE FROM {name}")
        await worker.store.write(
            lambda connection: puts(ReadingSaver(driver(connection), serde=saver.serde))
        )
    assert ours == saved_rows(postgres_url)
    assert all(ours)


async def test_a_row_that_is_put_twice_in_one_transaction_is_as_the_last_put_leaves_it(
    postgres_url: PostgresUrl,
) -> None:
    checkpoint = empty_checkpoint()
    place: Any = {"configurable": {**PLACE["configurable"], "checkpoint_id": checkpoint["id"]}}

    def puts(saver: PostgresSaver) -> None:
        saver.put(PLACE, checkpoint, {}, {})
        for word in ("first", "last"):
            saver.put_writes(place, [("__resume__", word)], "null")
            saver.put_writes(place, [("channel", word)], "task")

    async with workers(postgres_url, 1) as [worker]:
        await begin(worker.store, THREAD, "r1")
        await asyncio.to_thread(worker.checkpointer._put, THREAD.checkpoint_key, [puts])
        found = await worker.checkpointer.aget_tuple(PLACE)
    assert found
    assert found.pending_writes
    # A task's writes stay, what answers an interrupt is taken anew.
    assert {*found.pending_writes} == {("null", "__resume__", "last"), ("task", "channel", "first")}


async def test_a_graph_that_changes_what_it_loads_changes_nothing_of_the_plan(
    postgres_url: PostgresUrl,
) -> None:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"many": ["a"], "word": "w"}
    checkpoint["channel_versions"] = {"many": "1", "word": "1"}
    async with workers(postgres_url, 1) as [worker]:
        await begin(worker.store, THREAD, "r1")
        await worker.checkpointer.aput(PLACE, checkpoint, {}, {"many": "1", "word": "1"})
        await worker.store.end_run(THREAD, "r1", "finished")
        await worker.store.claim(THREAD, "r2")
        planned = await worker.checkpointer.aget_tuple(PLACE)
        with counted() as sent:
            given = await worker.checkpointer.aget_tuple(PLACE)
        assert sent.statements == [], "it is not read again"
        assert planned
        assert given == planned
        given.checkpoint["channel_values"]["many"].append("b")
        given.checkpoint["channel_versions"]["many"] = "2"
        assert planned.checkpoint["channel_values"]["many"] == ["a"]
        assert planned.checkpoint["channel_versions"]["many"] == "1"


async def test_what_was_read_ahead_of_a_write_is_not_taken_for_what_is_there(
    postgres_url: PostgresUrl,
) -> None:
    async with workers(postgres_url, 1) as [worker]:
        await worker.store.claim(THREAD, "r1")
        assert await worker.checkpointer.aget_tuple(PLACE) is None
        claim = worker.checkpointer._held.find(THREAD.checkpoint_key)
        assert claim.latest
        written = await put(worker, THREAD)
        assert not claim.latest, "it is not kept as long as the run works"
        found = await worker.checkpointer.aget_tuple(PLACE)
        assert found
        assert found.checkpoint["id"] == written


async def test_a_thread_that_is_handed_to_its_graph_has_the_types_that_the_graph_may_load(
    postgres_url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In LangGraph's strict mode each graph has a saver that knows the types of its state."""
    monkeypatch.setattr("langgraph.checkpoint.serde._msgpack.STRICT_MSGPACK_ENABLED", True)
    checkpoint, kind = empty_checkpoint(), type(THREAD)
    checkpoint["channel_values"], checkpoint["channel_versions"] = {"key": THREAD}, {"key": "1"}
    async with workers(postgres_url, 1) as [worker]:
        saver = worker.checkpointer.with_allowlist({(kind.__module__, kind.__name__)})
        assert saver is not worker.checkpointer
        await begin(worker.store, THREAD, "r1")
        await saver.aput(PLACE, checkpoint, {}, {"key": "1"})
        await worker.store.end_run(THREAD, "r1", "finished")
        await worker.store.claim(THREAD, "r2")
        for _ in ("planned", "given"):
            found = await saver.aget_tuple(PLACE)
            assert found
            assert found.checkpoint["channel_values"]["key"] == THREAD


@pytest.mark.parametrize("earlier", range(4, 8))
async def test_a_write_that_was_refused_spoils_no_connection(
    postgres_url: PostgresUrl, earlier: int
) -> None:
    """psycopg prepares a statement that it has sent a few times; what it sends behind the fence is
    not prepared."""
    async with workers(postgres_url, 1) as [worker]:
        await begin(worker.store, THREAD, "r1")
        for _ in range(earlier):
            await put(worker, THREAD)
        await begin(worker.store, SECOND, "r2")
        let_lapse(postgres_url, "r2")
        with pytest.raises(LeaseLost):
            await put(worker, SECOND)
        await worker.leases.renew()
        saved_later = [await put(worker, THREAD) for _ in range(2)]
        assert {*saved_later} <= {*await saved(worker, THREAD)}


async def test_a_step_of_a_run_is_one_transaction_and_the_first_has_the_input_too(
    postgres_url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "turnstream.server.extensions.workers.postgres.held_writes.HELD_SECONDS", 3600
    )
    async with backend(postgres_url, MODEL) as inside:
        saver = inside.checkpoints._saver
        assert isinstance(saver, PostgresCheckpointer)
        fenced, transactions = saver._fenced, 0

        def counted(thread_id: str, work: Any) -> Any:
            nonlocal transactions
            transactions += 1
            return fenced(thread_id, work)

        monkeypatch.setattr(saver, "_fenced", counted)
        await inside.turn(message("What time is it in Tokyo?"))
    saved = rows(postgres_url)
    assert saved["checkpoint_writes"] >= 4
    assert transactions == saved["checkpoints"] - 1


async def test_the_heads_are_the_last_checkpoints_of_each_branch(
    postgres_url: PostgresUrl,
) -> None:
    async with workers(postgres_url, 1) as [worker]:
        await begin(worker.store, THREAD, "r1")
        saver, ids = worker.checkpointer, []
        root = await saver.aput(PLACE, empty_checkpoint(), {}, {})
        for parent in (root, root):
            checkpoint = empty_checkpoint()
            await saver.aput(parent, checkpoint, {}, {})
            ids.append(checkpoint["id"])
        assert await saver.heads(THREAD.checkpoint_key, 5) == ids[::-1]
        assert await saver.heads(THREAD.checkpoint_key, 1) == ids[1:]
        await saver.drop_branch(THREAD.checkpoint_key, ids[0])
        assert await saver.heads(THREAD.checkpoint_key, 5) == ids[1:]


async def test_synchronous_calls_on_other_threads_read_and_write_too(
    postgres_url: PostgresUrl,
) -> None:
    checkpoint = empty_checkpoint()
    async with workers(postgres_url, 1) as [worker]:
        await begin(worker.store, THREAD, "r1")
        saver = worker.checkpointer
        place = await asyncio.to_thread(saver.put, PLACE, checkpoint, {}, {})
        await asyncio.to_thread(saver.put_writes, place, [("channel", "word")], "task")
        found = await asyncio.to_thread(saver.get_tuple, PLACE)
        assert found
        assert found.checkpoint["id"] == checkpoint["id"]
        assert found.pending_writes == [("task", "channel", "word")]
        assert len(await asyncio.to_thread(lambda: [*saver.list(PLACE)])) == 1
