"""What any store must do that searches titles and texts."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

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
from turnstream.server.extensions.loading import tables_of
from turnstream.server.extensions.recording import joined
from turnstream.server.extensions.search import SearchExtension, SearchSettings
from turnstream.server.extensions.search.index import IDS_AT_ONCE, Behind, SearchIndex, open_index
from turnstream.server.extensions.search.matching import Place, WordSearch
from turnstream.server.extensions.search.words import wanted
from turnstream.server.storage.also import Also
from turnstream.server.storage.interfaces import Granted, Page
from turnstream.server.storage.opened import ServerStore
from turnstream.server.storage.ownership import assign
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.message_texts import MessageText, TextChanges

FRUITS = ("apples", "pears", "plums", "cherries", "figs", "grapes")


def said(*texts: str, start: int = 1) -> list[MessageText]:
    return [MessageText(f"m{n}", f"m{n}", text) for n, text in enumerate(texts, start)]


@dataclass(frozen=True)
class Searched:
    """A store with a search over its threads."""

    store: ServerStore
    index: SearchIndex
    extension: SearchExtension

    @classmethod
    async def open(cls, store: ServerStore) -> "Searched":
        extension = SearchExtension(SearchSettings.model_validate({}))
        await store.open_extensions(tables_of([extension]), is_shared=False)
        searched = cls(store, await open_index(store), extension)
        store.follow_titles(searched._titled)
        return searched

    def _titled(self, key: ThreadKey, title: str) -> Also:
        return joined(self.extension, self.index.titled(key, title))

    async def end(
        self, key: ThreadKey, run_id: str, changes: TextChanges, before: str | None = None
    ) -> None:
        """End a run that has changed its thread's texts."""
        writes = await self.index.following(key, run_id, before, changes)
        await self.store.end_run(key, run_id, "finished", joined(self.extension, writes))

    async def tell(self, key: ThreadKey, run_id: str, *texts: str, title: str = "Hello") -> None:
        """Add a thread of one run, which says these texts."""
        entry = await begin(self.store, key, run_id, title)
        await self.end_first(key, run_id, entry.title, *texts)

    async def end_first(self, key: ThreadKey, run_id: str, title: str, *texts: str) -> None:
        """End the run that has begun a thread."""
        writes = self.index.beginning(key, run_id, title, said(*texts))
        await self.store.end_run(key, run_id, "finished", joined(self.extension, writes))

    async def page(self, text: str, owner: str = "ann", limit: int = 100, **query: Any) -> Page:
        search = WordSearch(wanted(text), has_texts=True)
        return await self.store.page(owner, limit, search=search, **query)

    async def found(self, text: str, owner: str = "ann") -> list[str]:
        return ids(await self.page(text, owner))


