"""The store in a SQLite file: its tables, worked on by one thread.

One hop a transaction. An asyncio driver hops between threads for every statement, cursor and
commit: that was a tenth of the server's CPU a turn.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event

from server.storage import claims, thread_list
from server.storage.interfaces import (
    ClaimResult,
    LostRun,
    Page,
    ThreadEntry,
    ThreadRunState,
)
from server.storage.tables import metadata
from server.turns.chunks import Disposition
from server.turns.header import ThreadKey
from server.turns.requests import IdempotencyKey

T = TypeVar("T")


class SqliteStore:
    """Implements `ThreadStore`. Open with `open_store`."""

    def __init__(self, engine: Engine, thread: ThreadPoolExecutor) -> None:
        self._engine = engine
        self._thread = thread

    async def claim(
        self, key: ThreadKey, run_id: str, idempotency: IdempotencyKey | None = None
    ) -> ClaimResult:
        return await self._do(claims.claim, key, run_id, idempotency)

    async def claim_for_deletion(self, key: ThreadKey, deletion_id: str) -> ClaimResult:
        return await self._do(claims.claim_for_deletion, key, deletion_id)

    async def release(self, key: ThreadKey, run_id: str) -> None:
        def release(connection: Connection) -> None:
            thread_list.interrupt_run(connection, key, run_id)
            claims.release(connection, key, run_id)
            claims.forget_requests(connection, run_id)

        await self._do(release)

    async def begin_run(self, key: ThreadKey, run_id: str, title: str) -> None:
        await self._do(thread_list.begin_run, key, run_id, title)

    async def end_run(self, key: ThreadKey, run_id: str, state: ThreadRunState) -> None:
        def end(connection: Connection) -> None:
            thread_list.end_run(connection, key, run_id, state)
            claims.release(connection, key, run_id)

        await self._do(end)

    async def holder(self, key: ThreadKey) -> str | None:
        return await self._do(claims.holder, key)

    async def forget_requests(self, run_id: str) -> None:
        await self._do(claims.forget_requests, run_id)

    async def recover(self) -> Sequence[LostRun]:
        def recover(connection: Connection) -> Sequence[LostRun]:
            claims.release_all(connection)
            return thread_list.live_runs(connection)

        return await self._do(recover)

    async def get(self, key: ThreadKey) -> ThreadEntry | None:
        return await self._do(thread_list.get, key)

    async def page(self, owner: str, limit: int, cursor: str | None = None) -> Page:
        return await self._do(thread_list.page, owner, limit, cursor)

    async def rename(self, key: ThreadKey, title: str) -> ThreadEntry | None:
        return await self._do(thread_list.rename, key, title)

    async def delete(self, key: ThreadKey) -> None:
        def remove(connection: Connection) -> None:
            thread_list.remove(connection, key)
            claims.remove_thread(connection, key)

        await self._do(remove)

    async def keep_dispositions(
        self, key: ThreadKey, dispositions: Mapping[str, Disposition]
    ) -> None:
        await self._do(claims.keep_dispositions, key, dispositions)

    async def dispositions(self, key: ThreadKey) -> Mapping[str, Disposition]:
        return await self._do(claims.dispositions, key)

    async def _do(self, work: Callable[..., T], *arguments: Any) -> T:
        """One transaction, on the store's thread."""

        def transaction() -> T:
            with self._engine.begin() as connection:
                return work(connection, *arguments)

        return await asyncio.get_running_loop().run_in_executor(self._thread, transaction)


@asynccontextmanager
async def open_store(path: Path, busy_timeout_ms: int) -> AsyncIterator[SqliteStore]:
    """The store in a SQLite file; its tables are made if they are not there."""
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        pool_size=1,
        max_overflow=0,
        pool_reset_on_return=None,
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
        connection.execute("PRAGMA synchronous = NORMAL")

    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1, "thread list") as thread:
        await loop.run_in_executor(thread, metadata.create_all, engine)
        try:
            yield SqliteStore(engine, thread)
        finally:
            await loop.run_in_executor(thread, engine.dispose)
