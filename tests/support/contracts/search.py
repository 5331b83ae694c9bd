"""What any store must do that searches titles and texts."""

from functools import partial

import pytest

from tests.support.contracts.threads import (
    OTHERS,
    SECOND,
    THREAD,
    begin,
    entry_of,
    forget,
    ids,
    run_through,
)
from turnstream.server.storage.interfaces import Page
from turnstream.server.storage.searching import Found, TextChanges, ThreadText, Unsearchable
from turnstream.server.storage.undo import UndoStore
from turnstream.server.storage.words import wanted
from turnstream.server.turns.header import ThreadKey

FRUITS = ("apples", "pears", "plums", "cherries", "figs", "grapes")


def said(*texts: str, start: int = 1) -> list[ThreadText]:
    return [ThreadText(f"m{n}", f"m{n}", text) for n, text in enumerate(texts, start)]


async def tell(
    store: UndoStore, key: ThreadKey, run_id: str, *texts: str, title: str = "Hello"
) -> None:
    """A thread of one run, which says these texts."""
    await begin(store, key, run_id, title)
    await store.end_run(key, run_id, "finished")
    await store.note_texts(key, run_id, TextChanges(said(*texts), (), lambda: said(*texts)))


async def search(store: UndoStore, text: str, owner: str = "ann", limit: int = 100) -> Page:
    return await store.page(owner, limit, wanted=wanted(text))


async def found(store: UndoStore, text: str, owner: str = "ann") -> list[str]:
    return ids(await search(store, text, owner))


