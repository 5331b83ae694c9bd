"""Transactions on one connection, one after the other, on a thread of its own.

One hop a transaction. An asyncio driver hops between threads for every statement, cursor and
commit: that was a tenth of the server's CPU a turn.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event

from turnstream.server.storage.database_file import usable
from turnstream.server.storage.faults import LockTimeout, faults_named

T = TypeVar("T")


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
