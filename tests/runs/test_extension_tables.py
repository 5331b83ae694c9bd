"""The tables of extensions, in both databases."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, ForeignKey, Integer, MetaData, String, Table, func, insert, select

from tests.support.databases import open_storage
from turnstream.server.storage.extension_tables import ExtensionTables, drop
from turnstream.server.storage.extension_writes import tolerated
from turnstream.server.storage.interfaces import StorageError
from turnstream.server.storage.location import Location, PostgresUrl
from turnstream.server.storage.opened import ServerStore, Storage
from turnstream.server.storage.ownership import assign
from turnstream.server.turns.header import ThreadKey

metadata = MetaData()
words = Table(
    "words",
    metadata,
    Column("owner", String, primary_key=True),
    Column("thread_id", String, primary_key=True),
    Column("count", Integer, nullable=False),
)
TOY = ExtensionTables("words", metadata, 1, lambda _connection, _version: None)
T1, T2 = ThreadKey("ann", "t1"), ThreadKey("ann", "t2")


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    if request.param == "sqlite":
        return tmp_path / "t.db"
    url: PostgresUrl = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def storage(location: Location) -> AsyncIterator[Storage]:
    async with open_storage(location) as storage:
        await storage.store.open_extensions([TOY], is_shared=False)
        yield storage
        await storage.store.write(drop, "words")


async def count(store: ServerStore) -> int:
    return await store.read(lambda each: each.scalar(select(func.count()).select_from(words)) or 0)


def row(key: ThreadKey) -> Any:
    return insert(words).values(owner=key.owner, thread_id=key.thread_id, count=1)


async def begun(store: ServerStore, key: ThreadKey, *writes: Any) -> None:
    """A run of the thread from its claim to its end, which the writes join."""
    await store.claim(key, "r1")
    await store.begin_run(key, "r1", "Hello")
    await store.end_run(key, "r1", "finished", tolerated("words", writes))


async def test_a_write_joins_the_end_of_a_run_and_its_row_goes_with_the_thread(
    storage: Storage,
) -> None:
    for key in (T1, T2):
        await begun(storage.store, key, row(key))
    assert await count(storage.store) == 2
    await storage.store.claim_for_deletion(T1, "d1")
    await storage.store.delete(T1)
    assert await count(storage.store) == 1


async def test_a_mistake_leaves_out_all_writes_of_the_extension_and_not_the_end_of_the_run(
    storage: Storage,
) -> None:
    await begun(storage.store, T1, row(T1), row(T1))
    assert await count(storage.store) == 0
    entry = await storage.store.get(T1)
    assert entry is not None
    assert entry.run_state == "finished"


@pytest.mark.parametrize(
    "values",
    [{"nope": 1}, {"count": None}, {"count": 2**80}, {"owner": "\ud800"}],
    ids=["a column that there is not", "a null", "a number beyond 64 bits", "half a character"],
)
async def test_no_mistake_in_a_write_keeps_a_run_from_its_end(
    storage: Storage, values: dict[str, Any]
) -> None:
    whole = {"owner": T1.owner, "thread_id": T1.thread_id, "count": 1, **values}
    write = insert(words).values(**whole) if "nope" not in values else insert(words).values(nope=1)
    await begun(storage.store, T1, write)
    entry = await storage.store.get(T1)
    assert entry is not None
    assert entry.run_state == "finished"
    assert await count(storage.store) == 0


async def test_tables_that_refer_to_each_other_are_emptied_and_dropped(location: Location) -> None:
    linked = MetaData()
    of_thread = (Column("owner", String, primary_key=True), Column("thread_id", String))
    Table("toy", linked, *of_thread)
    Table(
        "toy_items",
        linked,
        Column("owner", String, ForeignKey("toy.owner")),
        Column("thread_id", String),
    )
    toy = ExtensionTables("toy", linked, 1, lambda _connection, _version: None)
    async with open_storage(location) as storage:
        store = storage.store
        await store.open_extensions([toy], is_shared=False)
        rows = [insert(each).values(owner="ann", thread_id="t1") for each in linked.sorted_tables]
        await begun(store, T1, *rows)
        await store.claim_for_deletion(T1, "d1")
        await store.delete(T1)
        for each in linked.sorted_tables:
            found = select(func.count()).select_from(each)
            assert await store.read(lambda connection, q=found: connection.scalar(q)) == 0
        assert await store.write(drop, "toy")


async def test_a_constraint_that_is_checked_at_the_end_leaves_out_the_writes_of_its_extension(
    location: Location,
) -> None:
    linked = MetaData()
    of_thread = (Column("owner", String, primary_key=True), Column("thread_id", String))
    Table("toy", linked, *of_thread)
    items = Table(
        "toy_items",
        linked,
        Column("owner", String, ForeignKey("toy.owner", deferrable=True, initially="DEFERRED")),
        Column("thread_id", String),
    )
    toy = ExtensionTables("toy", linked, 1, lambda _connection, _version: None)
    async with open_storage(location) as storage:
        store = storage.store
        await store.open_extensions([toy], is_shared=False)
        try:
            await begun(store, T1, insert(items).values(owner="ann", thread_id="t1"))
            entry = await store.get(T1)
            assert entry is not None
            assert entry.run_state == "finished"
        finally:
            await store.write(drop, "toy")


async def test_a_table_that_is_added_later_is_emptied_too(location: Location) -> None:
    more = MetaData()
    words.to_metadata(more)
    later = words.to_metadata(more, name="words_later")
    both = ExtensionTables("words", more, 1, TOY.migrate)
    async with open_storage(location) as storage:
        store = storage.store
        await store.open_extensions([TOY], is_shared=False)
        await store.open_extensions([both], is_shared=False)
        await begun(store, T1, insert(later).values(owner="ann", thread_id="t1", count=1))
        await store.claim_for_deletion(T1, "d1")
        await store.delete(T1)
        found = select(func.count()).select_from(later)
        assert await store.read(lambda connection: connection.scalar(found)) == 0
        await store.write(drop, "words")


async def test_rows_move_with_a_thread_that_is_assigned(storage: Storage) -> None:
    await begun(storage.store, T1, row(T1))
    assert (await assign(storage.store, "ann", "ben")).count == 1
    owners = await storage.store.read(lambda each: [*each.scalars(select(words.c.owner))])
    assert owners == ["ben"]


async def test_a_worker_that_lacks_an_extension_of_the_others_does_not_start(
    storage: Storage,
) -> None:
    with pytest.raises(StorageError, match="turnstream extensions drop words"):
        await storage.store.open_extensions([], is_shared=True)
    assert await storage.store.write(drop, "words")
    await storage.store.open_extensions([], is_shared=True)
    assert not await storage.store.write(drop, "words")


async def test_workers_that_start_at_once_make_the_tables_once(postgres_url: PostgresUrl) -> None:
    async with open_storage(postgres_url) as first, open_storage(postgres_url) as second:
        stores = (first.store, second.store)
        await asyncio.gather(*(each.open_extensions([TOY], is_shared=True) for each in stores))
        assert await count(first.store) == 0
        await first.store.write(drop, "words")
