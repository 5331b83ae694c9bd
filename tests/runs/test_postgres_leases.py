"""Several workers on one Postgres database: claims, leases, what a late worker may not write."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import ProgrammingError

from tests.support.contracts.threads import KEY, OTHERS, SECOND, THREAD, begin
from tests.support.postgres_workers import let_lapse, put, query, saved, stop_noted, workers
from tests.support.waiting import WAIT_SECONDS, eventually
from turnstream.server.extensions.workers.leases import Holder
from turnstream.server.extensions.workers.postgres.opened import PostgresStorage
from turnstream.server.storage.interfaces import (
    Granted,
    Held,
    LeaseLost,
    LostRun,
    Repeated,
    StorageUnavailable,
)
from turnstream.server.storage.location import PostgresUrl
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import IdempotencyKey

STOPPED = {"reason": "stopped"}


@pytest.fixture
async def pair(postgres_url: PostgresUrl) -> AsyncIterator[Sequence[PostgresStorage]]:
    async with workers(postgres_url) as opened:
        yield opened


async def lost_by(first: PostgresStorage, second: PostgresStorage, url: PostgresUrl) -> None:
    """The first has begun a run; the second has taken it over."""
    await begin(first.store, THREAD, "r1")
    let_lapse(url)
    assert await second.leases.take_over(THREAD, "r1")


@contextmanager
def held_inserts(url: PostgresUrl, table: str) -> Iterator[None]:
    """Whoever inserts into a table waits, in mid-transaction, until this is left."""
    query(
        url,
        f"""
        CREATE FUNCTION wait() RETURNS trigger AS
            'BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NEW; END' LANGUAGE plpgsql;
        CREATE TRIGGER wait BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION wait()
        """,
    )
    try:
        with psycopg.connect(url.secret) as connection:
            connection.execute("SELECT pg_advisory_lock(7)")
            yield
    finally:
        query(url, "DROP FUNCTION wait CASCADE")


async def waits_for_a_lock(url: PostgresUrl, begins: str) -> bool:
    [(count,)] = await asyncio.to_thread(
        query,
        url,
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND wait_event_type = 'Lock' AND query ILIKE %s",
        f"%{begins}%",
    )
    return bool(count == 1)


async def test_of_claims_by_several_workers_at_once_one_is_granted(
    pair: Sequence[PostgresStorage],
) -> None:
    claims = [worker.store.claim(THREAD, f"r{n}") for n in range(20) for worker in pair]
    results = Counter(await asyncio.gather(*claims))
    holder = await pair[0].store.holder(THREAD)
    assert results == {Granted(): 1, Held(holder): 39}


async def test_of_requests_under_one_key_at_several_workers_one_is_granted(
    pair: Sequence[PostgresStorage],
) -> None:
    keys = [(n, which) for n in range(20) for which in (0, 1)]
    results = await asyncio.gather(
        *(pair[w].store.claim(ThreadKey("ann", f"t{n}.{w}"), f"r{n}.{w}", KEY) for n, w in keys)
    )
    assert sum(isinstance(one, Granted) for one in results) == 1
    assert len({one for one in results if isinstance(one, Repeated)}) == 1
    same_thread = IdempotencyKey("other", "digest")
    again = await asyncio.gather(
        *(pair[w].store.claim(SECOND, f"s{n}.{w}", same_thread) for n, w in keys)
    )
    assert not any(isinstance(one, Held) for one in again), "it is the same request"


async def test_a_claim_says_who_has_it_and_is_taken_over_when_its_lease_is_over(
    pair: Sequence[PostgresStorage], postgres_url: PostgresUrl
) -> None:
    first, second = pair
    await begin(first.store, THREAD, "r1")
    await second.store.claim_for_deletion(SECOND, "d1")
    assert await second.leases.holder(THREAD) == Holder("r1", first.leases.worker, lapsed=False)
    assert await second.leases.holder(OTHERS) is None
    assert await second.leases.lapsed(10) == []
    assert not await second.leases.take_over(THREAD, "r1")
    let_lapse(postgres_url)
    lapsed = await second.leases.lapsed(10)
    deletion = LostRun(SECOND, "d1", purpose="deletion")
    assert sorted(lapsed, key=lambda lost: lost.run_id) == [deletion, LostRun(THREAD, "r1")]
    assert not await second.leases.take_over(THREAD, "another"), "that run is over"
    assert await second.leases.take_over(THREAD, "r1")
    assert not await first.leases.take_over(THREAD, "r1"), "it has a lease again"
    assert await first.leases.holder(THREAD) == Holder("r1", second.leases.worker, lapsed=False)
    await second.store.end_run(THREAD, "r1", "interrupted")
    assert await first.leases.holder(THREAD) is None


async def test_after_a_takeover_the_late_worker_writes_nothing(
    pair: Sequence[PostgresStorage], postgres_url: PostgresUrl
) -> None:
    first, second = pair
    lost: list[str] = []
    first.leases.on_lost(lost.append)
    await lost_by(first, second, postgres_url)
    for late in (
        put(first, THREAD),
        first.store.end_run(THREAD, "r1", "finished"),
        first.store.begin_run(THREAD, "r1", "Late"),
        first.store.keep_dispositions(THREAD, {"c1": "client"}),
        first.store.put_words(THREAD, "r1", "Late"),
        first.store.delete(THREAD),
        first.checkpointer.adelete_thread(THREAD.checkpoint_key),
    ):
        with pytest.raises(LeaseLost):
            await late
    await first.store.release(THREAD, "r1")
    await asyncio.sleep(0)
    assert lost == ["r1"]
    assert await saved(second, THREAD) == []
    entry = await second.store.get(THREAD)
    assert entry
    assert (entry.title, entry.run_state) == ("Hello", "live")
    assert await second.store.holder(THREAD) == "r1"
    written = await put(second, THREAD)
    assert await saved(second, THREAD) == [written]


async def test_a_thread_that_was_not_claimed_is_not_written(
    pair: Sequence[PostgresStorage],
) -> None:
    with pytest.raises(LeaseLost):
        await put(pair[0], THREAD)
    assert await saved(pair[0], THREAD) == []


async def test_a_claim_whose_lease_is_over_admits_no_write_even_if_nobody_has_taken_it(
    pair: Sequence[PostgresStorage], postgres_url: PostgresUrl
) -> None:
    await begin(pair[0].store, THREAD, "r1")
    let_lapse(postgres_url)
    with pytest.raises(LeaseLost):
        await put(pair[0], THREAD)
    await pair[0].leases.renew()
    assert (await pair[1].leases.lapsed(10)) == [LostRun(THREAD, "r1")], "it is renewed no more"


async def test_a_takeover_waits_for_a_write_that_was_admitted(
    pair: Sequence[PostgresStorage], postgres_url: PostgresUrl
) -> None:
    first, second = pair
    await begin(first.store, THREAD, "r1")
    with held_inserts(postgres_url, "checkpoints"):
        writing = asyncio.create_task(put(first, THREAD))
        await eventually(lambda: waits_for_a_lock(postgres_url, "INSERT INTO checkpoints"))
        let_lapse(postgres_url)
        taking = asyncio.create_task(second.leases.take_over(THREAD, "r1"))
        await eventually(lambda: waits_for_a_lock(postgres_url, "UPDATE claims SET worker"))
        assert not taking.done()
    async with asyncio.timeout(WAIT_SECONDS):
        assert await taking
        written = await writing
    assert await saved(second, THREAD) == [written]
    with pytest.raises(LeaseLost):
        await put(first, THREAD)
    assert await saved(second, THREAD) == [written]


async def test_a_renewal_waits_for_no_write_and_no_write_for_it(
    pair: Sequence[PostgresStorage], postgres_url: PostgresUrl
) -> None:
    first = pair[0]
    await begin(first.store, THREAD, "r1")
    with held_inserts(postgres_url, "checkpoints"):
        writing = asyncio.create_task(put(first, THREAD))
        await eventually(lambda: waits_for_a_lock(postgres_url, "INSERT INTO checkpoints"))
        async with asyncio.timeout(WAIT_SECONDS):
            await first.leases.renew()
        assert not writing.done()
    written = await writing
    assert await saved(first, THREAD) == [written]


async def test_a_worker_that_is_paused_in_a_transaction_does_not_keep_its_claim(
    postgres_url: PostgresUrl,
) -> None:
    goes_on, admitted = threading.Event(), threading.Event()

    def paused(_connection: Connection) -> None:
        admitted.set()
        goes_on.wait(WAIT_SECONDS)

    async with workers(postgres_url, lease_seconds=1) as (first, second):
        await begin(first.store, THREAD, "r1")
        pausing = asyncio.create_task(first.store.write_claimed(THREAD, "r1", paused))
        await asyncio.to_thread(admitted.wait, WAIT_SECONDS)
        let_lapse(postgres_url)
        async with asyncio.timeout(WAIT_SECONDS):
            while not await second.leases.take_over(THREAD, "r1"):
                let_lapse(postgres_url)  # its worker still renews
        goes_on.set()
        with pytest.raises((LeaseLost, StorageUnavailable)):
            await pausing
        assert await second.store.holder(THREAD) == "r1"


async def test_a_run_that_was_lost_does_not_write_under_the_next_claim_of_its_worker(
    pair: Sequence[PostgresStorage], postgres_url: PostgresUrl
) -> None:
    first, second = pair
    await begin(first.store, THREAD, "r1")
    with first.checkpointer.watch(THREAD.checkpoint_key):
        let_lapse(postgres_url)
        assert await second.leases.take_over(THREAD, "r1")
        await second.store.end_run(THREAD, "r1", "interrupted")
        assert await first.store.claim(THREAD, "r2") == Granted(await first.store.get(THREAD))
        with pytest.raises(LeaseLost):
            await put(first, THREAD)
    with first.checkpointer.watch(THREAD.checkpoint_key):
        written = await put(first, THREAD)
        assert await saved(first, THREAD) == [written]


async def test_renewals_keep_a_claim_and_find_what_was_lost(
    pair: Sequence[PostgresStorage], postgres_url: PostgresUrl
) -> None:
    first, second = pair
    lost: list[str] = []
    first.leases.on_lost(lost.append)
    for key, run_id in ((THREAD, "r1"), (SECOND, "r2"), (OTHERS, "r3")):
        await begin(first.store, key, run_id)
    await first.store.end_run(OTHERS, "r3", "finished")
    let_lapse(postgres_url, "r2")
    assert await second.leases.take_over(SECOND, "r2")
    await first.leases.renew()
    await first.leases.renew()
    assert lost == ["r2"]
    assert await second.leases.lapsed(10) == []
    [(seconds,)] = query(
        postgres_url,
        "SELECT extract(epoch FROM lease_until - clock_timestamp()) FROM claims "
        "WHERE run_id = 'r1'",
    )
    assert 50 < seconds <= 60


async def test_a_lease_that_is_over_is_never_renewed(
    pair: Sequence[PostgresStorage], postgres_url: PostgresUrl
) -> None:
    first, second = pair
    lost: list[str] = []
    first.leases.on_lost(lost.append)
    await begin(first.store, THREAD, "r1")
    await first.store.claim_for_deletion(SECOND, "d1")
    let_lapse(postgres_url)
    await first.leases.renew()
    assert sorted(lost) == ["d1", "r1"]
    assert len(await second.leases.lapsed(10)) == 2
    assert await second.leases.take_over(THREAD, "r1")


async def test_a_claim_whose_run_ends_after_its_lease_is_left_to_the_sweep(
    pair: Sequence[PostgresStorage], postgres_url: PostgresUrl
) -> None:
    first, second = pair
    await begin(first.store, THREAD, "r1")
    let_lapse(postgres_url)
    for _ in range(2):
        with pytest.raises(LeaseLost):
            await first.store.end_run(THREAD, "r1", "finished")
        await first.leases.renew()
    assert await second.leases.lapsed(10) == [LostRun(THREAD, "r1")]


async def test_a_claim_whose_run_has_an_end_that_cannot_be_written_is_left_to_the_sweep(
    pair: Sequence[PostgresStorage], postgres_url: PostgresUrl
) -> None:
    first, second = pair
    await begin(first.store, THREAD, "r1")
    impossible: Any = object()
    with pytest.raises(ProgrammingError):
        await first.store.end_run(THREAD, "r1", impossible)
    until = query(postgres_url, "SELECT lease_until FROM claims")
    await first.leases.renew()
    assert query(postgres_url, "SELECT lease_until FROM claims") == until
    let_lapse(postgres_url)
    assert await second.leases.take_over(THREAD, "r1")


async def test_a_refusal_after_a_takeover_changes_nothing(
    pair: Sequence[PostgresStorage], postgres_url: PostgresUrl
) -> None:
    first, second = pair
    await first.store.claim(THREAD, "r1", KEY)
    await first.store.begin_run(THREAD, "r1", "Hello")
    let_lapse(postgres_url)
    assert await second.leases.take_over(THREAD, "r1")
    await first.store.refuse_run(THREAD, "r1")
    assert await second.store.get(THREAD)
    assert await first.store.claim(SECOND, "r2", KEY) == Repeated("t1", "r1", same_body=True)


async def test_a_claim_that_was_let_go_is_not_renewed(
    pair: Sequence[PostgresStorage], postgres_url: PostgresUrl
) -> None:
    first, second = pair
    await begin(first.store, THREAD, "r1")
    let_lapse(postgres_url)
    first.leases.let_go(THREAD, "r1")
    await first.leases.renew()
    assert await second.leases.take_over(THREAD, "r1")


async def test_a_stop_is_noted_and_found_once_at_a_renewal(
    pair: Sequence[PostgresStorage], postgres_url: PostgresUrl
) -> None:
    first, second = pair
    told: list[tuple[str, object]] = []
    first.leases.on_stop(lambda run_id, reason: told.append((run_id, reason)))
    await begin(first.store, THREAD, "r1")
    await second.leases.request_stop(THREAD, "another", {"reason": "stopped"})
    assert stop_noted(postgres_url, "r1") is None
    await second.leases.request_stop(THREAD, "r1", {"reason": "stopped"})
    assert stop_noted(postgres_url, "r1") == STOPPED
    await first.leases.renew()
    await first.leases.renew()
    assert told == [("r1", STOPPED)]


async def test_a_later_deletion_takes_an_earlier_ones_claim_when_its_lease_is_over(
    pair: Sequence[PostgresStorage], postgres_url: PostgresUrl
) -> None:
    first, second = pair
    assert await first.store.claim_for_deletion(THREAD, "d1") == Granted()
    assert await second.store.claim_for_deletion(THREAD, "d2") == Held(None), "it is under way"
    let_lapse(postgres_url)
    assert await second.store.claim_for_deletion(THREAD, "d2") == Granted()
    with pytest.raises(LeaseLost):
        await first.store.delete(THREAD)
    await first.store.release(THREAD, "d1")
    assert await second.leases.holder(THREAD) == Holder(
        "d2", second.leases.worker, lapsed=False, purpose="deletion"
    )
    assert query(postgres_url, "SELECT count(*) FROM claims") == [(1,)]


async def test_whoever_takes_a_deletion_over_hides_the_thread_and_the_late_worker_does_not(
    pair: Sequence[PostgresStorage], postgres_url: PostgresUrl
) -> None:
    first, second = pair
    await begin(first.store, THREAD, "r1")
    await first.store.end_run(THREAD, "r1", "finished")
    await first.store.claim_for_deletion(THREAD, "d1")
    let_lapse(postgres_url)
    assert await second.leases.take_over(THREAD, "d1")
    assert await second.store.hide(THREAD, "d1", 100.0) == 100.0
    assert await second.store.restore(THREAD)
    with pytest.raises(LeaseLost):
        await first.store.hide(THREAD, "d1", 200.0)
    assert await first.store.get(THREAD)


async def test_the_end_of_a_run_whose_answer_was_lost_can_be_written_again(
    pair: Sequence[PostgresStorage],
) -> None:
    store = pair[0].store
    await begin(store, THREAD, "r1")
    held = store._held.find(THREAD.checkpoint_key)
    await store.end_run(THREAD, "r1", "finished")
    store._held.add(held.key, held.run_id)  # as if nobody had heard of it
    await store.end_run(THREAD, "r1", "finished")
    store._held.add(held.key, held.run_id)
    with pytest.raises(LeaseLost):
        await store.end_run(THREAD, "r1", "failed")


async def test_recovery_takes_no_live_run_for_lost(pair: Sequence[PostgresStorage]) -> None:
    await begin(pair[0].store, THREAD, "r1")
    assert list(await pair[1].store.recover()) == []
    assert await pair[0].store.holder(THREAD) == "r1"
