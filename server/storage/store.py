"""The store in a SQLite file: one connection writes, another reads.

SQLite's write-ahead log lets the one that reads go on while the other waits for a lock. A
transaction is one hop to the connection's thread: an asyncio driver hops for every statement,
cursor and commit, which was a tenth of the server's CPU a turn.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event

from turnstream.server.storage import claims, full_text, tables, unused_space
from turnstream.server.storage.also import Also
from turnstream.server.storage.database_file import make_private, usable
from turnstream.server.storage.faults import LockTimeout, faults_named
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.storage.sql_store import SqlStore
from turnstream.server.turns.header import ThreadKey

T = TypeVar("T")

STEPS_AT_ONCE = 4
"""Steps that a deletion takes to clean a full-text index; a large index needs more, and gets them
later."""

logger = logging.getLogger(__name__)


class Transactions:
    """Open with `open_transactions`."""

    def __init__(self, engine: Engine, thread: ThreadPoolExecutor, busy_seconds: float) -> None:
        self._engine = engine
        self._thread = thread
        self._busy_seconds = busy_seconds

    async def do(self, work: Callable[..., T], *arguments: Any) -> T:
        """One transaction. Raises StorageUnavailable.

        The time to wait counts from here, so those that queue behind one that waits for a lock do
        not wait one after the other.
        """
        deadline = time.monotonic() + self._busy_seconds

        def transaction() -> T:
            with faults_named(), self._engine.begin() as connection:
                connection.info[LockTimeout].wait_until(deadline)
                return work(connection, *arguments)

        return await asyncio.get_running_loop().run_in_executor(self._thread, transaction)


def _read_schema(connection: Connection) -> None:
    """Have the file and its log opened: at the first request they may be gone."""
    connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")


@asynccontextmanager
async def open_transactions(
    path: Path, name: str, busy_seconds: float, *, query_only: bool = False
) -> AsyncIterator[Transactions]:
    """Transactions on a SQLite file; `name` is the thread's. Raises StorageError."""
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        pool_size=1,
        max_overflow=0,
        pool_reset_on_return=None,
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: Any) -> None:
        record.info[LockTimeout] = LockTimeout(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA query_only = {query_only}")

    with ThreadPoolExecutor(1, name) as thread:
        transactions = Transactions(engine, thread, busy_seconds)
        try:
            with usable(path):
                await transactions.do(_read_schema)
            yield transactions
        finally:
            await asyncio.get_running_loop().run_in_executor(thread, engine.dispose)


class SqliteStore(SqlStore):
    """Implements `ThreadStore`. Open with `open_store`."""

    def __init__(
        self,
        writes: Transactions,
        reads: Transactions,
        require_file: Callable[[], None],
    ) -> None:
        super().__init__()
        self._writes = writes
        self._reads = reads
        self._require_file = require_file
        self._has_removed_words = False
        """True: a full-text index may still have words of threads that were deleted."""

    async def delete(self, key: ThreadKey, also: Also = (), *, unless_queued: bool = False) -> bool:
        is_deleted = await super().delete(key, also, unless_queued=unless_queued)
        with suppress(StorageUnavailable):  # Then later: the thread is deleted.
            await self._forget_removed_words(STEPS_AT_ONCE, begins=True)
        return is_deleted

    async def shrink(self) -> bool:
        if self._has_removed_words:
            await self._forget_removed_words(1)
            return True
        return await self.write(unused_space.give_back)

    async def _forget_removed_words(self, steps: int, *, begins: bool = False) -> None:
        self._has_removed_words = True
        for step in range(steps):
            first = begins and step == 0
            if not await self.write(partial(full_text.forget_removed, begins=first)):
                self._has_removed_words = False
                return

    async def write(self, work: Callable[..., T], *arguments: Any) -> T:
        self._require_file()
        with self.meter.write():
            return await self._writes.do(work, *arguments)

    async def write_claimed(
        self,
        key: ThreadKey,  # noqa: ARG002
        run_id: str | None,  # noqa: ARG002
        work: Callable[..., T],
        *arguments: Any,
    ) -> T:
        """The file's lock is the lease of every claim."""
        return await self.write(work, *arguments)

    async def write_last(self, key: ThreadKey, run_id: str, work: Callable[..., T]) -> T:
        def last(connection: Connection) -> T:
            claims.release(connection, key, run_id)
            return work(connection)

        return await self.write(last)

    async def read(self, work: Callable[..., T], *arguments: Any) -> T:
        return await self._reads.do(work, *arguments)


def _anyway() -> None:
    """Nobody watches the file."""


@asynccontextmanager
async def open_store(
    path: Path, busy_timeout_ms: int, require_file: Callable[[], None] = _anyway
) -> AsyncIterator[SqliteStore]:
    """The store in a SQLite file; its tables are made if they are not there.

    `require_file` is called before each write, and raises StorageUnavailable if there cannot be
    one. Raises StorageError.
    """
    busy_seconds = busy_timeout_ms / 1000
    with suppress(OSError):  # SQLite says why.
        make_private(path)
    async with (
        open_transactions(path, "store, writes", busy_seconds) as writes,
        open_transactions(path, "store, reads", busy_seconds, query_only=True) as reads,
    ):
        with usable(path):
            await writes.do(tables.create)
        yield SqliteStore(writes, reads, require_file)
