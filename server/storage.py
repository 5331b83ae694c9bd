"""The SQLite file of all threads: opened once, by one process.

WAL and a busy timeout; a lock file keeps a second process out, which would run a second turn on a
thread that has one.
"""

import asyncio
import fcntl
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

BUSY_TIMEOUT_MS = 10_000


class StorageError(Exception):
    """The database cannot be opened; the message is one line for the person who starts it."""


@asynccontextmanager
async def open_saver(path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    """The checkpointer on a database file, made if it is not there.

    Raises StorageError.
    """
    with _lock(path):
        _check(path)
        async with aiosqlite.connect(path) as connection:
            await connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            await connection.execute("PRAGMA synchronous = NORMAL")
            saver = AsyncSqliteSaver(connection, serde=JsonPlusSerializer())
            await saver.setup()
            yield saver


def _check(path: Path) -> None:
    """Raises StorageError if the file is no database that can be written.

    With a connection that needs no thread: aiosqlite's outlives a connection that fails.
    """
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("CREATE TABLE can_be_written (x)")
            connection.execute("ROLLBACK")
    except sqlite3.DatabaseError as error:
        raise StorageError(
            f"{path} cannot be used as a database: {error}. Set TURNSTREAM_DATABASE to another "
            "file, or to one that is not there yet."
        ) from None


async def committed(saver: AsyncSqliteSaver) -> None:
    """Return when every write handed to the saver so far is on disk.

    A write begins on the next turn of the loop and takes the saver's lock twice, in `setup` and
    for itself. The lock is fair: who takes the same way right behind it comes out behind it.
    """
    await asyncio.sleep(0)
    await saver.setup()
    async with saver.lock:
        pass


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    try:
        real = path.resolve()
        lock_path = real.with_name(real.name + ".lock")
        file = lock_path.open("w")
    except OSError as error:
        raise StorageError(
            f"{path} cannot be opened: {error.strerror or error}. Set TURNSTREAM_DATABASE to a "
            "file in a folder that exists and can be written."
        ) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StorageError(
                f"{path} is in use by another turnstream process. Stop it, or set "
                "TURNSTREAM_DATABASE to another file."
            ) from None
        yield
