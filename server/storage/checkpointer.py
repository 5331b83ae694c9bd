"""LangGraph's checkpointer on a SQLite file that this process has to itself.

One connection writes and another reads, so that no thread is unreadable while a write waits for a
lock. Each has a thread of its own, and a write is one hop to it and back: an asyncio driver hops
for every statement, cursor and commit, a tenth of the time to the first word when turns come
together.

A second process is kept out: it would start a second run on a thread that has one.
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.sqlite import SqliteSaver

from turnstream.server.storage.checkpoint_reads import CheckpointReads, open_checkpoint_reads
from turnstream.server.storage.database_file import (
    DatabaseFile,
    check,
    locked,
    usable,
    warn_of_readers,
)
from turnstream.server.storage.faults import LockTimeout, faults_named
from turnstream.server.storage.serializer import ThreadSerializer
from turnstream.server.storage.thread_writes import WatchedSaver

T = TypeVar("T")

BUSY_TIMEOUT_MS = 5_000
DELETED_AT_ONCE = 200
"""Checkpoints of a thread, with their writes."""


class SqliteCheckpointer(WatchedSaver, SqliteSaver):
    """A saver that reads beside its writes. Open with `open_checkpointer`."""

    def __init__(
        self,
        writing: sqlite3.Connection,
        thread: ThreadPoolExecutor,
        reads: CheckpointReads,
        file: DatabaseFile,
        busy_seconds: float,
    ) -> None:
        SqliteSaver.__init__(self, writing, serde=reads.saver.serde)
        self.start_watching()
        self.is_setup = True
        self.file = file
        self._thread = thread
        self._reads = reads
        self._busy_seconds = busy_seconds
        self._lock_timeout = LockTimeout(writing)

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:  # noqa: ARG002
        """A transaction, undone if it fails: SqliteSaver's own commits what there is of it."""
        with self.lock, self.conn, closing(self.conn.cursor()) as cursor:
            yield cursor

    def with_allowlist(
        self, extra_allowlist: Collection[tuple[str, ...]]
    ) -> BaseCheckpointSaver[str]:
        clone = super().with_allowlist(extra_allowlist)
        if isinstance(clone, SqliteCheckpointer):
            clone._reads = self._reads.with_serde(clone.serde)
        return clone

    def delete_newest(self, thread_id: str) -> bool:
        with self.cursor() as cursor:
            newest = cursor.execute(
                "SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints "
                "WHERE thread_id = ? ORDER BY checkpoint_ns DESC, checkpoint_id DESC LIMIT ?",
                (thread_id, DELETED_AT_ONCE),
            ).fetchall()
            if len(newest) < DELETED_AT_ONCE:
                return False
            for table in ("writes", "checkpoints"):
                cursor.executemany(
                    f"DELETE FROM {table} "
                    "WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
                    newest,
                )
            return True

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._reads.saver.get_tuple(config)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._reads.get_tuple(config)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return await self._reads.history(config, channels)

    async def heads(self, checkpoint_key: str, limit: int) -> Sequence[str]:
        return await self._reads.heads(checkpoint_key, limit)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        for found in await self._reads.list(config, filter=filter, before=before, limit=limit):
            yield found

    def submit(self, work: Callable[..., T], *arguments: Any) -> "Future[T]":
        """The time to wait for a lock counts from here, so those that queue behind one that waits
        do not wait one after the other."""
        self.file.require()
        deadline = time.monotonic() + self._busy_seconds

        def transaction() -> T:
            with faults_named():
                self._lock_timeout.wait_until(deadline)
                return work(*arguments)

        return self._thread.submit(transaction)


@asynccontextmanager
async def open_checkpointer(
    path: Path, busy_timeout_ms: int = BUSY_TIMEOUT_MS
) -> AsyncIterator[SqliteCheckpointer]:
    """The checkpointer on a database file, made if it is not there. Raises StorageError."""

    def connect() -> sqlite3.Connection:
        seconds = busy_timeout_ms / 1000
        connection = sqlite3.connect(path, timeout=seconds, check_same_thread=False)
        connection.execute("PRAGMA synchronous = NORMAL")
        SqliteSaver(connection).setup()
        return connection

    with locked(path):
        check(path, busy_timeout_ms / 1000)
        warn_of_readers(path)
        with ThreadPoolExecutor(1, "checkpoints, writes") as thread:
            loop = asyncio.get_running_loop()
            with usable(path):
                writing = await loop.run_in_executor(thread, connect)
            try:
                serde = ThreadSerializer()
                async with open_checkpoint_reads(path, serde, busy_timeout_ms) as reads:
                    yield SqliteCheckpointer(
                        writing, thread, reads, DatabaseFile(path), busy_timeout_ms / 1000
                    )
            finally:
                # Behind the writes that have begun: a connection that is closed in mid-transaction
                # can keep the file locked.
                await loop.run_in_executor(thread, writing.close)
