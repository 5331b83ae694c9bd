"""What a store must do about the claims on threads, idempotency keys and deletions."""

import asyncio
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest
from sqlalchemy import Connection, update

from tests.support.contracts.threads import (
    AT_ONCE,
    KEY,
    OTHERS,
    SECOND,
    THREAD,
    begin,
    entry_of,
    forget,
    listed,
    run_through,
)
from turnstream.server.storage.interfaces import (
    ClaimResult,
    Granted,
    Held,
    Repeated,
    ThreadStore,
    WaitingApproval,
)
from turnstream.server.storage.queued_requests import QueuedRequest
from turnstream.server.storage.sql_store import SqlTransactions
from turnstream.server.storage.tables import requests
from turnstream.server.storage.titles import FirstWords
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import IdempotencyKey, TurnRequest


class ClaimContract:
    """Of the claims on threads."""

    async def test_a_free_thread_is_granted_and_then_held_by_its_run(
        self, store: ThreadStore
    ) -> None:
        assert await store.holder(THREAD) is None
        assert await store.claim(THREAD, "r1") == Granted()
        assert await store.holder(THREAD) == "r1"
        assert await store.claim(THREAD, "r2") == Held("r1")
        assert await store.holder(THREAD) == "r1"

    async def test_a_claim_tells_what_the_list_has_of_the_thread(self, store: ThreadStore) -> None:
        await run_through(store, THREAD, "r1")
        await store.allow_tools(THREAD, ["search"])
        result = await store.claim(THREAD, "r2")
        assert isinstance(result, Granted)
        assert result.thread
        assert result.thread == await store.get(THREAD)
        assert result.thread.allowed_tools == ("search",)

    async def test_the_words_of_a_run_are_replaced_and_forgotten(self, store: ThreadStore) -> None:
        await store.claim(THREAD, "r1")
        await store.claim(SECOND, "r3")
        await store.put_words(THREAD, "r1", "One")
        await store.put_words(THREAD, "r1", "One two")
        assert await store.words(THREAD, "r1") == "One two"
        assert await store.words(THREAD, "r2") is None
        assert await store.words(SECOND, "r1") is None
        await store.put_words(SECOND, "r3", "Three")
        await store.forget_words(THREAD)
        assert await store.words(THREAD, "r1") is None
        assert await store.words(SECOND, "r3") == "Three"

    async def test_a_thread_that_is_deleted_has_no_words_left(self, store: ThreadStore) -> None:
        await store.claim(THREAD, "r1")
        await store.put_words(THREAD, "r1", "One")
        await store.release(THREAD, "r1")
        await forget(store, THREAD)
        assert await store.words(THREAD, "r1") is None

    async def test_a_claim_alone_puts_no_thread_in_the_list(self, store: ThreadStore) -> None:
        await store.claim(THREAD, "r1")
        assert await store.get(THREAD) is None
        assert await listed(store) == []

    async def test_claims_of_one_thread_id_by_two_owners_do_not_meet(
        self, store: ThreadStore
    ) -> None:
        assert await store.claim(THREAD, "r1") == Granted()
        assert await store.claim(OTHERS, "r2") == Granted()
        assert await store.claim(SECOND, "r3") == Granted()
        await store.release(THREAD, "r1")
        assert await store.holder(THREAD) is None
        assert await store.holder(OTHERS) == "r2"
        assert await store.holder(SECOND) == "r3"

    async def test_of_many_claims_at_once_exactly_one_is_granted(self, store: ThreadStore) -> None:
        runs = [f"r{number}" for number in range(AT_ONCE)]
        results = await asyncio.gather(*(store.claim(THREAD, run) for run in runs))
        [winner] = [run for run, one in zip(runs, results, strict=True) if one == Granted()]
        assert Counter(results) == {Granted(): 1, Held(winner): AT_ONCE - 1}
        assert await store.holder(THREAD) == winner

    async def test_a_released_thread_is_free(self, store: ThreadStore) -> None:
        await store.claim(THREAD, "r1")
        await store.release(THREAD, "r1")
        assert await store.holder(THREAD) is None
        assert await store.claim(THREAD, "r2") == Granted()

    async def test_a_release_by_anothers_run_id_changes_nothing(self, store: ThreadStore) -> None:
        assert await store.claim(THREAD, "r1", KEY) == Granted()
        await store.begin_run(THREAD, "r1", "Hello")
        before = await entry_of(store, THREAD)
        await store.release(THREAD, "r2")
        assert await store.holder(THREAD) == "r1"
        assert await store.get(THREAD) == before
        assert await store.claim(SECOND, "r3", KEY) == Repeated("t1", "r1", same_body=True)

    async def test_a_release_of_what_nobody_has_claimed_changes_nothing(
        self, store: ThreadStore
    ) -> None:
        await store.release(THREAD, "r1")
        assert await store.get(THREAD) is None
        assert await store.claim(THREAD, "r1") == Granted()

    async def test_a_release_interrupts_a_run_that_has_begun(self, store: ThreadStore) -> None:
        begun = await begin(store, THREAD, "r1")
        await store.release(THREAD, "r1")
        assert await store.get(THREAD) == replace(begun, run_state="interrupted")
        assert await store.holder(THREAD) is None

    async def test_a_release_before_the_run_begins_leaves_the_thread_as_it_was(
        self, store: ThreadStore
    ) -> None:
        before = await run_through(store, THREAD, "r1")
        await store.claim(THREAD, "r2")
        await store.release(THREAD, "r2")
        assert await store.get(THREAD) == before

    async def test_a_late_release_changes_neither_its_ended_run_nor_the_run_that_followed(
        self, store: ThreadStore
    ) -> None:
        ended = await run_through(store, THREAD, "r1")
        await store.release(THREAD, "r1")
        assert await store.get(THREAD) == ended
        live = await begin(store, THREAD, "r2")
        await store.release(THREAD, "r1")
        assert await store.get(THREAD) == live
        assert await store.holder(THREAD) == "r2"


