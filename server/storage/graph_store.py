"""LangGraph's store, for graphs that keep items across threads, in the database of the threads.

Imported only where a graph may ask for it: LangGraph's module brings a vector index along, which is
not used.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiosqlite
from langgraph.store.base import Op, PutOp, Result
from langgraph.store.sqlite.aio import AsyncSqliteStore

from turnstream.server.storage.database_file import usable
from turnstream.server.storage.faults import faults_named


class SqliteGraphStore(AsyncSqliteStore):
    """Open with `open_graph_store`. Raises StorageUnavailable for faults of the database.

    The checkpointer writes beside it. So a batch that writes takes SQLite's lock before it reads,
    where it can wait for it; and a batch that fails changes nothing.
    """

    def __init__(self, connection: aiosqlite.Connection, require_file: Callable[[], None]) -> None:
        super().__init__(connection)
        self._require_file = require_file
        self._order = asyncio.Lock()
        self._begin = "BEGIN"

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """One transaction."""
        batch = list(ops)
        async with self._order:
            self._begin = "BEGIN"
            if any(isinstance(op, PutOp) for op in batch):
                self._require_file()
                self._begin = "BEGIN IMMEDIATE"
            return await super().abatch(batch)

    @asynccontextmanager
    async def _cursor(self, *, transaction: bool = True) -> AsyncIterator[aiosqlite.Cursor]:
        """As in langgraph-checkpoint-sqlite 3.1.2, but for how it begins and that it can be
        undone."""
        assert transaction, "only the sweeper of expired items, which is off, does without"
        with faults_named():
            try:
                await self.conn.execute(self._begin)
                async with self.conn.cursor() as cursor:
                    yield cursor
                await self.conn.execute("COMMIT")
            except BaseException:
                await self.conn.rollback()
                raise

    async def close(self) -> None:
        """End the task that works off its queue, which would be left pending."""
        task = self._task
        if task:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def open_graph_store(
    path: Path, busy_timeout_ms: int, require_file: Callable[[], None]
) -> AsyncIterator[SqliteGraphStore]:
    """The store in a SQLite file that has a write-ahead log; its tables are made if they are not
    there.

    `require_file` is called before each write, and raises StorageUnavailable if there cannot be
    one. Raises StorageError.
    """
    async with aiosqlite.connect(path, isolation_level=None) as connection:
        with usable(path):
            await connection.execute("PRAGMA synchronous = NORMAL")
            await connection.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
            store = SqliteGraphStore(connection, require_file)
            await store.setup()
        try:
            yield store
        finally:
            await store.close()
