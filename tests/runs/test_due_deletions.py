"""Deleted threads are forgotten when their time is over, each by itself."""

import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from tests.support.backend import Backend, backend, key_of, message
from turnstream.graphs.offline import OfflineChatModel
from turnstream.server.runs.due_deletions import AGAIN_SECONDS, LOOK_SECONDS, DueDeletions
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.storage.store import SqliteStore
from turnstream.server.turns.header import ThreadKey

THREADS = ("t0", "t1", "t2", "t3")


@pytest.fixture
async def inside(tmp_path: Path) -> AsyncIterator[Backend]:
    """Four threads that are deleted, and due."""
    async with backend(tmp_path / "t.db", OfflineChatModel(word_seconds=0)) as inside:
        for number, thread in enumerate(THREADS):
            await inside.turn(message(), thread)
            await hide(inside, thread, until=float(number))
        yield inside


async def hide(inside: Backend, thread: str, until: float) -> None:
    await inside.store.claim_for_deletion(key_of(thread), "d1")
    await store_of(inside).hide(key_of(thread), "d1", until)


def store_of(inside: Backend) -> SqliteStore:
    assert isinstance(inside.store, SqliteStore)
    return inside.store


async def hidden(inside: Backend) -> Sequence[str]:
    return [key.thread_id for key, _ in await store_of(inside).hidden(9)]


def due_deletions(inside: Backend, fault: Exception | None = None, *bad: str) -> DueDeletions:
    """Some threads cannot be forgotten; with None somebody else has them."""

    async def forget(key: ThreadKey) -> bool:
        if key.thread_id in bad:
            if fault:
                raise fault
            return False
        return await inside.runs.deletions.forget_hidden(key)

    return DueDeletions(store_of(inside), forget, inside.runs.deletions.hidden)


@pytest.mark.parametrize("fault", [StorageUnavailable("storage_failed"), RuntimeError("broken")])
async def test_threads_that_cannot_be_forgotten_hold_up_no_other(
    inside: Backend, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    monkeypatch.setattr("turnstream.server.runs.due_deletions.AT_ONCE", 2)
    assert await due_deletions(inside, fault, "t0", "t1").forget_due() == LOOK_SECONDS
    assert await hidden(inside) == ["t0", "t1"]
    assert await inside.messages("t3") == []


async def test_threads_that_somebody_else_has_hold_up_no_other(
    inside: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnstream.server.runs.due_deletions.AT_ONCE", 2)
    assert await due_deletions(inside, None, "t0", "t1").forget_due() == AGAIN_SECONDS
    assert await hidden(inside) == ["t0", "t1"]


async def test_behind_one_that_cannot_be_forgotten_the_next_is_forgotten_in_its_time(
    inside: Backend,
) -> None:
    await inside.turn(message(), "soon")
    await hide(inside, "soon", until=time.time() + 20)
    assert 0 < await due_deletions(inside, RuntimeError("broken"), "t0").forget_due() <= 20
    assert await hidden(inside) == ["t0", "soon"]


async def test_while_the_database_does_nothing_no_other_thread_is_tried(
    inside: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = StorageUnavailable("database_gone")
    work = due_deletions(inside, gone, "t0")
    hidden_before = store_of(inside).hidden

    async def fails(limit: int, **_named: object) -> object:
        if limit == 1:
            raise gone
        return await hidden_before(limit)

    with monkeypatch.context() as patch:
        patch.setattr(inside.store, "hidden", fails)
        with pytest.raises(StorageUnavailable):
            await work.forget_due()
    assert await hidden(inside) == list(THREADS)