class RefusalContract:
    """Refusals of runs that had begun, and whose request could not be kept."""

    async def test_a_new_thread_is_gone(self, store: ThreadStore) -> None:
        await begin(store, THREAD, "r1")
        await begin(store, OTHERS, "r2")
        await store.refuse_run(THREAD, "r1")
        assert (await listed(store), await listed(store, "bob")) == ([], ["t1"])
        assert await store.claim(THREAD, "r3") == Granted()

    @pytest.mark.parametrize("archived", [False, True])
    async def test_a_thread_is_as_it_was(self, store: ThreadStore, archived: bool) -> None:
        await run_through(store, THREAD, "r1")
        before = await store.arrange(THREAD, pinned=True, archived=archived)
        assert before
        assert await store.claim(THREAD, "r2", KEY) == Granted(before)
        await store.begin_run(THREAD, "r2", "Again", "planner", base="c1")
        await store.refuse_run(THREAD, "r2", before)
        assert await store.get(THREAD) == before
        assert await store.claim(THREAD, "r3", KEY) == Granted(await store.get(THREAD))

    async def test_a_thread_without_a_run_has_no_title_again(self, store: ThreadStore) -> None:
        await store.create(THREAD)
        before = await store.get(THREAD)
        await store.claim(THREAD, "r1")
        await store.begin_run(THREAD, "r1", "Hello")
        await store.refuse_run(THREAD, "r1", before)
        assert await store.get(THREAD) == before

    async def test_a_rename_meanwhile_stays(self, store: ThreadStore) -> None:
        before = await run_through(store, THREAD, "r1")
        await store.claim(THREAD, "r2")
        await store.begin_run(THREAD, "r2", "Again")
        await store.rename(THREAD, "Mine")
        await store.refuse_run(THREAD, "r2", before)
        assert (await entry_of(store, THREAD)).title == "Mine"

    async def test_open_questions_are_open_again(self, store: ThreadStore) -> None:
        asked = WaitingApproval(THREAD, "c1", "a1", "delete", {}, 1.0)
        await begin(store, THREAD, "r1")
        await store.end_run(THREAD, "r1", "waiting", waiting=[asked])
        before = await entry_of(store, THREAD)
        await store.claim(THREAD, "r2")
        await store.begin_run(THREAD, "r2", "Never mind", closes_approvals=True)
        assert (await store.approvals("ann", [], 2.0, 10)).approvals == []
        await store.refuse_run(THREAD, "r2", before, closes_approvals=True)
        assert (await store.approvals("ann", [], 2.0, 10)).approvals == [asked]

    async def test_a_title_that_followed_other_first_words_is_as_it_was(
        self, store: ThreadStore
    ) -> None:
        before = await run_through(store, THREAD, "r1")
        words = FirstWords("Hello", "Goodbye")
        await store.claim(THREAD, "r2")
        await store.begin_run(THREAD, "r2", "", words=words)
        assert (await entry_of(store, THREAD)).title == "Goodbye"
        await store.refuse_run(THREAD, "r2", before, words=words)
        assert (await entry_of(store, THREAD)).title == "Hello"

    async def test_a_run_that_has_ended_stays(self, store: ThreadStore) -> None:
        ended = await run_through(store, THREAD, "r1")
        await store.refuse_run(THREAD, "r1")
        assert await store.get(THREAD) == ended