class SearchContract:
    @pytest.fixture
    async def searched(self, store: ServerStore) -> Searched:
        return await Searched.open(store)

    async def test_a_thread_is_found_by_words_of_its_title_and_texts_together(
        self, searched: Searched
    ) -> None:
        await searched.tell(THREAD, "r1", "What is the weather?", "Rain in Paris.", title="Trip")
        await searched.tell(SECOND, "r2", "What is the weather?", "Sun.", title="Another")
        assert await searched.found("weather paris trip") == ["t1"]
        assert await searched.found("weather") == ["t2", "t1"]
        assert await searched.found("weather berlin") == []

    async def test_the_last_word_is_a_beginning_until_a_blank_follows(
        self, searched: Searched
    ) -> None:
        await searched.tell(THREAD, "r1", "Converting miles")
        assert await searched.found("conv") == ["t1"]
        assert await searched.found("conv ") == []
        assert await searched.found("conv mil") == []
        assert await searched.found("miles conv") == ["t1"]

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
        self, searched: Searched, text: str, query: str
    ) -> None:
        await searched.tell(THREAD, "r1", text)
        await searched.tell(SECOND, "r2", "Something else")
        assert await searched.found(query) == ["t1"]

    async def test_an_owner_finds_nothing_of_another(self, searched: Searched) -> None:
        await searched.tell(THREAD, "r1", "the weather", title="mine")
        await searched.tell(OTHERS, "r2", "the weather", title="theirs")
        assert [*(await searched.page("weather")).found] == ["t1"]
        assert await searched.found("theirs") == []
        assert await searched.found("weather", "carol") == []

    async def test_the_newest_text_that_has_all_the_words_comes_along(
        self, searched: Searched
    ) -> None:
        texts = "rain is wet", "the rain in Spain", "snow", "Rain"
        await searched.tell(THREAD, "r1", *texts, title="Raincoats in Spain")
        page = await searched.page("spain rain")
        assert page.found == {"t1": Place("m2", "the rain in Spain")}

    async def test_a_thread_that_only_its_title_names_has_no_text(self, searched: Searched) -> None:
        await searched.tell(THREAD, "r1", "Hello", title="Rain")
        page = await searched.page("rain")
        assert (ids(page), page.found) == (["t1"], {})

    async def test_a_run_adds_its_texts_and_takes_away_what_is_gone(
        self, searched: Searched
    ) -> None:
        await searched.tell(THREAD, "r1", "apples", "pears")
        await begin(searched.store, THREAD, "r2")
        new = TextChanges(said("plums", start=3), ["m2"], list)
        await searched.end(THREAD, "r2", new, "r1")
        assert await searched.found("apples plums") == ["t1"]
        assert await searched.found("pears") == []

    async def test_a_branch_leaves_what_it_does_not_have(self, searched: Searched) -> None:
        await searched.tell(THREAD, "r1", "apples", "pears", "plums")
        await begin(searched.store, THREAD, "r2")
        new = said("cherries", start=4)
        changes = TextChanges(new, (), lambda: [*said("apples"), *new], is_branch=True)
        await searched.end(THREAD, "r2", changes, "r1")
        assert await searched.found("apples cherries") == ["t1"]
        assert await searched.found("pears") == await searched.found("plums") == []

    async def test_a_branch_says_a_message_of_the_same_id_in_its_own_words(
        self, searched: Searched
    ) -> None:
        await searched.tell(THREAD, "r1", "apples", "pears", "plums")
        for run_id, new, whole in (
            ("r2", said("cherries", "figs", start=2), ("apples", "cherries", "figs")),
            ("r3", said("grapes", start=4), ("apples", "pears", "plums", "grapes")),
        ):
            before = (await entry_of(searched.store, THREAD)).run_id
            await begin(searched.store, THREAD, run_id)
            changes = TextChanges(new, (), partial(said, *whole), is_branch=True)
            await searched.end(THREAD, run_id, changes, before)
            told = [word for word in FRUITS if await searched.found(word)]
            assert told == [word for word in FRUITS if word in whole], run_id
        page = await searched.page("pears")
        assert page.found == {"t1": Place("m2", "pears")}

    async def test_a_thread_that_is_indexed_anew_has_the_words_that_it_has_by_now(
        self, searched: Searched
    ) -> None:
        await searched.tell(THREAD, "r1", "apples", "pears")
        await run_through(searched.store, THREAD, "r2")
        (behind,) = await searched.index.behind(10)
        await searched.index.put(behind, said("apples", "plums"))
        assert await searched.found("apples plums") == ["t1"]
        assert await searched.found("pears") == []

    async def test_a_run_whose_thread_was_not_indexed_brings_all_of_it(
        self, searched: Searched
    ) -> None:
        await run_through(searched.store, THREAD, "r1")
        await begin(searched.store, THREAD, "r2")
        texts = said("apples", "pears")
        await searched.end(THREAD, "r2", TextChanges(texts[1:], (), lambda: texts), "r1")
        assert await searched.found("apples pears hello") == ["t1"]

    async def test_a_renamed_thread_is_found_by_its_new_title_alone(
        self, searched: Searched
    ) -> None:
        await searched.tell(THREAD, "r1", "apples", title="Old")
        await searched.store.rename(THREAD, "New")
        assert await searched.found("new") == ["t1"]
        assert await searched.found("old") == []

    async def test_a_thread_that_is_renamed_while_its_run_ends_is_found_by_the_new_title(
        self, searched: Searched
    ) -> None:
        await begin(searched.store, THREAD, "r1", "Old")
        changes = TextChanges((), (), list)
        writes = await searched.index.following(THREAD, "r1", None, changes)
        await searched.store.rename(THREAD, "New")
        also = joined(searched.extension, writes)
        await searched.store.end_run(THREAD, "r1", "finished", also)
        assert await searched.found("new") == ["t1"]
        assert await searched.found("old") == []

    @pytest.mark.parametrize("names", [["New"], ["New", "Old"]])
    async def test_a_thread_that_is_renamed_in_its_first_run_is_found_by_its_title_alone(
        self, searched: Searched, names: list[str]
    ) -> None:
        await begin(searched.store, THREAD, "r1", "Old")
        for name in names:
            await searched.store.rename(THREAD, name)
        await searched.end_first(THREAD, "r1", "Old", "apples")
        for title in ("New", "Old"):
            assert await searched.found(title) == (["t1"] if title == names[-1] else [])
        assert await searched.found("apples") == ["t1"]
        await forget(searched.store, THREAD)
        assert await searched.found(names[-1]) == []

    async def test_what_is_left_of_an_earlier_thread_has_a_new_one_indexed_later(
        self, searched: Searched
    ) -> None:
        await begin(searched.store, SECOND, "r1")
        earlier = searched.index.beginning(THREAD, "r0", "Hello", said("apples"))
        also = joined(searched.extension, earlier)
        await searched.store.end_run(SECOND, "r1", "finished", also)
        await searched.tell(THREAD, "r2", "pears")
        assert await searched.found("pears") == []
        for behind in await searched.index.behind(10):
            await searched.index.put(behind, said("pears") if behind.key == THREAD else ())
        assert await searched.found("apples") == []
        assert await searched.found("pears") == ["t1"]

    async def test_a_deleted_thread_is_not_found(self, searched: Searched) -> None:
        await searched.tell(THREAD, "r1", "apples")
        await forget(searched.store, THREAD)
        await searched.tell(THREAD, "r2", "pears")
        assert await searched.found("apples") == []
        assert await searched.found("pears") == ["t1"]

    async def test_threads_that_are_not_indexed_are_named_once(self, searched: Searched) -> None:
        await searched.tell(THREAD, "r1", "apples")
        await run_through(searched.store, SECOND, "r2")
        await begin(searched.store, OTHERS, "r3")
        (behind,) = await searched.index.behind(10)
        assert behind == Behind(SECOND, "r2")
        assert await searched.index.behind(10, behind) == []
        await searched.index.put(behind, said("pears"))
        assert await searched.index.behind(10) == []
        assert await searched.found("pears") == ["t2"]

    async def test_a_thread_on_which_a_run_has_begun_is_left_to_it(
        self, searched: Searched
    ) -> None:
        await run_through(searched.store, THREAD, "r1")
        (behind,) = await searched.index.behind(10)
        await begin(searched.store, THREAD, "r2")
        await searched.index.put(behind, said("apples"))
        assert await searched.found("apples") == []

    async def test_pages_of_a_search_are_those_of_the_list(self, searched: Searched) -> None:
        keys = [ThreadKey("ann", f"t{n}") for n in range(7)]
        for key in keys:
            await searched.tell(key, f"r-{key.thread_id}", "rain" if key != keys[3] else "sun")
        first = await searched.page("rain", limit=4)
        assert ids(first) == sorted(first.found, reverse=True) == ["t6", "t5", "t4", "t2"]
        await run_through(searched.store, keys[0], "again")
        rest = await searched.page("rain", limit=4, cursor=first.cursor)
        assert (ids(rest), rest.cursor) == (["t1", "t0"], None)

    async def test_a_search_looks_in_the_archive_if_it_is_asked_to(
        self, searched: Searched
    ) -> None:
        await searched.tell(THREAD, "r1", "rain")
        await searched.tell(SECOND, "r2", "rain")
        await searched.store.arrange(SECOND, archived=True)
        for archived, expected in ((False, ["t1"]), (True, ["t2"]), (None, ["t2", "t1"])):
            page = await searched.page("rain", archived=archived)
            assert ids(page) == expected

    async def test_what_stands_far_behind_in_a_text_is_not_found(self, searched: Searched) -> None:
        await searched.tell(THREAD, "r1", "first " + "x" * 40_000 + " last", "\0nul \ud800 here")
        assert await searched.found("first") == ["t1"]
        assert await searched.found("last") == []
        assert await searched.found("nul here") == ["t1"]

    async def test_a_thread_that_was_given_to_another_owner_is_found_by_them_once_it_is_indexed(
        self, searched: Searched
    ) -> None:
        await searched.tell(THREAD, "r1", "apples")
        await assign(searched.store, "ann", "carol")
        moved = ThreadKey("carol", THREAD.thread_id)
        assert await searched.index.behind(10) == [Behind(moved, "r1")]
        await searched.index.put(Behind(moved, "r1"), said("apples"))
        assert await searched.found("apples hello", "carol") == [THREAD.thread_id]
        assert await searched.found("apples") == []

    async def test_a_hidden_thread_is_indexed_when_it_is_back(self, searched: Searched) -> None:
        await run_through(searched.store, THREAD, "r1")
        assert await searched.store.claim_for_deletion(THREAD, "d1") == Granted()
        await searched.store.hide(THREAD, "d1", time.time() + 1_000)
        assert await searched.index.behind(10) == []
        await searched.store.restore(THREAD)
        assert await searched.index.behind(10) == [Behind(THREAD, "r1")]

    async def test_a_long_thread_is_indexed_in_few_statements(self, searched: Searched) -> None:
        texts = said(*(f"word{n}" for n in range(2 * IDS_AT_ONCE + 1)))
        await searched.tell(THREAD, "r1", *(text.text for text in texts))
        assert await searched.found(f"word0 word{len(texts) - 1}") == ["t1"]
        await begin(searched.store, THREAD, "r2")
        gone = TextChanges((), [text.message_id for text in texts[1:]], lambda: texts[:1])
        await searched.end(THREAD, "r2", gone, "r1")
        assert await searched.found("word0") == ["t1"]
        assert await searched.found("word1 ") == []
