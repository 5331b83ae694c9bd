"""The audit trail without a server: records that wait, refusals that are too many, old records."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.audit_rows import of, recorded
from tests.support.foreign_lock import foreign_lock
from tests.support.waiting import eventually
from turnstream.server.extensions.audit import records as table
from turnstream.server.extensions.audit import tables
from turnstream.server.extensions.audit import trail as module
from turnstream.server.extensions.audit.records import AuditFilter
from turnstream.server.extensions.audit.refusals import (
    MAX_ADDRESSES,
    MOST_OF_ALL,
    MOST_OF_ONE,
    Refusals,
)
from turnstream.server.extensions.audit.trail import Trail, open_trail
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.storage.store import SqliteStore, open_store
from turnstream.server.turns.audit_records import AuditRecord

BUSY_MS = 1000
DAY = 24 * 3600


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    async with open_store(path, BUSY_MS) as store:
        await store.write(tables.metadata.create_all)
        yield store


def call(run_id: str, id: str = "c1") -> AuditRecord:
    return AuditRecord("tool_call", "ann", run_id=run_id, tool_call_id=id)


# what waits


async def test_a_noted_record_is_written_without_anybody_waiting_for_it(
    store: SqliteStore,
) -> None:
    async with open_trail(store, 90) as trail:
        trail.note(call("r1"), call("r1", "c2"))

        async def written() -> bool:
            return len(await recorded(store)) == 2

        await eventually(written)
        assert of(await recorded(store), "tool_call", "tool_call_id") == [("c1",), ("c2",)]


async def test_a_runs_waiting_records_are_taken_by_who_writes_its_end(
    store: SqliteStore,
) -> None:
    async with open_trail(store, 90) as trail:
        trail.note(call("r1"), call("r2"), call("r1", "c2"))
        assert [r.tool_call_id for r in trail.take({"r1"})] == ["c1", "c2"]
    assert of(await recorded(store), "tool_call", "run_id") == [("r2",)]


async def test_a_process_that_ends_in_order_has_written_all(store: SqliteStore) -> None:
    async with open_trail(store, 90) as trail:
        trail.note(call("r1"))
    assert len(await recorded(store)) == 1


async def test_records_that_cannot_be_written_are_written_when_the_database_is_free_again(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    async with open_trail(store, 90) as trail:
        with foreign_lock(path):
            trail.note(call("r1"))
            with pytest.raises(StorageUnavailable):
                await trail.flush()
            trail.note(call("r2"))

        async def written() -> bool:
            return len(await recorded(store)) == 2

        await eventually(written)
        assert of(await recorded(store), "tool_call", "run_id") == [("r1",), ("r2",)]


async def test_what_waits_is_bounded_and_a_loss_is_logged(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 2)
    async with open_trail(store, 90) as trail:
        trail.note(call("r1"), call("r2"), call("r3"))
    assert of(await recorded(store), "tool_call", "run_id") == [("r2",), ("r3",)]
    assert "1 audit records are lost" in caplog.text


# refusals


def refusal(address: str) -> AuditRecord:
    return AuditRecord("refusal", outcome="unauthenticated", address=address)


async def test_refusals_of_one_address_are_recorded_up_to_a_number_and_then_counted() -> None:
    records: list[AuditRecord] = []
    refusals = Refusals(records.append)
    for _ in range(MOST_OF_ONE + 5):
        refusals.add(refusal("192.0.2.1"))
    refusals.add(refusal("192.0.2.2"))
    assert len(records) == MOST_OF_ONE + 1
    refusals.end_window()
    assert of(records, "refusal", "outcome", "count", "address")[-1] == ("left_out", 5, "192.0.2.1")
    refusals.add(refusal("192.0.2.1"))
    assert records[-1].outcome == "unauthenticated"
    refusals.end_window()


async def test_the_addresses_of_one_ipv6_network_are_one_client() -> None:
    records: list[AuditRecord] = []
    refusals = Refusals(records.append)
    for number in range(MOST_OF_ONE + 3):
        refusals.add(refusal(f"2001:db8::{number:x}"))
    refusals.add(refusal("2001:db8:0:1::1"))
    refusals.end_window()
    assert len(records) == MOST_OF_ONE + 2
    assert (records[-1].count, records[-1].address) == (3, "2001:db8::/64")


async def test_refusals_of_very_many_addresses_write_no_more_than_a_number_of_records() -> None:
    records: list[AuditRecord] = []
    refusals = Refusals(records.append)
    many = 5000
    for number in range(many):
        refusals.add(refusal(f"10.0.{number // 250}.{number % 250}"))
    refusals.end_window()
    assert len(records) == MOST_OF_ALL + MAX_ADDRESSES + 1
    assert records[-1].address is None
    assert sum(record.count or 1 for record in records) == many


async def test_the_counts_are_recorded_when_the_minute_is_over_though_nobody_comes_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("turnstream.server.extensions.audit.refusals.WINDOW_SECONDS", 0.01)
    records: list[AuditRecord] = []
    refusals = Refusals(records.append)
    for _ in range(MOST_OF_ONE + 1):
        refusals.add(refusal("192.0.2.1"))

    async def counted() -> bool:
        return records[-1].count == 1

    await eventually(counted)


# old records


async def aged(store: SqliteStore, *days: float) -> None:
    now = time.time()
    aged = [AuditRecord("login", f"{age}", at=now - age * DAY) for age in days]
    await store.write(table.append, aged)


async def test_records_older_than_the_days_are_deleted_at_start(store: SqliteStore) -> None:
    await aged(store, 91, 89, 0)
    async with open_trail(store, 90):
        assert of(await recorded(store), "login", "principal") == [("89",), ("0",)]


async def test_records_are_deleted_once_a_day(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_trail(store, 90):
        pass
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.01)
    async with open_trail(store, 90):
        await aged(store, 91, 1)

        async def expired() -> bool:
            return len(await recorded(store)) == 1

        await eventually(expired)


async def test_more_old_records_than_one_transaction_deletes_are_all_deleted(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EXPIRE_AT_ONCE", 3)
    await aged(store, *[100] * 10, 1)
    await module.expire(store, 90)
    assert len(await recorded(store)) == 1
    await module.expire(store, 0)
    assert await recorded(store) == []


async def test_numbers_of_records_are_not_used_again(store: SqliteStore) -> None:
    await aged(store, 1)
    await module.expire(store, 0)
    await aged(store, 1)
    assert [number for number, _ in await store.read(table.page, AuditFilter(), 0, 10)] == [2]


async def test_an_empty_trail_needs_no_write_at_start(store: SqliteStore, path: Path) -> None:
    with foreign_lock(path):
        async with open_trail(store, 90):
            pass


async def test_records_are_found_by_caller_thread_event_and_time(store: SqliteStore) -> None:
    now = time.time()
    added = [
        AuditRecord("login", "ann", at=now - 100),
        AuditRecord("run_started", "ann", thread_id="t1", at=now),
        AuditRecord("run_started", "bob", thread_id="t2", at=now),
    ]
    await store.write(table.append, added)
    assert [r.event for r in await recorded(store, principal="ann")] == ["login", "run_started"]
    assert [r.principal for r in await recorded(store, thread_id="t2")] == ["bob"]
    assert [r.principal for r in await recorded(store, event="run_started")] == ["ann", "bob"]
    assert len(await recorded(store, since=now - 1)) == 2


async def test_a_write_in_progress_is_not_written_again_at_the_end(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, written, told = store.write, asyncio.Event(), asyncio.Event()

    async def told_late(*given: Any) -> None:
        await write(*given)
        written.set()
        await told.wait()

    monkeypatch.setattr(store, "write", told_late)
    trail = Trail(store)
    trail.note(call("r1"))
    await written.wait()
    asyncio.get_running_loop().call_soon(told.set)
    await trail.close()
    assert len(await recorded(store)) == 1
