"""Writes that wait for the checkpoint behind them, without a database."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from tests.support.waiting import until
from turnstream.server.extensions.workers.postgres import held_writes
from turnstream.server.extensions.workers.postgres.held_writes import HeldWrites


class Database:
    """Each list is a transaction."""

    def __init__(self) -> None:
        self.done: list[list[str]] = []
        self.refuses = False
        self.open = asyncio.Event()
        self.open.set()
        self.writes: HeldWrites[str] = HeldWrites(self.write)

    async def write(self, works: Sequence[str]) -> Sequence[str]:
        await self.open.wait()
        if self.refuses:
            raise OSError("no space")
        self.done.append([*works])
        return [work.upper() for work in works]


@pytest.fixture
async def database(monkeypatch: pytest.MonkeyPatch) -> Database:
    monkeypatch.setattr(held_writes, "HELD_SECONDS", 3600)
    return Database()


async def test_what_tasks_have_written_goes_with_the_checkpoint_behind_it(
    database: Database,
) -> None:
    with database.writes.streaming():
        await database.writes.hold("a")
        await database.writes.hold("b")
        assert await database.writes.send("c") == "C"
    assert database.done == [["a", "b", "c"]]


async def test_what_must_be_on_disk_is_not_held_any_longer(database: Database) -> None:
    with database.writes.streaming():
        await database.writes.hold("a")
        await database.writes.committed()
        assert database.done == [["a"]]
        await database.writes.hold("b")
        await database.writes.settled()
        assert database.done == [["a"], ["b"]]


async def test_it_waits_a_few_rounds_for_the_checkpoint(database: Database) -> None:
    async def later() -> None:
        for _ in range(held_writes.ROUNDS // 2):
            await asyncio.sleep(0)
        await database.writes.send("checkpoint")

    with database.writes.streaming():
        await database.writes.hold("a")
        await asyncio.gather(database.writes.committed(), later())
    assert database.done == [["a", "checkpoint"]]


async def test_what_nobody_waits_for_is_held_for_a_moment_only(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_writes, "HELD_SECONDS", 0)
    with database.writes.streaming():
        await database.writes.hold("a")
        await until(lambda: database.done == [["a"]])


async def test_nothing_is_held_while_no_graph_streams(database: Database) -> None:
    await database.writes.hold("a")
    assert database.done == [["a"]]
    with database.writes.streaming():
        await database.writes.hold("b")
    await database.writes.settled()
    assert database.done == [["a"], ["b"]]


@pytest.mark.parametrize("last", ["committed", "send"])
async def test_nothing_is_written_behind_a_write_that_failed(database: Database, last: str) -> None:
    database.refuses = True
    with database.writes.streaming():
        await database.writes.hold("a")
        await database.writes.settled()
        database.refuses = False
        behind: Callable[[], object] = {
            "committed": database.writes.committed,
            "send": lambda: database.writes.send("checkpoint"),
        }[last]
        with pytest.raises(OSError, match="no space"):
            await behind()  # type: ignore[misc]
    assert database.done == []
    assert isinstance(database.writes.failure, OSError)


async def test_the_end_of_a_run_is_written_though_a_write_of_its_graph_failed(
    database: Database,
) -> None:
    database.refuses = True
    with database.writes.streaming():
        await database.writes.hold("a")
    await database.writes.settled()
    database.refuses = False
    assert await database.writes.send("end") == "END"
    assert database.done == [["end"]]


async def test_a_checkpoint_that_is_cancelled_comes_to_its_end_with_what_was_held(
    database: Database,
) -> None:
    database.open.clear()
    with database.writes.streaming():
        await database.writes.hold("a")
        sending = asyncio.create_task(database.writes.send("checkpoint"))
        await asyncio.sleep(0)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        database.open.set()
        await database.writes.settled()
    assert database.done == [["a", "checkpoint"]]


async def test_transactions_follow_each_other(database: Database) -> None:
    database.open.clear()
    both = asyncio.gather(database.writes.send("first"), database.writes.send("second"))
    await asyncio.sleep(0)
    database.open.set()
    assert [*await both] == ["FIRST", "SECOND"]
    assert database.done == [["first"], ["second"]]
