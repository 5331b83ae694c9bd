"""The list of threads for the event loop: its table, worked on by one thread.

One hop a transaction. An asyncio driver hops for every statement, cursor and commit: that was a
tenth of the server's CPU a turn.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, create_engine, event

from server.thread_table import Page, ThreadEntry, ThreadRunState, ThreadTable

T = TypeVar("T")


class ThreadStore:
    """The methods of `ThreadTable`, to be awaited. Open with `open_store`."""

    def __init__(self, table: ThreadTable, thread: ThreadPoolExecutor) -> None:
        self._table = table
        self._thread = thread

    async def begin_run(self, thread_id: str, run_id: str, title: str) -> None:
        await self._do(partial(self._table.begin_run, thread_id, run_id, title))

    async def end_run(self, thread_id: str, run_id: str, state: ThreadRunState) -> None:
        await self._do(partial(self._table.end_run, thread_id, run_id, state))

    async def live(self) -> Sequence[ThreadEntry]:
        return await self._do(self._table.live)

    async def get(self, thread_id: str) -> ThreadEntry | None:
        return await self._do(partial(self._table.get, thread_id))

    async def page(self, limit: int, cursor: str | None = None) -> Page:
        return await self._do(partial(self._table.page, limit, cursor))

    async def rename(self, thread_id: str, title: str) -> ThreadEntry | None:
        return await self._do(partial(self._table.rename, thread_id, title))

    async def delete(self, thread_id: str) -> None:
        await self._do(partial(self._table.delete, thread_id))

    async def _do(self, transaction: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, transaction)


@asynccontextmanager
async def open_store(path: Path, busy_timeout_ms: int) -> AsyncIterator[ThreadStore]:
    """The store in a SQLite file."""
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        pool_size=1,
        max_overflow=0,
        pool_reset_on_return=None,
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
        connection.execute("PRAGMA synchronous = NORMAL")

    with ThreadPoolExecutor(1, "thread list") as thread:
        table = await asyncio.get_running_loop().run_in_executor(thread, ThreadTable, engine)
        try:
            yield ThreadStore(table, thread)
        finally:
            await asyncio.get_running_loop().run_in_executor(thread, engine.dispose)
