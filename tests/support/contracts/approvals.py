"""What a store must do about the calls that wait for an approval."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

from tests.support.contracts.threads import (
    OTHERS,
    SECOND,
    THREAD,
    begin,
    forget,
    run_through,
)
from turnstream.server.storage.interfaces import (
    Asker,
    LeaseLost,
    LostRun,
    ThreadStore,
    WaitingApproval,
)
from turnstream.server.turns.header import LOCAL_OWNER, ThreadKey

NOW = 1_000.0


def question(
    key: ThreadKey, call_id: str = "c1", at: float = NOW, **values: Any
) -> WaitingApproval:
    """A call of `pay`, unless said otherwise."""
    given = {"approval_id": call_id, "tool_name": "pay", "args": {"word": "rent"}}
    return WaitingApproval(key, call_id, asked_at=at, **{**given, **values})


async def ask(
    store: ThreadStore, *waiting: WaitingApproval, run_id: str = "r1", closes: bool = False
) -> None:
    """A run of the questions' thread that leaves them open."""
    key = waiting[0].key
    await store.claim(key, run_id)
    await store.begin_run(key, run_id, "Hello", closes_approvals=closes)
    await store.end_run(key, run_id, "waiting", (), waiting)


async def seen(
    store: ThreadStore,
    owner: str = "ann",
    tools: Collection[str] = (),
    now: float = NOW,
    limit: int = 100,
    skip: int = 0,
) -> Sequence[WaitingApproval]:
    return list((await store.approvals(owner, tools, now, limit, skip)).approvals)


