"""The checkpointer's writes while the database is locked: whole or not at all, beside its reads."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from tests.support.backend import backend, key_of, message
from tests.support.foreign_lock import foreign_lock
from tests.support.waiting import until
from turnstream.graphs.offline import OfflineChatModel
from turnstream.server.storage.checkpointer import SqliteCheckpointer, open_checkpointer
from turnstream.server.storage.interfaces import StorageUnavailable

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}}
LONG_MS = 60_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
async def patient(path: Path) -> AsyncIterator[SqliteCheckpointer]:
    """Waits for the lock as long as a test takes."""
    async with open_checkpointer(path, LONG_MS) as checkpointer:
        yield checkpointer


@pytest.fixture
async def impatient(path: Path) -> AsyncIterator[SqliteCheckpointer]:
    async with open_checkpointer(path, 100) as checkpointer:
        yield checkpointer


async def put(checkpointer: SqliteCheckpointer) -> str:
    """Save a checkpoint: its id."""
    checkpoint = empty_checkpoint()
    await checkpointer.aput(CONFIG, checkpoint, {}, {})
    return checkpoint["id"]


async def saved(checkpointer: SqliteCheckpointer) -> list[str]:
    return [found.checkpoint["id"] async for found in checkpointer.alist(CONFIG)]


async def refused(checkpointer: SqliteCheckpointer) -> None:
    with pytest.raises(StorageUnavailable) as error:
        await put(checkpointer)
    assert error.value.code == "storage_busy"


async def test_a_thread_is_read_while_a_write_waits(
    path: Path, patient: SqliteCheckpointer
) -> None:
    first = await put(patient)
    with foreign_lock(path):
        write = asyncio.create_task(put(patient))
        await until(patient.lock.locked)
        found = await patient.aget_tuple(CONFIG)
        assert found is not None
        assert found.checkpoint["id"] == first
        await patient.aget_delta_channel_history(config=CONFIG, channels=["messages"])
        assert await saved(patient) == [first]
        assert not write.done()
    second = await write
    assert await saved(patient) == [second, first]


async def test_writes_that_wait_for_the_lock_are_refused_together(
    path: Path, impatient: SqliteCheckpointer
) -> None:
    with foreign_lock(path):
        async with asyncio.timeout(5):  # one after the other: ten seconds
            await asyncio.gather(*(refused(impatient) for _ in range(100)))


async def test_a_write_that_failed_is_in_the_way_of_no_other(
    path: Path, impatient: SqliteCheckpointer
) -> None:
    first = await put(impatient)
    with foreign_lock(path):
        await refused(impatient)
        with pytest.raises(StorageUnavailable):
            await impatient.aput_writes(
                {"configurable": {**CONFIG["configurable"], "checkpoint_id": first}},
                [("messages", "Hello")],
                "task",
            )
        with pytest.raises(StorageUnavailable):
            await impatient.adelete_thread("t1")
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE of_another_program (x)")
    other.close()
    second = await put(impatient)
    assert await saved(impatient) == [second, first]


async def test_a_write_that_is_cancelled_comes_to_its_end_before_the_thread_is_settled(
    path: Path, patient: SqliteCheckpointer
) -> None:
    with patient.watch("t1") as writes:
        with foreign_lock(path):
            write = asyncio.create_task(put(patient))
            await until(patient.lock.locked)
            write.cancel()
            with pytest.raises(asyncio.CancelledError):
                await write
            settled = asyncio.create_task(writes.settled())
            assert await saved(patient) == []
            assert not settled.done()
        await settled
        [written] = await saved(patient)
    assert await put(patient) != written


async def test_a_write_that_is_cancelled_before_it_begins_leaves_nothing(
    path: Path, patient: SqliteCheckpointer
) -> None:
    with foreign_lock(path), patient.watch("t1") as writes:
        first = asyncio.create_task(put(patient))
        await until(patient.lock.locked)
        second = asyncio.create_task(put(patient))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert writes.newest is None
    written = await first
    assert await saved(patient) == [written]


async def test_a_write_that_fails_halfway_leaves_nothing(patient: SqliteCheckpointer) -> None:
    first = await put(patient)
    config: RunnableConfig = {"configurable": {**CONFIG["configurable"], "checkpoint_id": first}}
    patient.conn.execute(
        "CREATE TRIGGER refuses BEFORE INSERT ON writes WHEN NEW.channel = 'second' "
        "BEGIN SELECT RAISE(FAIL, 'refused'); END"
    )
    with pytest.raises(sqlite3.IntegrityError):
        await patient.aput_writes(config, [("first", 1), ("second", 2)], "task")
    await put(patient)
    assert patient.conn.execute("SELECT count(*) FROM writes").fetchone() == (0,)


async def test_a_graph_that_is_not_asynchronous_writes_from_any_thread(
    patient: SqliteCheckpointer,
) -> None:
    checkpoint = empty_checkpoint()
    await asyncio.to_thread(patient.put, CONFIG, checkpoint, {}, {})
    found = await asyncio.to_thread(patient.get_tuple, CONFIG)
    assert found is not None
    assert found.checkpoint["id"] == checkpoint["id"]


async def test_a_write_that_finds_the_disk_full_is_in_the_way_of_no_other(
    path: Path, impatient: SqliteCheckpointer
) -> None:
    first = await put(impatient)
    impatient.conn.execute("PRAGMA max_page_count = 1")  # no more than there are
    large = empty_checkpoint() | {"channel_values": {"messages": "x" * 100_000}}
    with pytest.raises(StorageUnavailable) as error:
        await impatient.aput(CONFIG, large, {}, {})
    assert error.value.code == "storage_full"
    with foreign_lock(path):
        assert await saved(impatient) == [first]
    impatient.conn.execute("PRAGMA max_page_count = 1000000")
    second = await put(impatient)
    assert await saved(impatient) == [second, first]


async def test_who_waits_for_the_writes_hears_that_one_failed(
    path: Path, impatient: SqliteCheckpointer
) -> None:
    with impatient.watch("t1") as writes, foreign_lock(path):
        write = asyncio.create_task(refused(impatient))
        with pytest.raises(StorageUnavailable):
            await writes.committed()
        await write


async def test_a_turn_decodes_its_thread_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []
    history = SqliteSaver.get_delta_channel_history

    def counted(saver: SqliteSaver, **asked: Any) -> Any:
        decoded.append(asked["config"]["configurable"]["checkpoint_id"])
        return history(saver, **asked)

    monkeypatch.setattr(SqliteSaver, "get_delta_channel_history", counted)
    async with backend(path, OfflineChatModel(word_seconds=0)) as inside:
        for _ in range(3):
            await inside.turn(message("Hello"))
    assert len(decoded) == len(set(decoded)) == 2


async def test_what_was_read_is_kept_for_one_reader_only(patient: SqliteCheckpointer) -> None:
    for _ in range(3):
        newest = await put(patient)
    config: RunnableConfig = {"configurable": {**CONFIG["configurable"], "checkpoint_id": newest}}
    first, second, third = [
        await patient.aget_delta_channel_history(config=config, channels=["messages"])
        for _ in range(3)
    ]
    assert first is second
    assert third is not second
    assert first == third


async def test_a_write_under_way_comes_to_its_end_before_the_database_is_closed(
    path: Path,
) -> None:
    """Closed in mid-transaction, SQLite can keep the file locked as long as a cursor lives."""
    others = {*threading.enumerate()}
    async with AsyncExitStack() as stack:
        checkpointer = await stack.enter_async_context(open_checkpointer(path, LONG_MS))
        (reading,) = (t for t in {*threading.enumerate()} - others if "reads" in t.name)
        with foreign_lock(path):
            writing = asyncio.create_task(put(checkpointer))
            await until(checkpointer.lock.locked)
            closing = asyncio.create_task(stack.pop_all().aclose())
            await until(lambda: not reading.is_alive())
            assert not closing.done()
        await closing
        written = await writing
    async with open_checkpointer(path) as again:
        assert await saved(again) == [written]


async def test_a_deletion_that_breaks_off_leaves_the_thread_as_it_once_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnstream.server.storage.checkpointer.DELETED_AT_ONCE", 4)
    async with backend(path, OfflineChatModel(word_seconds=0)) as inside:
        for words in ("One", "Two", "Three"):
            await inside.turn(message(words))
        whole = [each.id for each in await inside.messages()]
        saver = inside.checkpoints._saver
        assert isinstance(saver, SqliteCheckpointer)
        deletes_more, left = True, [whole]
        while deletes_more:
            deletes_more = saver.delete_newest(key_of().checkpoint_key)
            left.append([each.id for each in await inside.messages()])
        assert len({len(some) for some in left}) > 2, "it was deleted step by step"
        assert all(whole[: len(some)] == some for some in left)
        await saver.adelete_thread(key_of().checkpoint_key)
        assert await inside.messages() == []
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM writes").fetchone() == (0,)
        assert database.execute("SELECT count(*) FROM checkpoints").fetchone() == (0,)
    database.close()
