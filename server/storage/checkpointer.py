"""LangGraph's checkpointer on a SQLite file that this process has to itself.

WAL and a busy timeout; a lock file keeps a second process out, which would start a second run on a
thread that has one.
"""

import asyncio
import fcntl
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from server.storage.interfaces import StorageError

BUSY_TIMEOUT_MS = 10_000


class ThreadWrites:
    """What LangGraph has written to one thread while it is watched."""

    def __init__(self) -> None:
        self.newest: str | None = None
        """The id of the newest checkpoint of the root graph; None if there is none yet."""
        self._unfinished: set[asyncio.Future[None]] = set()

    async def committed(self) -> None:
        """Return when every write that LangGraph has begun so far is on disk.

        LangGraph (read in 1.2.22, `AsyncBackgroundExecutor`) hands a task's writes to the saver in
        a task of their own before it streams the task's update; that task has begun when the loop
        has gone round once.
        """
        await asyncio.sleep(0)
        while self._unfinished:
            await asyncio.wait(set(self._unfinished))

    @contextmanager
    def write(self) -> Iterator[None]:
        done = asyncio.get_running_loop().create_future()
        self._unfinished.add(done)
        try:
            yield
        finally:
            self._unfinished.discard(done)
            done.set_result(None)


class SqliteCheckpointer(AsyncSqliteSaver):
    """A saver that knows what it has written to the threads that are watched."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        super().__init__(connection, serde=JsonPlusSerializer())
        self._watched: dict[str, ThreadWrites] = {}

    @contextmanager
    def watch(self, checkpoint_key: str) -> Iterator[ThreadWrites]:
        """Follow the writes to a thread: its run does, and there is one at most."""
        writes = self._watched[checkpoint_key] = ThreadWrites()
        try:
            yield writes
        finally:
            del self._watched[checkpoint_key]

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        writes = self._writes(config)
        with writes.write():
            saved = await super().aput(config, checkpoint, metadata, new_versions)
        if not config["configurable"].get("checkpoint_ns"):
            writes.newest = checkpoint["id"]
        return saved

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        with self._writes(config).write():
            await super().aput_writes(config, writes, task_id, task_path)

    def _writes(self, config: RunnableConfig) -> ThreadWrites:
        return self._watched.get(config["configurable"]["thread_id"]) or ThreadWrites()


@asynccontextmanager
async def open_checkpointer(path: Path) -> AsyncIterator[SqliteCheckpointer]:
    """The checkpointer on a database file, made if it is not there. Raises StorageError."""
    with _lock(path):
        _check(path)
        async with aiosqlite.connect(path) as connection:
            await connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            await connection.execute("PRAGMA synchronous = NORMAL")
            checkpointer = SqliteCheckpointer(connection)
            await checkpointer.setup()
            yield checkpointer


def _check(path: Path) -> None:
    """Raises StorageError if the file is not a database that can be written.

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
            "file, or to one that does not exist yet."
        ) from None


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
