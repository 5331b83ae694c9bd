"""What a page of the thread list costs, in steps of SQLite's machine."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert

from turnstream.server.storage import thread_pages
from turnstream.server.storage.interfaces import Page, ThreadRunState
from turnstream.server.storage.store import SqliteStore, open_store
from turnstream.server.storage.tables import activities, threads
from turnstream.server.storage.thread_pages import Listed

FEW, MANY = 500, 20_000
OWNER = "local"
THREAD = {"title": "-", "created_at": "-", "updated_at": "-", "run_id": "-", "run_state": "live"}


def add_threads(connection: Connection, count: int) -> None:
    ids = [f"thread-{number}" for number in range(count)]
    connection.execute(insert(threads), [{"owner": OWNER, "id": id, **THREAD} for id in ids])
    connection.execute(insert(activities), [{"owner": OWNER, "thread_id": id} for id in ids])


def steps_of(
    connection: Connection, cursor: str | None, state: ThreadRunState | None = None
) -> tuple[int, Page]:
    """A page, and how many steps SQLite takes for it, to ten."""
    tens = 0

    def count() -> int:
        nonlocal tens
        tens += 1
        return 0

    driver: Any = connection.connection.driver_connection
    driver.set_progress_handler(count, 10)
    try:
        page = thread_pages.page(connection, OWNER, 30, cursor, Listed(state))
        return 10 * tens, page
    finally:
        driver.set_progress_handler(None, 0)


async def measured(store: SqliteStore, cursor: str | None) -> tuple[int, Page]:
    def work(connection: Connection) -> tuple[int, Page]:
        page = thread_pages.page(connection, OWNER, 30, cursor, Listed())
        steps, again = steps_of(connection, cursor)
        assert again == page
        return steps, page

    return await store._writes.do(work)


Cost = Callable[[int], Awaitable[list[int]]]


@pytest.fixture
def cost(tmp_path: Path) -> Cost:
    """The steps of the first two pages of a list of so many threads."""

    async def cost(count: int) -> list[int]:
        async with open_store(tmp_path / f"{count}.db", 5000) as store:
            await store._writes.do(add_threads, count)
            first, page = await measured(store, None)
            second, _ = await measured(store, page.cursor)
            return [first, second]

    return cost


async def test_a_page_costs_the_same_however_many_threads_there_are(cost: Cost) -> None:
    few, many = await cost(FEW), await cost(MANY)
    assert many == pytest.approx(few, rel=0.2)
    assert min(few) > 100


async def test_waiting_threads_are_not_looked_for_among_all_the_others(tmp_path: Path) -> None:
    def work(connection: Connection) -> int:
        steps, page = steps_of(connection, None, "waiting")
        assert page.entries == []
        return steps

    steps = []
    for count in (FEW, MANY):
        async with open_store(tmp_path / f"{count}.db", 5000) as store:
            await store._writes.do(add_threads, count)
            steps.append(await store._writes.do(work))
    few, many = steps
    assert many <= few + 50