class ApprovalContract:
    """Of the list of calls that wait for an approval."""

    async def test_a_call_that_waits_is_kept_as_it_is(self, store: ThreadStore) -> None:
        args = {"word": 'é "quoted" \u2028', "n": 1.5, "list": [None, True, {}]}
        asker = Asker(("user", 'a "role"'), "Ann Ä")
        waiting = question(
            THREAD,
            args=args,
            asker=asker,
            approval_id="c1.2",
            may_have_run=True,
            expires_at=NOW + 0.125,
        )
        await ask(store, waiting)
        assert await seen(store) == [waiting]
        assert await store.approval(waiting.id) == waiting

    async def test_the_oldest_call_comes_first_and_a_page_has_no_more_than_its_limit(
        self, store: ThreadStore
    ) -> None:
        times = {THREAD: NOW + 2, SECOND: NOW + 1, OTHERS: NOW + 3}
        for key, at in times.items():
            await ask(store, question(key, at=at), question(key, "c2", at=at + 10))
        expected = [SECOND, THREAD, OTHERS] * 2
        assert [one.key for one in await seen(store, tools=["pay"])] == expected
        assert [one.key for one in await seen(store, tools=["pay"], limit=2)] == [SECOND, OTHERS]

    async def test_on_each_page_the_askers_take_turns(self, store: ThreadStore) -> None:
        many = [question(THREAD, f"c{number}", at=NOW + number) for number in range(5)]
        late = [question(OTHERS, f"o{number}", at=NOW + 100 + number) for number in range(2)]
        await ask(store, *many)
        await ask(store, *late)
        pages = [
            [one.tool_call_id for one in await seen(store, tools=["pay"], limit=3, skip=skip)]
            for skip in (0, 3, 6)
        ]
        assert pages == [["c0", "c1", "o0"], ["c2", "c3", "o1"], ["c4"]]

    async def test_a_page_ends_where_the_arguments_of_its_calls_become_large(
        self, store: ThreadStore
    ) -> None:
        sizes = {THREAD: 900_000, SECOND: 900_001, OTHERS: 2_500_000}
        for key, size in sizes.items():
            await ask(store, question(key, at=NOW + size, args={"word": "x" * size}))
        pages = [[one.key for one in await seen(store, tools=["pay"], skip=n)] for n in range(3)]
        assert pages == [[THREAD], [OTHERS], [SECOND]]
        assert [one.key for one in await seen(store)] == [THREAD, SECOND]

    async def test_an_owner_sees_their_own_calls_and_those_of_the_tools_that_are_given(
        self, store: ThreadStore
    ) -> None:
        await ask(store, question(THREAD), question(THREAD, "c2", tool_name="send"))
        await ask(store, question(OTHERS), question(OTHERS, "c2", tool_name="send"))

        async def calls(owner: str, *tools: str) -> set[tuple[str, str]]:
            return {(one.key.owner, one.tool_name) for one in await seen(store, owner, tools)}

        anns, bobs = {("ann", "pay"), ("ann", "send")}, {("bob", "pay"), ("bob", "send")}
        assert await calls("ann") == anns
        assert await calls("bob") == bobs
        assert await calls("ann", "pay") == anns | {("bob", "pay")}
        assert await calls("cat", "send", "nothing") == {("ann", "send"), ("bob", "send")}
        assert await calls("cat") == set()

    async def test_a_call_made_without_authentication_is_nobody_elses_to_see(
        self, store: ThreadStore
    ) -> None:
        await ask(store, question(ThreadKey(LOCAL_OWNER, "t1")))
        assert await seen(store, "ann", ["pay"]) == []
        assert len(await seen(store, LOCAL_OWNER)) == 1

    async def test_an_expired_call_is_not_listed_and_found_by_its_id(
        self, store: ThreadStore
    ) -> None:
        waiting, for_ever = question(THREAD, expires_at=NOW + 5), question(SECOND)
        await ask(store, waiting)
        await ask(store, for_ever)
        assert await seen(store, now=NOW + 4.9) == sorted([waiting, for_ever], key=_by_id)
        assert await seen(store, now=NOW + 5) == [for_ever]
        assert await store.approval(waiting.id) == waiting

    async def test_a_run_that_closes_approvals_takes_those_of_its_thread_off_the_list(
        self, store: ThreadStore
    ) -> None:
        for key in (THREAD, SECOND, OTHERS):
            await ask(store, question(key))
        await store.claim(THREAD, "r2")
        await store.begin_run(THREAD, "r2", "Hello", closes_approvals=True)
        assert {one.key for one in await seen(store, tools=["pay"])} == {SECOND, OTHERS}

    async def test_a_run_that_closes_none_leaves_the_list_as_it_is(
        self, store: ThreadStore
    ) -> None:
        await ask(store, question(THREAD))
        await begin(store, THREAD, "r2")
        assert len(await seen(store)) == 1
        await store.end_run(THREAD, "r2", "finished")
        assert len(await seen(store)) == 1

    async def test_what_was_closed_is_known_until_the_next_run_that_closes(
        self, store: ThreadStore
    ) -> None:
        first, second = question(THREAD), question(THREAD, "c2", at=NOW + 1)
        await ask(store, first)
        await ask(store, second, run_id="r2", closes=True)
        closed = await store.approval(first.id)
        assert closed
        assert (closed.is_open, closed.tool_call_id) == (False, "c1")
        assert await seen(store) == [second]
        await store.claim(THREAD, "r3")
        await store.begin_run(THREAD, "r3", "Hello", closes_approvals=True)
        assert await store.approval(first.id) is None
        closed = await store.approval(second.id)
        assert closed
        assert not closed.is_open

    async def test_a_question_that_is_still_open_after_a_run_keeps_its_id(
        self, store: ThreadStore
    ) -> None:
        first, second = question(THREAD), question(THREAD, "c2")
        await ask(store, first, second)
        await ask(store, question(THREAD, "c2"), run_id="r2", closes=True)
        assert await seen(store) == [second]

    async def test_a_question_that_is_asked_anew_or_of_another_branch_has_an_id_of_its_own(
        self, store: ThreadStore
    ) -> None:
        first = question(THREAD)
        again = question(THREAD, approval_id="c1.2", at=NOW + 1)
        of_a_branch = question(THREAD, at=NOW + 2)
        await ask(store, first)
        await ask(store, again, run_id="r2", closes=True)
        await ask(store, of_a_branch, run_id="r3", closes=True)
        assert await seen(store) == [of_a_branch]
        assert len({first.id, again.id, of_a_branch.id}) == 3

    async def test_an_end_that_is_written_twice_lists_its_calls_once(
        self, store: ThreadStore
    ) -> None:
        waiting = [question(THREAD), question(THREAD, "c2")]
        await ask(store, *waiting)
        # Each try to write the end reads the thread anew.
        read_anew = [question(THREAD), question(THREAD, "c2")]
        await store.end_run(THREAD, "r1", "waiting", (), read_anew)
        assert await seen(store) == sorted(waiting, key=_by_id)

    async def test_the_end_of_a_run_that_another_has_followed_lists_nothing(
        self, store: ThreadStore
    ) -> None:
        await begin(store, THREAD, "r1")
        await store.release(THREAD, "r1")
        await begin(store, THREAD, "r2")
        with suppress(LeaseLost):
            await store.end_run(THREAD, "r1", "waiting", (), [question(THREAD)])
        assert await seen(store) == []

    async def test_a_deleted_thread_leaves_no_calls_open_or_closed(
        self, store: ThreadStore
    ) -> None:
        closed, left, kept = question(THREAD), question(THREAD, "c2"), question(SECOND)
        await ask(store, closed)
        await ask(store, left, run_id="r2", closes=True)
        await ask(store, kept)
        await ask(store, question(OTHERS))
        await forget(store, THREAD)
        assert await seen(store) == [kept]
        assert [await store.approval(one.id) for one in (closed, left)] == [None, None]
        assert len(await seen(store, "bob")) == 1

    async def test_there_is_no_call_under_an_id_that_was_never_given(
        self, store: ThreadStore
    ) -> None:
        await run_through(store, THREAD, "r1")
        assert await store.approval("0000000000000000") is None
        assert await seen(store, tools=["pay"]) == []


class ApprovalRecoveryContract:
    """Of the list after the process died."""

    async def test_recovery_leaves_open_calls_and_takes_those_of_a_lost_run(
        self, store: ThreadStore
    ) -> None:
        rests, decided = question(SECOND), question(THREAD)
        await ask(store, rests)
        await ask(store, decided)
        await store.claim(THREAD, "r2")
        await store.begin_run(THREAD, "r2", "Hello", closes_approvals=True)
        assert list(await store.recover()) == [LostRun(THREAD, "r2")]
        assert await seen(store) == [rests]
        again = question(THREAD, approval_id="c1.2", at=NOW + 1, may_have_run=True)
        await store.end_run(THREAD, "r2", "waiting", (), [again])
        assert await seen(store) == [rests, again]


def _by_id(waiting: WaitingApproval) -> str:
    """Those that were asked at once have no other order."""
    return waiting.id
