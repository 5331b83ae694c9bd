"""Threads that nobody uses for long are deleted, and their space goes back to the disk."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.ageing import age
from tests.support.backend import Backend, backend, key_of, message
from tests.support.long_threads import history
from tests.support.waiting import HeldMethod
from turnstream.graphs.offline import OfflineChatModel
from turnstream.server.runs.retention import DAY_SECONDS, Retention
from turnstream.server.storage import unused_space
from turnstream.server.storage.interfaces import WaitingApproval
from turnstream.server.storage.store import SqliteStore

DAYS = 30.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
async def inside(path: Path) -> AsyncIterator[Backend]:
    async with backend(path, OfflineChatModel(word_seconds=0), audits=True) as inside:
        yield inside


def store_of(inside: Backend) -> SqliteStore:
    assert isinstance(inside.store, SqliteStore)
    return inside.store


def retention(inside: Backend, days: float | None = DAYS) -> Retention:
    return Retention(store_of(inside), inside.runs.deletions.delete_idle, days)


async def listed(inside: Backend) -> set[str]:
    return {entry.id for entry in (await inside.store.page("local", 100)).entries}


async def waits(inside: Backend, thread: str, expires_at: float | None) -> None:
    """A call of the thread waits for an approval."""
    entry = await inside.entry(thread)
    assert entry
    asked = WaitingApproval(key_of(thread), "c1", "c1", "pay", {}, 0.0, expires_at=expires_at)
    await inside.store.end_run(key_of(thread), entry.run_id, "waiting", (), [asked])


async def test_old_threads_are_deleted_whole_and_recorded(path: Path, inside: Backend) -> None:
    for thread in ("old", "older", "new"):
        await inside.turn(message(), thread)
    age(path, 31, "old")
    age(path, 400, "older")
    age(path, 29, "new")
    assert await retention(inside).expire() == 2
    assert await listed(inside) == {"new"}
    assert await inside.messages("old") == []
    assert await inside.messages("new")
    deleted = [each for each in await inside.recorded() if each.event == "thread_deleted"]
    assert [(each.thread_id, each.outcome) for each in deleted] == [
        ("older", "expired"),
        ("old", "expired"),
    ]


async def test_without_the_setting_no_thread_is_too_old(path: Path, inside: Backend) -> None:
    await inside.turn(message(), "old")
    age(path, 10_000, "old")
    assert await retention(inside, None).expire() == 0
    assert await listed(inside) == {"old"}


async def test_a_live_run_keeps_its_thread(path: Path) -> None:
    async with backend(path, OfflineChatModel(word_seconds=60)) as inside:
        await inside.start(message("Tell me about lighthouses"), "live")
        age(path, 400, "live")
        assert await retention(inside).expire() == 0
        await inside.stop("live")
        assert await retention(inside).expire() == 1


async def test_a_call_that_waits_for_an_approval_keeps_its_thread_until_that_expires(
    path: Path, inside: Backend
) -> None:
    threads = {"always": None, "still": time.time() + 1000, "expired": time.time() - 1}
    for thread, expires_at in threads.items():
        await inside.turn(message(), thread)
        await waits(inside, thread, expires_at)
    age(path, 400, *threads)
    assert await retention(inside).expire() == 1
    assert await listed(inside) == {"always", "still"}


async def test_threads_that_stay_hide_none_that_go(
    path: Path, inside: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnstream.server.runs.retention.AT_ONCE", 2)
    threads = [f"t{number}" for number in range(7)]
    for thread in threads:
        await inside.turn(message(), thread)
    for thread in threads[:3]:
        await waits(inside, thread, None)
    age(path, 400, *threads)
    assert await retention(inside).expire() == 4
    assert await listed(inside) == {"t0", "t1", "t2"}


async def test_a_thread_that_is_used_before_its_turn_comes_stays(
    path: Path, inside: Backend
) -> None:
    await inside.turn(message(), "old")
    age(path, 400, "old")
    since = time.time() - DAYS * DAY_SECONDS
    assert [idle.key for idle in await store_of(inside).idle(since, time.time(), 10)]
    await inside.turn(message("I am back"), "old")
    assert not await inside.runs.deletions.delete_idle(key_of("old"), since)
    assert len(await inside.turns("old")) == 4


async def test_a_thread_whose_request_is_being_checked_stays(path: Path, inside: Backend) -> None:
    await inside.turn(message(), "old")
    age(path, 400, "old")
    await inside.store.claim(key_of("old"), "a-run")
    assert await retention(inside).expire() == 0
    assert await listed(inside) == {"old"}


async def test_a_thread_whose_request_is_to_begin_later_stays_until_it_has_been_due_for_long(
    path: Path, inside: Backend
) -> None:
    await inside.turn(message(), "old")
    await inside.queue(message("Later", after_seconds=20 * DAY_SECONDS), "old")
    age(path, 400, "old")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE queued_requests SET queued_at = 0")
    assert await retention(inside).expire() == 0
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE queued_requests SET due_at = 0")
    assert await retention(inside).expire() == 1


async def test_a_deletion_that_has_begun_is_finished_and_no_other_begins(
    path: Path, inside: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    for thread in ("a", "b"):
        await inside.turn(message(), thread)
    age(path, 400, "a", "b")
    work = retention(inside)
    held = HeldMethod(monkeypatch, inside.store, "delete")
    running = asyncio.create_task(work.run())
    await held.reached.wait()
    work.close()
    held.through.set()
    await running
    assert len(await listed(inside)) == 1


async def test_the_file_gets_smaller_while_runs_go_on(path: Path, inside: Backend) -> None:
    await inside.checkpoints.add(key_of("long"), history(3000))
    await inside.turn(message(), "long")
    await inside.turn(message(), "short")
    age(path, 400, "long")
    before = pages(path)
    work = retention(inside)
    assert await work.expire() == 1
    await asyncio.gather(work.shrink(), inside.turn(message(), "short"))
    assert pages(path) < before / 2
    assert len(await inside.turns("short")) == 4


async def test_one_transaction_gives_back_no_more_than_it_may(
    path: Path, inside: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unused_space, "PAGES_AT_ONCE", 7)
    await inside.checkpoints.add(key_of("long"), history(500))
    await inside.runs.delete(key_of("long"))
    before = pages(path)
    assert await store_of(inside).shrink()
    assert pages(path) == before - 7


async def test_a_file_of_an_earlier_version_keeps_its_size(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE anything (x)")
        connection.commit()
    async with backend(path, OfflineChatModel(word_seconds=0)) as inside:
        await inside.checkpoints.add(key_of("long"), history(500))
        await inside.runs.delete(key_of("long"))
        before = pages(path)
        assert not await store_of(inside).shrink()
        assert pages(path) == before


def pages(path: Path) -> int:
    """Of the database, what its write-ahead log holds included."""
    with closing(sqlite3.connect(path)) as connection:
        (count,) = connection.execute("PRAGMA page_count").fetchone()
    return int(count)