class SearchContract:
    async def test_a_thread_is_found_by_words_of_its_title_and_texts_together(
        self, store: UndoStore
    ) -> None:
        await tell(store, THREAD, "r1", "What is the weather?", "Rain in Paris.", title="Trip")
        await tell(store, SECOND, "r2", "What is the weather?", "Sun.", title="Another")
        assert await found(store, "weather paris trip") == ["t1"]
        assert await found(store, "weather") == ["t2", "t1"]
        assert await found(store, "weather berlin") == []

    async def test_the_last_word_is_a_beginning_until_a_blank_follows(
        self, store: UndoStore
    ) -> None:
        await tell(store, THREAD, "r1", "Converting miles")
        assert await found(store, "conv") == ["t1"]
        assert await found(store, "conv ") == []
        assert await found(store, "conv mil") == []
        assert await found(store, "miles conv") == ["t1"]

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("Die Straße nach MÜNCHEN", "strasse munchen"),
            ("Die Straße nach Mu\u0308nchen", "STRASSE mün"),
            ("東京の天気は晴れです", "天気"),
            ("A party 🎉 tonight", "🎉"),
            ('He said: "NEAR" AND me', '"near" AND* -said'),
            ("It's O'Brien's", "o'brien's"),
            ("f(x) = x^2; DROP TABLE threads", "f(x); drop' --"),
            ("a_b and c-d", "a_b c-d"),
            ("π ≈ 3.14159", "π 3.141"),
            ("नमस्ते दुनिया", "दुनि"),
            ("one" + "x" * 100, "one" + "x" * 90),
        ],
    )
    async def test_what_is_looked_for_is_words_and_no_syntax(
        self, store: UndoStore, text: str, query: str
    ) -> None:
        await tell(store, THREAD, "r1", text)
        await tell(store, SECOND, "r2", "Something else")
        assert await found(store, query) == ["t1"]

    async def test_an_owner_finds_nothing_of_another(self, store: UndoStore) -> None:
        await tell(store, THREAD, "r1", "the weather", title="mine")
        await tell(store, OTHERS, "r2", "the weather", title="theirs")
        assert [*(await search(store, "weather")).found] == ["t1"]
        assert await found(store, "theirs") == []
        assert await found(store, "weather", "carol") == []

    async def test_the_newest_text_that_has_all_the_words_comes_along(
        self, store: UndoStore
    ) -> None:
        texts = "rain is wet", "the rain in Spain", "snow", "Rain"
        await tell(store, THREAD, "r1", *texts, title="Raincoats in Spain")
        page = await search(store, "spain rain")
        assert page.found == {"t1": Found("m2", "the rain in Spain")}

    async def test_a_thread_that_only_its_title_names_has_no_text(self, store: UndoStore) -> None:
        await tell(store, THREAD, "r1", "Hello", title="Rain")
        page = await search(store, "rain")
        assert (ids(page), page.found) == (["t1"], {})

    async def test_a_run_adds_its_texts_and_takes_away_what_is_gone(self, store: UndoStore) -> None:
        await tell(store, THREAD, "r1", "apples", "pears")
        await run_through(store, THREAD, "r2")
        new = TextChanges(said("plums", start=3), ["m2"], list, "r1")
        await store.note_texts(THREAD, "r2", new)
        assert await found(store, "apples plums") == ["t1"]
        assert await found(store, "pears") == []

    async def test_a_branch_leaves_what_it_does_not_have(self, store: UndoStore) -> None:
        await tell(store, THREAD, "r1", "apples", "pears", "plums")
        await run_through(store, THREAD, "r2")
        new = said("cherries", start=4)
        changes = TextChanges(new, (), lambda: [*said("apples"), *new], "r1", is_branch=True)
        await store.note_texts(THREAD, "r2", changes)
        assert await found(store, "apples cherries") == ["t1"]
        assert await found(store, "pears") == await found(store, "plums") == []

    async def test_a_branch_says_a_message_of_the_same_id_in_its_own_words(
        self, store: UndoStore
    ) -> None:
        await tell(store, THREAD, "r1", "apples", "pears", "plums")
        for run_id, new, whole in (
            ("r2", said("cherries", "figs", start=2), ("apples", "cherries", "figs")),
            ("r3", said("grapes", start=4), ("apples", "pears", "plums", "grapes")),
        ):
            before = (await entry_of(store, THREAD)).run_id
            await run_through(store, THREAD, run_id)
            changes = TextChanges(new, (), partial(said, *whole), before, is_branch=True)
            await store.note_texts(THREAD, run_id, changes)
            told = [word for word in FRUITS if await found(store, word)]
            assert told == [word for word in FRUITS if word in whole], run_id
        page = await search(store, "pears")
        assert page.found == {"t1": Found("m2", "pears")}

    async def test_a_thread_that_is_indexed_anew_has_the_words_that_it_has_by_now(
        self, store: UndoStore
    ) -> None:
        await tell(store, THREAD, "r1", "apples", "pears")
        await run_through(store, THREAD, "r2")
        (behind,) = await store.unsearchable(10)
        await store.put_texts(behind, said("apples", "plums"))
        assert await found(store, "apples plums") == ["t1"]
        assert await found(store, "pears") == []

    async def test_a_run_whose_thread_was_not_indexed_brings_all_of_it(
        self, store: UndoStore
    ) -> None:
        await run_through(store, THREAD, "r1")
        await run_through(store, THREAD, "r2")
        texts = said("apples", "pears")
        await store.note_texts(THREAD, "r2", TextChanges(texts[1:], (), lambda: texts, "r1"))
        assert await found(store, "apples pears hello") == ["t1"]

    async def test_a_run_that_is_late_changes_nothing(self, store: UndoStore) -> None:
        await tell(store, THREAD, "r1", "apples")
        await run_through(store, THREAD, "r2")
        await store.note_texts(THREAD, "r1", TextChanges(said("pears"), (), list))
        assert await found(store, "pears") == []

    async def test_a_renamed_thread_is_found_by_its_new_title_alone(self, store: UndoStore) -> None:
        await tell(store, THREAD, "r1", "apples", title="Old")
        await store.rename(THREAD, "New")
        assert await found(store, "new") == ["t1"]
        assert await found(store, "old") == []

    async def test_a_deleted_thread_is_not_found(self, store: UndoStore) -> None:
        await tell(store, THREAD, "r1", "apples")
        await forget(store, THREAD)
        await tell(store, THREAD, "r2", "pears")
        assert await found(store, "apples") == []
        assert await found(store, "pears") == ["t1"]

    async def test_threads_that_are_not_indexed_are_named_once(self, store: UndoStore) -> None:
        await tell(store, THREAD, "r1", "apples")
        await run_through(store, SECOND, "r2")
        await begin(store, OTHERS, "r3")
        (behind,) = await store.unsearchable(10)
        assert behind == Unsearchable(SECOND, "r2", None)
        assert await store.unsearchable(10, behind) == []
        await store.put_texts(behind, said("pears"))
        assert await store.unsearchable(10) == []
        assert await found(store, "pears") == ["t2"]

    async def test_a_thread_on_which_a_run_has_begun_is_left_to_it(self, store: UndoStore) -> None:
        await run_through(store, THREAD, "r1")
        (behind,) = await store.unsearchable(10)
        await begin(store, THREAD, "r2")
        await store.put_texts(behind, said("apples"))
        assert await found(store, "apples") == []

    async def test_pages_of_a_search_are_those_of_the_list(self, store: UndoStore) -> None:
        keys = [ThreadKey("ann", f"t{n}") for n in range(7)]
        for key in keys:
            await tell(store, key, f"r-{key.thread_id}", "rain" if key != keys[3] else "sun")
        first = await search(store, "rain", limit=4)
        assert ids(first) == sorted(first.found, reverse=True) == ["t6", "t5", "t4", "t2"]
        await run_through(store, keys[0], "again")
        rest = await store.page("ann", 4, first.cursor, wanted=wanted("rain"))
        assert (ids(rest), rest.cursor) == (["t1", "t0"], None)

    async def test_a_search_looks_in_the_archive_if_it_is_asked_to(self, store: UndoStore) -> None:
        await tell(store, THREAD, "r1", "rain")
        await tell(store, SECOND, "r2", "rain")
        await store.arrange(SECOND, archived=True)
        for archived, expected in ((False, ["t1"]), (True, ["t2"]), (None, ["t2", "t1"])):
            page = await store.page("ann", 9, archived=archived, wanted=wanted("rain"))
            assert ids(page) == expected

    async def test_what_stands_far_behind_in_a_text_is_not_found(self, store: UndoStore) -> None:
        await tell(store, THREAD, "r1", "first " + "x" * 40_000 + " last", "\0nul \ud800 here")
        assert await found(store, "first") == ["t1"]
        assert await found(store, "last") == []
        assert await found(store, "nul here") == ["t1"]
