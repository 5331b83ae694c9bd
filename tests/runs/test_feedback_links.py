"""The links between messages and the traces of their runs, in both databases."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, func, insert, select

from tests.support.databases import open_storage
from turnstream.server.extensions.base import MAX_WRITES
from turnstream.server.extensions.feedback import FeedbackExtension, feedback, links, metadata
from turnstream.server.extensions.feedback.links import linking, score_of
from turnstream.server.extensions.feedback.services import Score
from turnstream.server.storage.extension_tables import ExtensionTables
from turnstream.server.storage.extension_writes import tolerated
from turnstream.server.storage.location import Location, PostgresUrl
from turnstream.server.storage.opened import ServerStore
from turnstream.server.turns.chunks import StepStart
from turnstream.server.turns.header import ThreadKey

TABLES = ExtensionTables("feedback", metadata, 1, FeedbackExtension.migrate)
T1 = ThreadKey("ann", "t1")
GIVEN: dict[str, Any] = {
    "owner": "ann",
    "thread_id": "t1",
    "message_id": "m1",
    "reason": "A reason.",
    "given_at": 1.0,
}


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    if request.param == "sqlite":
        return tmp_path / "t.db"
    url: PostgresUrl = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def store(location: Location) -> AsyncIterator[ServerStore]:
    async with open_storage(location) as storage:
        await storage.store.open_extensions([TABLES], is_shared=False)
        yield storage.store
        await storage.store.write(metadata.drop_all)


async def ended(store: ServerStore, run_id: str, trace_id: str, steps: int = 1) -> None:
    """Play a run of the message m1 from its claim to its end."""
    chunks = [StepStart("m1", f"{run_id}-{number}") for number in range(steps)]
    writes = linking(T1, chunks, trace_id)
    assert len(writes) <= MAX_WRITES
    await store.claim(T1, run_id)
    await store.begin_run(T1, run_id, "Hello")
    await store.end_run(T1, run_id, "finished", tolerated("feedback", writes))


async def score(store: ServerStore, message_id: str = "m1") -> Score | None:
    return await store.read(score_of, T1, message_id)


async def test_a_message_belongs_to_its_last_run_until_it_has_feedback(store: ServerStore) -> None:
    await ended(store, "r1", "trace 1")
    first = await score(store)
    await ended(store, "r2", "trace 2")
    second = await score(store)
    assert first
    assert second
    assert (first.trace_id, second.trace_id) == ("trace 1", "trace 2")
    assert (first.id, first.value) == (second.id, None)
    for value in ("up", "down"):
        await store.write(lambda each: each.execute(delete(feedback)))
        given = insert(feedback).values(**GIVEN, value=value)
        await store.write(lambda each, write: each.execute(write), given)
    await ended(store, "r3", "trace 3")
    third = await score(store)
    assert third == Score(first.id, "trace 2", second.linked_at, 0, "A reason.")


async def test_the_steps_of_a_message_are_linked_too_as_far_as_one_end_may_write(
    store: ServerStore,
) -> None:
    await ended(store, "r1", "trace 1", 200)
    assert await score(store, "r1-0")
    assert await score(store, "r1-199") is None


async def test_the_links_of_a_thread_go_with_it(store: ServerStore) -> None:
    await ended(store, "r1", "trace 1")
    await store.claim(T1, "r2")
    await store.delete(T1)
    left = select(func.count()).select_from(links)
    assert await store.read(lambda each: each.scalar(left)) == 0
