"""The contract of a store that keeps assistants."""

import asyncio

import pytest

from turnstream.server.storage import assistant_rows
from turnstream.server.storage.assistants import (
    MAX_ASSISTANT_CHARS,
    MAX_VERSIONS,
    Assistant,
    AssistantTooLarge,
    Content,
    TooManyAssistants,
)
from turnstream.server.storage.interfaces import ThreadStore

CONTENT = Content("chat", "Ann's", None, {"configurable": {"tone": "dry"}}, {}, {"team": 1})


async def made(store: ThreadStore, id: str = "a1", owner: str = "ann") -> Assistant:
    assistant = await store.create_assistant(owner, id, CONTENT)
    assert assistant is not None
    return assistant


async def numbers(store: ThreadStore, id: str = "a1") -> list[int]:
    return [one.version for one in await store.assistant_versions("ann", id)]


class AssistantContract:
    async def test_an_assistant_belongs_to_its_owner(self, store: ThreadStore) -> None:
        kept = await made(store)
        assert (kept.version, kept.content) == (1, CONTENT)
        assert await store.assistant("ann", "a1") == kept
        assert await store.create_assistant("ann", "a1", CONTENT) is None
        assert await store.assistant("ben", "a1") is None
        assert await store.update_assistant("ben", "a1", {"name": "Mine"}) is None
        assert await store.choose_version("ben", "a1", 1) is None
        assert not await store.delete_assistant("ben", "a1")
        await store.forget_assistants("ben")
        await made(store, owner="ben")
        assert await store.delete_assistant("ann", "a1")
        assert not await store.delete_assistant("ann", "a1")
        assert [await store.assistants(owner) for owner in ("ann",)] == [[]]
        assert len(await store.assistants("ben")) == 1

    async def test_a_change_makes_a_version_and_an_earlier_one_can_be_chosen(
        self, store: ThreadStore
    ) -> None:
        first = await made(store)
        changed = await store.update_assistant(
            "ann", "a1", {"name": "New", "metadata": {"more": 2}, "config": {}}
        )
        assert changed is not None
        assert (changed.version, changed.created_at) == (2, first.created_at)
        assert changed.content == Content("chat", "New", None, {}, {}, {"team": 1, "more": 2})
        assert await store.choose_version("ann", "a1", 3) is None
        assert await store.assistants("ann") == [changed]
        assert await store.choose_version("ann", "a1", 1) == first
        assert await store.assistant("ann", "a1") == first
        third = await store.update_assistant("ann", "a1", {"description": "Again"})
        assert third is not None
        assert (third.version, third.content.name) == (3, "Ann's")
        assert await numbers(store) == [3, 2, 1]

    async def test_versions_that_are_made_at_once_have_numbers_of_their_own(
        self, store: ThreadStore
    ) -> None:
        await made(store)
        changes = [store.update_assistant("ann", "a1", {"name": name}) for name in "abc"]
        await asyncio.gather(*changes)
        assert await numbers(store) == [4, 3, 2, 1]

    async def test_the_oldest_versions_make_room(self, store: ThreadStore) -> None:
        await made(store)
        for number in range(MAX_VERSIONS):
            await store.update_assistant("ann", "a1", {"name": str(number)})
        assert await numbers(store) == [*range(MAX_VERSIONS + 1, 1, -1)]

    async def test_assistants_are_bounded_in_size_and_count(
        self, store: ThreadStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(assistant_rows, "MAX_ASSISTANTS", 3)
        long = Content("chat", "x" * MAX_ASSISTANT_CHARS)
        with pytest.raises(AssistantTooLarge):
            await store.create_assistant("ann", "a0", long)
        for number in range(3):
            await made(store, f"a{number}")
        with pytest.raises(TooManyAssistants):
            await store.create_assistant("ann", "one-more", CONTENT)
        with pytest.raises(AssistantTooLarge):
            await store.update_assistant("ann", "a0", {"name": long.name})
        assert await numbers(store, "a0") == [1]
        newest = (await store.assistants("ann"))[0]
        assert newest.id == "a2"
