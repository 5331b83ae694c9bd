"""What any store must do that pins, archives and hides threads."""

import math

import pytest

from tests.support.contracts.threads import (
    OTHERS,
    SECOND,
    THREAD,
    begin,
    entry_of,
    ids,
    listed,
    run_through,
)
from turnstream.server.storage.interfaces import (
    MAX_PINNED,
    Granted,
    Held,
    Hidden,
    ThreadStore,
    TooManyPinned,
    WaitingApproval,
)
from turnstream.server.turns.header import ThreadKey


async def fill(store: ThreadStore, count: int) -> list[ThreadKey]:
    keys = [ThreadKey("ann", f"t{n}") for n in range(count)]
    for key in keys:
        await run_through(store, key, f"r-{key.thread_id}")
    return keys


async def hide(store: ThreadStore, key: ThreadKey, until: float = 100.0) -> float | None:
    assert await store.claim_for_deletion(key, "d1") == Granted()
    return await store.hide(key, "d1", until)


class ArrangingContract:
    async def test_pinned_threads_come_first_on_every_page(self, store: ThreadStore) -> None:
        keys = await fill(store, 6)
        for n in (1, 3):
            assert (await store.arrange(keys[n], pinned=True)) == await entry_of(store, keys[n])
        for limit in (1, 2, 3, 6):
            pages: list[str] = []
            cursor: str | None = None
            while not pages or cursor:
                page = await store.page("ann", limit, cursor, archived=False)
                assert len(page.entries) <= limit
                pages, cursor = [*pages, *ids(page)], page.cursor
            assert pages == ["t3", "t1", "t5", "t4", "t2", "t0"]
        assert await listed(store) == ["t5", "t4", "t3", "t2", "t1", "t0"]

    async def test_a_thread_that_is_not_pinned_any_more_has_its_old_place(
        self, store: ThreadStore
    ) -> None:
        keys = await fill(store, 3)
        await store.arrange(keys[0], pinned=True)
        entry = await store.arrange(keys[0], pinned=False)
        assert entry
        assert not entry.pinned
        assert ids(await store.page("ann", 9, archived=False)) == ["t2", "t1", "t0"]

    async def test_no_owner_pins_too_many(self, store: ThreadStore) -> None:
        keys = await fill(store, MAX_PINNED + 1)
        for key in keys[:MAX_PINNED]:
            await store.arrange(key, pinned=True)
        await store.arrange(keys[0], pinned=True)
        with pytest.raises(TooManyPinned):
            await store.arrange(keys[-1], pinned=True)
        await run_through(store, OTHERS, "r1")
        assert await store.arrange(OTHERS, pinned=True)

    async def test_archived_threads_are_listed_apart(self, store: ThreadStore) -> None:
        keys = await fill(store, 4)
        for n in (0, 2):
            await store.arrange(keys[n], archived=True)
        assert ids(await store.page("ann", 9, archived=False)) == ["t3", "t1"]
        first = await store.page("ann", 1, archived=True)
        assert ids(first) == ["t2"]
        assert ids(await store.page("ann", 9, first.cursor, archived=True)) == ["t0"]
        await store.arrange(keys[2], archived=False)
        assert ids(await store.page("ann", 9, archived=False)) == ["t3", "t2", "t1"]

    async def test_a_run_takes_its_thread_out_of_the_archive(self, store: ThreadStore) -> None:
        await run_through(store, THREAD, "r1")
        await store.arrange(THREAD, pinned=True, archived=True)
        await begin(store, THREAD, "r2")
        entry = await entry_of(store, THREAD)
        assert (entry.pinned, entry.archived) == (True, False)

    async def test_a_thread_that_is_not_there_is_not_arranged(self, store: ThreadStore) -> None:
        assert await store.arrange(THREAD, pinned=True) is None


