"""What a store must do about the list of threads, and the runs that move it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Protocol

import pytest
from sqlalchemy import Connection, text

from tests.support.contracts.threads import (
    KEY,
    OTHERS,
    SECOND,
    THREAD,
    begin,
    entry_of,
    ids,
    listed,
    moment,
    run_through,
)
from turnstream.server.storage.interfaces import (
    Created,
    Granted,
    LeaseLost,
    LostRun,
    Repeated,
    ThreadRunState,
    ThreadStore,
    WaitingApproval,
)
from turnstream.server.storage.sql_store import SqlTransactions
from turnstream.server.storage.titles import FirstWords
from turnstream.server.turns.header import ThreadKey


async def turned_to(store: ThreadStore, run_id: str, before: str, after: str) -> str:
    """The title of the thread on which this run changes the first words."""
    assert isinstance(await store.claim(THREAD, run_id), Granted)
    await store.begin_run(THREAD, run_id, "", words=FirstWords(before, after))
    await store.end_run(THREAD, run_id, "finished")
    return (await entry_of(store, THREAD)).title


class ThreadListContract:
    async def test_a_thread_is_copied_unless_it_is_live(self, store: ThreadStore) -> None:
        new = ThreadKey("ann", "copy")
        assert await store.copy(THREAD, new) is None
        await store.claim(THREAD, "r1")
        await store.begin_run(THREAD, "r1", "Tides")
        live = await store.copy(THREAD, new)
        assert (live and live.id, await store.get(new)) == (THREAD.thread_id, None)
        await store.end_run(THREAD, "r1", "finished")
        await store.merge_metadata(THREAD, {"topic": "tides"})
        copied = await store.copy(THREAD, new)
        assert copied is not None
        assert (copied.id, copied.title, copied.run_id) == ("copy", "Tides (2)", "r1")
        assert await store.get(new) == copied
        assert await store.metadata("ann", ["copy"]) == {"copy": {"topic": "tides"}}
        assert await listed(store) == ["copy", "t1"]

    """Of the list of threads, and of the runs that move it."""

    async def test_a_new_thread_is_live_under_its_title(self, store: ThreadStore) -> None:
        begun = await begin(store, THREAD, "r1", "What is 17 * 23?")
        expected = ("t1", "What is 17 * 23?", "r1", "live")
        assert (begun.id, begun.title, begun.run_id, begun.run_state) == expected
        assert moment(begun.created_at) == moment(begun.updated_at)

    async def test_a_thread_that_is_made_has_no_run_and_its_first_one_gives_the_title(
        self, store: ThreadStore
    ) -> None:
        created = await store.create(THREAD, "planner", {"team": "blue"})
        assert created
        assert created.is_new
        made = created.entry
        expected = ("", "", "finished", "planner")
        assert (made.title, made.run_id, made.run_state, made.graph) == expected
        assert await store.get(THREAD) == made
        assert await listed(store) == ["t1"]
        begun = await begin(store, THREAD, "r1", "What is 17 * 23?")
        assert (begun.title, begun.created_at) == ("What is 17 * 23?", made.created_at)
        await store.end_run(THREAD, "r1", "finished")
        ended = await store.get(THREAD)
        assert ended
        again = await store.create(THREAD, metadata={"team": "red"})
        assert again == Created(ended, is_new=False)
        assert await store.metadata("ann", ["t1"]) == {"t1": {"team": "blue"}}
        assert (await begin(store, THREAD, "r2", "Another")).title == begun.title

    async def test_threads_of_an_owner_that_begin_alike_get_titles_of_their_own(
        self, store: ThreadStore
    ) -> None:
        keys = [ThreadKey("ann", f"t{number}") for number in range(40)]
        titles = [(await begin(store, key, f"r{key.thread_id}")).title for key in keys]
        assert titles == ["Hello", *(f"Hello ({number})" for number in range(2, 41))]
        assert (await begin(store, OTHERS, "r1")).title == "Hello"
        made = ThreadKey("ann", "made")
        await store.create(made)
        assert (await begin(store, made, "rm")).title not in titles
        long = [await begin(store, ThreadKey("bob", f"l{n}"), f"l{n}", "x" * 70) for n in (1, 2)]
        assert [entry.title for entry in long] == ["x" * 59 + "…", "x" * 55 + "… (2)"]

    async def test_a_title_is_given_to_a_thread_that_nobody_has_renamed(
        self, store: ThreadStore
    ) -> None:
        ended = await run_through(store, THREAD, "r1")
        given = await store.give_title(THREAD, "Greetings", "Hello")
        assert given == replace(ended, title="Greetings") == await store.get(THREAD)
        other = await begin(store, SECOND, "r2")
        assert await store.give_title(SECOND, "Greetings", "Another") is None
        assert await store.get(SECOND) == other
        distinct = await store.give_title(SECOND, "Greetings", "Hello")
        assert distinct == replace(other, title="Greetings (2)")
        await store.rename(THREAD, "Mine")
        assert await store.give_title(THREAD, "Theirs", "Greetings") is None
        assert await store.give_title(ThreadKey("ann", "none"), "Theirs", "") is None

    async def test_a_title_of_first_words_follows_them_and_a_name_stays(
        self, store: ThreadStore
    ) -> None:
        await run_through(store, SECOND, "r0")
        await run_through(store, THREAD, "r1")
        assert (await entry_of(store, THREAD)).title == "Hello (2)"
        for run_id, before, after, title in (
            ("r2", "Another", "Goodbye", "Hello (2)"),
            ("r3", "Hello", "Hello\n", "Hello (2)"),
            ("r4", "Hello", "Good\nbye", "Good bye"),
            ("r5", "Good\nbye", "Hello", "Hello (2)"),
        ):
            assert await turned_to(store, run_id, before, after) == title
        await store.rename(THREAD, "Mine")
        assert await turned_to(store, "r6", "Hello", "Goodbye") == "Mine"
        assert (await entry_of(store, SECOND)).title == "Hello"

    async def test_a_thread_keeps_the_tools_that_it_is_narrowed_to(
        self, store: ThreadStore
    ) -> None:
        ended = await run_through(store, THREAD, "r1")
        for names in (("add", 'a "b"'), (), None):
            entry = replace(ended, allowed_tools=names)
            assert await store.allow_tools(THREAD, names) == entry
            assert await store.get(THREAD) == entry
        await store.allow_tools(THREAD, ["add", "add"])
        later = await begin(store, THREAD, "r2")
        assert later.allowed_tools == ("add",)
        assert [listed.allowed_tools for listed in (await store.page("ann", 9)).entries] == [None]
        assert await store.allow_tools(ThreadKey("nobody", "t1"), []) is None

    async def test_a_later_run_keeps_the_title_and_when_the_thread_was_made(
        self, store: ThreadStore
    ) -> None:
        first = await run_through(store, THREAD, "r1")
        later = await begin(store, THREAD, "r2", "Another title")
        assert later == replace(first, run_id="r2", run_state="live", updated_at=later.updated_at)
        assert moment(later.updated_at) >= moment(first.updated_at)

    @pytest.mark.parametrize("state", ["finished", "stopped", "failed", "interrupted"])
    async def test_the_end_of_a_run_is_noted_and_frees_the_thread(
        self, store: ThreadStore, state: ThreadRunState
    ) -> None:
        begun = await begin(store, THREAD, "r1")
        await store.end_run(THREAD, "r1", state)
        assert await store.get(THREAD) == replace(begun, run_state=state)
        assert await store.holder(THREAD) is None
        assert await store.claim(THREAD, "r2") == Granted(replace(begun, run_state=state))

    async def test_a_thread_has_the_graph_of_its_last_run(self, store: ThreadStore) -> None:
        for run_id, graph in (("r1", None), ("r2", "planner"), ("r3", "critic")):
            await store.claim(THREAD, run_id)
            await store.begin_run(THREAD, run_id, "Hello", graph)
            assert (await entry_of(store, THREAD)).graph == graph
            assert (await store.page("ann", 1)).entries[0].graph == graph
            await store.release(THREAD, run_id)

    async def test_the_end_of_a_run_that_another_has_followed_changes_nothing(
        self, store: ThreadStore
    ) -> None:
        await begin(store, THREAD, "r1")
        await store.release(THREAD, "r1")
        live = await begin(store, THREAD, "r2")
        with suppress(LeaseLost):
            await store.end_run(THREAD, "r1", "finished")
        assert await store.get(THREAD) == live
        assert await store.holder(THREAD) == "r2"

    async def test_the_end_of_a_run_concerns_its_owners_thread_alone(
        self, store: ThreadStore
    ) -> None:
        await begin(store, THREAD, "r1")
        others = await begin(store, OTHERS, "r2")
        await store.end_run(THREAD, "r1", "finished")
        assert await store.get(OTHERS) == others
        assert await store.holder(OTHERS) == "r2"

    async def test_the_last_thread_that_began_a_run_comes_first(self, store: ThreadStore) -> None:
        for number, thread in enumerate(("t1", "t2", "t3", "t1")):
            await run_through(store, ThreadKey("ann", thread), f"r{number}")
        page = await store.page("ann", 10)
        assert ids(page) == ["t1", "t3", "t2"]
        assert list(page.entries) == [await store.get(ThreadKey("ann", id)) for id in ids(page)]

    async def test_neither_the_end_of_a_run_nor_a_new_title_moves_a_thread(
        self, store: ThreadStore
    ) -> None:
        for key in (THREAD, SECOND):
            await begin(store, key, f"r-{key.thread_id}")
        await store.end_run(THREAD, "r-t1", "finished")
        await store.rename(THREAD, "Renamed")
        assert await listed(store) == ["t2", "t1"]

    @pytest.mark.parametrize("limit", range(1, 7))
    async def test_pages_follow_one_another_to_the_last(
        self, store: ThreadStore, limit: int
    ) -> None:
        for number in range(5):
            await run_through(store, ThreadKey("ann", f"t{number}"), f"r{number}")
        page = await store.page("ann", limit)
        seen = ids(page)
        while page.cursor is not None:
            assert len(page.entries) == limit
            page = await store.page("ann", limit, page.cursor)
            assert page.entries, "a page behind the last"
            seen += ids(page)
        assert seen == ["t4", "t3", "t2", "t1", "t0"]

    async def test_who_pages_sees_the_order_of_the_first_page_while_threads_move(
        self, store: ThreadStore
    ) -> None:
        for number in range(6):
            await run_through(store, ThreadKey("ann", f"t{number}"), f"r{number}")
        page = await store.page("ann", 2)
        seen = ids(page)
        for number, thread in enumerate(("t0", "new", "t5"), start=6):
            assert page.cursor is not None
            await run_through(store, ThreadKey("ann", thread), f"r{number}")
            page = await store.page("ann", 2, page.cursor)
            seen += ids(page)
            if page.cursor is None:
                break
        assert seen == ["t5", "t4", "t3", "t2", "t1", "t0"]
        assert (await listed(store))[:2] == ["new", "t0"]

    async def test_an_owner_sees_no_thread_of_another(self, store: ThreadStore) -> None:
        await run_through(store, THREAD, "r1")
        assert await store.get(OTHERS) is None
        empty = await store.page("bob", 10)
        assert (list(empty.entries), empty.cursor) == ([], None)
        await run_through(store, OTHERS, "r2")
        assert [entry.run_id for entry in (await store.page("ann", 10)).entries] == ["r1"]
        assert [entry.run_id for entry in (await store.page("bob", 10)).entries] == ["r2"]

    async def test_a_cursor_is_for_one_owner_and_tells_nothing_of_the_others(
        self, store: ThreadStore
    ) -> None:
        for key in (THREAD, SECOND, OTHERS):
            await run_through(store, key, f"r-{key.owner}-{key.thread_id}")
        cursor = (await store.page("ann", 1)).cursor
        assert cursor
        await run_through(store, OTHERS, "r4")
        assert (await store.page("ann", 1)).cursor == cursor
        with pytest.raises(ValueError, match="cursor"):
            await store.page("bob", 1, cursor)
        await run_through(store, SECOND, "r5")
        moved = (await store.page("ann", 1)).cursor or ""
        # Numbers that differ by little would leave most of the characters as they are.
        assert sum(a == b for a, b in zip(cursor, moved, strict=True)) < len(cursor) / 2

    @pytest.mark.parametrize("place", [0, 20, 39])
    async def test_a_changed_cursor_is_refused(self, store: ThreadStore, place: int) -> None:
        for key in (THREAD, SECOND):
            await run_through(store, key, f"r-{key.thread_id}")
        cursor = (await store.page("ann", 1)).cursor or ""
        changed = "B" if cursor[place] == "A" else "A"
        with pytest.raises(ValueError, match="cursor"):
            await store.page("ann", 1, cursor[:place] + changed + cursor[place + 1 :])

    @pytest.mark.parametrize("cursor", ["x", "elsewhere", "2.2", "½", "\0", "A" * 40, "9" * 100])
    async def test_an_unknown_cursor_is_refused(self, store: ThreadStore, cursor: str) -> None:
        with pytest.raises(ValueError, match="cursor"):
            await store.page("ann", 10, cursor)

    async def test_a_renamed_thread_keeps_all_but_its_title(self, store: ThreadStore) -> None:
        before = await run_through(store, THREAD, "r1")
        others = await run_through(store, OTHERS, "r2")
        renamed = replace(before, title="Renamed")
        assert await store.rename(THREAD, "Renamed") == renamed
        assert await store.get(THREAD) == renamed
        assert await store.get(OTHERS) == others

    async def test_a_thread_that_is_not_there_cannot_be_renamed(self, store: ThreadStore) -> None:
        await run_through(store, THREAD, "r1")
        assert await store.rename(OTHERS, "Renamed") is None
        assert await store.get(OTHERS) is None


class ChangedStore(ThreadStore, SqlTransactions, Protocol):
    """A store whose tables a test changes."""


LATER = ("threads", "approvals")


@asynccontextmanager
async def later_columns(store: SqlTransactions) -> AsyncIterator[None]:
    """The tables have a column that this version does not know, and all rows a value in it."""

    def each(*statements: str) -> Callable[[Connection], None]:
        def execute(connection: Connection) -> None:
            for table in LATER:
                for statement in statements:
                    connection.execute(text(statement.format(table)))

        return execute

    added = "ALTER TABLE {} ADD COLUMN later TEXT", "UPDATE {} SET later = 'kept'"
    await store.write(each(*added))
    try:
        yield
    finally:
        await store.write(each("ALTER TABLE {} DROP COLUMN later"))


def kept_by(connection: Connection, table: str) -> list[str]:
    return [*connection.scalars(text(f"SELECT later FROM {table}"))]


class LaterVersionContract:
    """A database that a server of a later version uses too."""

    async def test_columns_of_a_later_version_survive_what_this_one_writes(
        self, store: ChangedStore
    ) -> None:
        asked = WaitingApproval(THREAD, "c1", "a1", "delete", {}, 1.0)
        await begin(store, THREAD, "r1")
        await store.end_run(THREAD, "r1", "waiting", waiting=[asked])
        async with later_columns(store):
            await store.claim(THREAD, "r2")
            await store.begin_run(THREAD, "r2", "Hello", closes_approvals=True)
            await store.rename(THREAD, "Mine")
            await store.arrange(THREAD, pinned=True)
            await store.end_run(THREAD, "r2", "waiting", waiting=[asked])
            for table in LATER:
                assert await store.read(kept_by, table) == ["kept"], table
        assert (await store.approvals("ann", [], 2.0, 10)).approvals == [asked]


class RecoveryContract:
    """Of a store whose process died."""

    async def test_recovery_names_the_graph_of_a_live_run(self, store: ThreadStore) -> None:
        await store.claim(THREAD, "r1")
        await store.begin_run(THREAD, "r1", "Hello", "planner")
        assert list(await store.recover()) == [LostRun(THREAD, "r1", "planner")]

    async def test_recovery_names_the_live_runs_of_all_owners(self, store: ThreadStore) -> None:
        await run_through(store, SECOND, "r0")
        live = [await begin(store, key, f"r-{key.owner}") for key in (THREAD, OTHERS)]
        lost = {LostRun(THREAD, "r-ann"), LostRun(OTHERS, "r-bob")}
        assert set(await store.recover()) == lost
        assert [await store.get(key) for key in (THREAD, OTHERS)] == live, "it ends no run"
        await store.end_run(THREAD, "r-ann", "interrupted")
        assert list(await store.recover()) == [LostRun(OTHERS, "r-bob")]

    async def test_recovery_keeps_the_keys_of_runs_that_had_begun(self, store: ThreadStore) -> None:
        for key, run_id in ((THREAD, "r1"), (OTHERS, "r2")):
            await store.claim(key, run_id, KEY)
            await store.begin_run(key, run_id, "Hello", base="c1")
        await store.end_run(OTHERS, "r2", "finished")
        assert list(await store.recover()) == [LostRun(THREAD, "r1", base="c1")]
        assert await store.claim(SECOND, "r3", KEY) == Repeated("t1", "r1", same_body=True)
        again = await store.claim(ThreadKey("bob", "t2"), "r4", KEY)
        assert again == Repeated("t1", "r2", same_body=True)

    async def test_recovery_drops_the_claims_and_keys_of_runs_that_had_not_begun(
        self, store: ThreadStore
    ) -> None:
        await store.claim(THREAD, "r1", KEY)
        await store.claim(OTHERS, "r2", KEY)
        await store.claim_for_deletion(SECOND, "d1")
        assert list(await store.recover()) == [], "no run had begun"
        assert await store.holder(THREAD) is None
        for key in (THREAD, OTHERS):
            assert await store.claim(key, "r3", KEY) == Granted()
        assert await store.claim(SECOND, "r4") == Granted()

    async def test_there_is_nothing_to_recover_in_a_fresh_store(self, store: ThreadStore) -> None:
        assert list(await store.recover()) == []