def made_before(connection: Connection, age: timedelta) -> None:
    """All requests were made so long ago."""
    connection.execute(update(requests).values(made_at=datetime.now(UTC) - age))


class OpenStore(ThreadStore, SqlTransactions, Protocol):
    """A store whose rows a test changes."""


class IdempotencyContract:
    """Of the requests that come under an idempotency key."""

    @pytest.mark.parametrize(("digest", "same_body"), [("digest", True), ("another", False)])
    @pytest.mark.parametrize("thread", [THREAD, SECOND])
    async def test_a_repeated_request_is_told_of_the_first(
        self, store: ThreadStore, thread: ThreadKey, digest: str, same_body: bool
    ) -> None:
        repeated = Repeated("t1", "r1", same_body=same_body)
        assert await store.claim(THREAD, "r1", KEY) == Granted()
        assert await store.claim(thread, "r2", IdempotencyKey("key", digest)) == repeated
        assert await store.holder(THREAD) == "r1"
        assert await store.holder(SECOND) is None, "a repeated request takes no thread"

    async def test_another_key_is_another_request(self, store: ThreadStore) -> None:
        assert await store.claim(THREAD, "r1", KEY) == Granted()
        assert await store.claim(SECOND, "r2", IdempotencyKey("other", "digest")) == Granted()

    async def test_a_key_of_two_owners_names_two_requests(self, store: ThreadStore) -> None:
        assert await store.claim(THREAD, "r1", KEY) == Granted()
        assert await store.claim(OTHERS, "r2", KEY) == Granted()
        for owner, run_id in (("ann", "r1"), ("bob", "r2")):
            repeated = await store.claim(ThreadKey(owner, "t3"), "r3", KEY)
            assert repeated == Repeated("t1", run_id, same_body=True)

    async def test_a_claim_that_is_held_does_not_remember_its_key(self, store: ThreadStore) -> None:
        await store.claim(THREAD, "r1")
        assert await store.claim(THREAD, "r2", KEY) == Held("r1")
        assert await store.claim(SECOND, "r3", KEY) == Granted()

    async def test_of_many_requests_at_once_under_one_key_exactly_one_is_granted(
        self, store: ThreadStore
    ) -> None:
        names = [f"{number}" for number in range(AT_ONCE)]
        claims = (store.claim(ThreadKey("ann", f"t{n}"), f"r{n}", KEY) for n in names)
        results: list[ClaimResult] = await asyncio.gather(*claims)
        [winner] = [name for name, one in zip(names, results, strict=True) if one == Granted()]
        repeated = Repeated(f"t{winner}", f"r{winner}", same_body=True)
        assert Counter(results) == {Granted(): 1, repeated: AT_ONCE - 1}
        holders = [await store.holder(ThreadKey("ann", f"t{name}")) for name in names]
        assert [run for run in holders if run] == [f"r{winner}"]

    async def test_a_refused_request_frees_its_key_and_its_thread(self, store: ThreadStore) -> None:
        await store.claim(THREAD, "r1", KEY)
        await store.refuse_run(THREAD, "r1")
        assert await store.claim(THREAD, "r2", KEY) == Granted()

    async def test_a_refusal_by_anothers_run_id_frees_nothing(self, store: ThreadStore) -> None:
        await store.claim(THREAD, "r1", KEY)
        await store.claim(SECOND, "r2")
        await store.refuse_run(SECOND, "r1")
        assert await store.claim(SECOND, "r3", KEY) == Repeated("t1", "r1", same_body=True)
        assert await store.holder(SECOND) == "r2"

    async def test_a_released_claim_keeps_its_key(self, store: ThreadStore) -> None:
        await store.claim(THREAD, "r1", KEY)
        await store.begin_run(THREAD, "r1", "Hello")
        await store.release(THREAD, "r1")
        assert await store.claim(SECOND, "r2", KEY) == Repeated("t1", "r1", same_body=True)

    async def test_a_key_is_forgotten_after_a_day(self, store: OpenStore) -> None:
        await store.claim(THREAD, "r1", KEY)
        await store.end_run(THREAD, "r1", "finished")
        await store.forget_old_requests()
        assert await store.claim(SECOND, "r2", KEY) == Repeated("t1", "r1", same_body=True)
        await store.write(made_before, timedelta(days=1, minutes=1))
        await store.forget_old_requests()
        assert await store.claim(SECOND, "r3", KEY) == Granted()
        await store.write(made_before, timedelta(days=1, minutes=1))
        await store.forget_old_requests()
        assert await store.claim(THREAD, "r4", KEY) == Repeated("t2", "r3", same_body=True), (
            "a request that is being checked keeps its key"
        )

    async def test_a_key_outlasts_its_run_until_it_is_forgotten(self, store: ThreadStore) -> None:
        other = IdempotencyKey("other", "digest")
        await store.claim(THREAD, "r1", KEY)
        await store.claim(SECOND, "r2", other)
        await store.end_run(THREAD, "r1", "finished")
        assert await store.claim(THREAD, "r3", KEY) == Repeated("t1", "r1", same_body=True)
        await store.forget_requests(SECOND, "r2")
        assert await store.claim(THREAD, "r3", other) == Granted()
        assert await store.claim(THREAD, "r4", KEY) == Repeated("t1", "r1", same_body=True)

    async def test_forgetting_the_key_of_a_run_without_one_changes_nothing(
        self, store: ThreadStore
    ) -> None:
        await store.claim(THREAD, "r1", KEY)
        await store.claim(SECOND, "r2")
        await store.forget_requests(SECOND, "r2")
        assert await store.claim(SECOND, "r3", KEY) == Repeated("t1", "r1", same_body=True)