class UndoContract:
    async def test_a_hidden_thread_is_as_good_as_deleted(self, store: ThreadStore) -> None:
        await run_through(store, THREAD, "r1")
        assert await hide(store, THREAD) == 100.0
        assert await store.get(THREAD) is None
        assert await listed(store) == []
        assert await store.rename(THREAD, "New") is None
        assert await store.arrange(THREAD, pinned=True) is None
        assert await store.allow_tools(THREAD, ["calculator"]) is None
        assert await store.holder(THREAD) is None

    async def test_its_id_is_taken_until_it_is_forgotten(self, store: ThreadStore) -> None:
        await run_through(store, THREAD, "r1")
        await hide(store, THREAD)
        assert await store.claim(THREAD, "r2") == Hidden()
        assert await store.create(THREAD) is None
        assert await store.holder(THREAD) is None

    async def test_a_restored_thread_is_as_it_was(self, store: ThreadStore) -> None:
        await run_through(store, THREAD, "r1")
        await store.arrange(THREAD, pinned=True)
        before = await entry_of(store, THREAD)
        await run_through(store, SECOND, "r2")
        await hide(store, THREAD)
        assert await store.restore(THREAD) == before == await store.get(THREAD)
        assert await listed(store) == ["t2", "t1"]
        assert await store.restore(THREAD) == before
        await begin(store, THREAD, "r3")

    async def test_a_title_that_is_made_while_its_thread_is_hidden_is_dropped(
        self, store: ThreadStore
    ) -> None:
        before = await run_through(store, THREAD, "r1")
        await hide(store, THREAD)
        assert await store.give_title(THREAD, "Greetings", "Hello") is None
        assert await store.restore(THREAD) == before

    async def test_a_thread_that_there_is_not_cannot_be_hidden_or_restored(
        self, store: ThreadStore
    ) -> None:
        assert await hide(store, THREAD) is None
        await store.release(THREAD, "d1")
        assert await store.restore(THREAD) is None

    async def test_a_thread_that_is_deleted_again_keeps_its_time(self, store: ThreadStore) -> None:
        await run_through(store, THREAD, "r1")
        await hide(store, THREAD, 100.0)
        assert await hide(store, THREAD, 200.0) == 100.0

    async def test_hidden_threads_are_named_in_the_order_of_their_time(
        self, store: ThreadStore
    ) -> None:
        for key, until in ((THREAD, 30.0), (SECOND, 20.0), (OTHERS, 10.0)):
            await run_through(store, key, f"r-{until}")
            await hide(store, key, until)
        assert await store.hidden(2) == [(OTHERS, 10.0), (SECOND, 20.0)]
        assert await store.hidden(9, "ann") == [(SECOND, 20.0), (THREAD, 30.0)]

    async def test_a_walk_through_hidden_threads_of_one_time_names_each_once(
        self, store: ThreadStore
    ) -> None:
        for key in (THREAD, SECOND, OTHERS):
            await run_through(store, key, f"r-{key.owner}-{key.thread_id}")
            await hide(store, key, 10.1)
        last, named = None, list[ThreadKey]()
        while page := await store.hidden(1, after=last):
            last = page[-1]
            named.append(last[0])
        assert named == sorted([THREAD, SECOND, OTHERS], key=lambda key: (key.owner, key.thread_id))

    async def test_one_forgets_a_thread_that_is_due(self, store: ThreadStore) -> None:
        await run_through(store, THREAD, "r1")
        assert await store.claim_hidden(THREAD, "d2", math.inf) == Held(None)
        await hide(store, THREAD, 100.0)
        assert await store.claim_hidden(THREAD, "d2", 99.0) == Held(None)
        assert await store.claim_hidden(THREAD, "d2", 101.0) == Granted()
        assert await store.claim_hidden(THREAD, "d3", 101.0) == Held(None)
        assert await store.restore(THREAD) is None
        assert await store.restore(ThreadKey(THREAD.owner, "a\0b")) is None
        await store.delete(THREAD)
        await store.release(THREAD, "d2")
        assert await store.hidden(9) == []
        assert await store.claim(THREAD, "r2") == Granted()

    async def test_approvals_of_a_hidden_thread_wait_for_nobody(self, store: ThreadStore) -> None:
        await begin(store, THREAD, "r1")
        call = WaitingApproval(THREAD, "c1", "a1", "pay", {}, 1.0)
        await store.end_run(THREAD, "r1", "waiting", waiting=[call])
        await hide(store, THREAD)
        assert (await store.approvals("ann", [], 2.0, 9)).approvals == []
        assert await store.approval(call.id) is None
        await store.restore(THREAD)
        assert (await store.approvals("ann", [], 2.0, 9)).approvals == [call]

    async def test_writes_join_a_hiding_and_a_restoring_that_change_something(
        self, store: ThreadStore
    ) -> None:
        made = list[str]()
        await run_through(store, THREAD, "r1")
        for _ in range(2):
            await store.claim_for_deletion(THREAD, "d1")
            await store.hide(THREAD, "d1", 100.0, [lambda _: made.append("hidden")])
        for _ in range(2):
            await store.restore(THREAD, [lambda _: made.append("restored")])
        assert made == ["hidden", "restored"]
