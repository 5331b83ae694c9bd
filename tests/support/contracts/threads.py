"""Threads for the contract of the store, and what its tests do with them."""

from datetime import datetime, timedelta

from turnstream.server.storage.interfaces import Granted, Page, ThreadEntry, ThreadStore
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import IdempotencyKey

THREAD = ThreadKey("ann", "t1")
SECOND = ThreadKey("ann", "t2")
OTHERS = ThreadKey("bob", "t1")
"""The same thread id, of another owner."""
KEY = IdempotencyKey("key", "digest")
AT_ONCE = 20


async def begin(
    store: ThreadStore, key: ThreadKey, run_id: str, title: str = "Hello"
) -> ThreadEntry:
    assert await store.claim(key, run_id) == Granted(await store.get(key))
    await store.begin_run(key, run_id, title)
    return await entry_of(store, key)


async def run_through(store: ThreadStore, key: ThreadKey, run_id: str) -> ThreadEntry:
    await begin(store, key, run_id)
    await store.end_run(key, run_id, "finished")
    return await entry_of(store, key)


async def forget(store: ThreadStore, key: ThreadKey) -> None:
    """A whole deletion."""
    assert await store.claim_for_deletion(key, "d0") == Granted()
    await store.delete(key)
    await store.release(key, "d0")


async def entry_of(store: ThreadStore, key: ThreadKey) -> ThreadEntry:
    entry = await store.get(key)
    assert entry is not None
    return entry


async def listed(store: ThreadStore, owner: str = "ann") -> list[str]:
    return ids(await store.page(owner, 100))


def ids(page: Page) -> list[str]:
    return [entry.id for entry in page.entries]


def moment(text: str) -> datetime:
    when = datetime.fromisoformat(text)
    assert when.utcoffset() == timedelta(0)
    return when