class DeletionContract:
    """Of the claims of deletions, and of what a deletion removes."""

    async def test_while_a_thread_is_deleted_no_run_can_claim_it(self, store: ThreadStore) -> None:
        assert await store.claim_for_deletion(THREAD, "d1") == Granted()
        assert await store.claim(THREAD, "r1", KEY) == Held(None)
        assert await store.holder(THREAD) is None, "a deletion is no run"
        await store.release(THREAD, "d1")
        assert await store.claim(THREAD, "r2", KEY) == Granted()

    async def test_a_deletion_waits_for_the_run_that_has_the_thread(
        self, store: ThreadStore
    ) -> None:
        await store.claim(THREAD, "r1")
        assert await store.claim_for_deletion(THREAD, "d1") == Held("r1")
        assert await store.holder(THREAD) == "r1"
        await store.end_run(THREAD, "r1", "stopped")
        assert await store.claim_for_deletion(THREAD, "d1") == Granted()

    async def test_a_deletion_is_of_one_owners_thread(self, store: ThreadStore) -> None:
        assert await store.claim(OTHERS, "r1") == Granted()
        assert await store.claim_for_deletion(THREAD, "d1") == Granted()
        assert await store.holder(OTHERS) == "r1"
        assert await store.claim(SECOND, "r2") == Granted()

    async def test_a_later_deletion_takes_the_thread_over(self, store: ThreadStore) -> None:
        assert await store.claim_for_deletion(THREAD, "d1") == Granted()
        assert await store.claim_for_deletion(THREAD, "d2") == Granted()
        await store.release(THREAD, "d1")
        assert await store.claim(THREAD, "r1") == Held(None), "the second is not done"
        await store.release(THREAD, "d2")
        assert await store.claim(THREAD, "r1") == Granted()

    @pytest.mark.parametrize("place", [0, AT_ONCE // 2])
    async def test_of_runs_and_a_deletion_at_once_exactly_one_is_granted(
        self, store: ThreadStore, place: int
    ) -> None:
        claims = [store.claim(THREAD, f"r{number}") for number in range(AT_ONCE)]
        claims.insert(place, store.claim_for_deletion(THREAD, "d1"))
        results: list[ClaimResult] = await asyncio.gather(*claims)
        assert results.count(Granted()) == 1
        assert results.count(Held(await store.holder(THREAD))) == AT_ONCE

    async def test_an_idle_thread_is_claimed_for_its_deletion(self, store: ThreadStore) -> None:
        await run_through(store, THREAD, "r1")
        soon = time.time() + 10
        assert await store.claim_idle(THREAD, "d1", soon, soon) == Granted()
        assert await store.claim(THREAD, "r2") == Held(None)
        await store.release(THREAD, "d1")
        assert await store.claim(THREAD, "r2")

    async def test_a_thread_in_use_is_not_idle(self, store: ThreadStore) -> None:
        soon = time.time() + 10
        assert await store.claim_idle(THREAD, "d1", soon, soon) == Held(None), "there is none"
        await begin(store, THREAD, "r1")
        assert await store.claim_idle(THREAD, "d1", soon, soon) == Held(None), "it is live"
        await store.end_run(THREAD, "r1", "finished")
        assert await store.claim_idle(THREAD, "d1", soon - 3600, soon) == Held(None), "it is new"
        asked = QueuedRequest(THREAD, "r3", "native", TurnRequest(THREAD.thread_id), soon)
        assert await store.enqueue(asked, 1)
        assert await store.claim_idle(THREAD, "d1", soon, soon) == Held(None), "a request came"
        assert await store.withdraw(THREAD, "r3")
        await store.claim(THREAD, "r2")
        assert await store.claim_idle(THREAD, "d1", soon, soon) == Held(None), "it is claimed"
        assert await store.holder(THREAD) == "r2"

    async def test_a_deleted_thread_is_not_in_the_list(self, store: ThreadStore) -> None:
        for key in (THREAD, SECOND, OTHERS):
            await run_through(store, key, f"r-{key.owner}-{key.thread_id}")
        await forget(store, THREAD)
        assert await store.get(THREAD) is None
        assert (await listed(store), await listed(store, "bob")) == (["t2"], ["t1"])

    async def test_a_deleted_thread_leaves_no_dispositions_and_no_keys(
        self, store: ThreadStore
    ) -> None:
        for key in (THREAD, SECOND, OTHERS):
            run_id = f"r-{key.owner}-{key.thread_id}"
            await store.claim(key, run_id, IdempotencyKey(key.thread_id, "digest"))
            await store.keep_dispositions(key, {"c1": "client"})
            await store.end_run(key, run_id, "finished")
        await forget(store, THREAD)
        assert await store.dispositions(THREAD) == {}
        assert await store.dispositions(SECOND) == {"c1": "client"}
        assert await store.dispositions(OTHERS) == {"c1": "client"}
        names = [("ann", "t1"), ("ann", "t2"), ("bob", "t1")]
        again = [
            await store.claim(ThreadKey(owner, "t3"), "r9", IdempotencyKey(name, "digest"))
            for owner, name in names
        ]
        assert again == [
            Granted(),
            Repeated("t2", "r-ann-t2", same_body=True),
            Repeated("t1", "r-bob-t1", same_body=True),
        ]

    async def test_a_deletion_holds_the_thread_until_it_is_done(self, store: ThreadStore) -> None:
        await run_through(store, THREAD, "r1")
        await store.claim_for_deletion(THREAD, "d1")
        await store.delete(THREAD)
        assert await store.claim(THREAD, "r2") == Held(None)
        await store.release(THREAD, "d1")
        assert await store.get(THREAD) is None

    async def test_a_thread_can_begin_anew_after_its_deletion(self, store: ThreadStore) -> None:
        await run_through(store, THREAD, "r1")
        await forget(store, THREAD)
        begun = await begin(store, THREAD, "r2", "Anew")
        assert (begun.title, begun.run_id) == ("Anew", "r2")
        assert await listed(store) == ["t1"]

    async def test_deleting_a_thread_that_is_not_there_changes_nothing(
        self, store: ThreadStore
    ) -> None:
        await forget(store, THREAD)
        assert await listed(store) == []
