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
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.sqlite import SqliteSaver

from server.storage.checkpoint_reads import CheckpointReads, open_checkpoint_reads
from server.storage.database_file import DatabaseFile, check, locked, usable
from server.storage.faults import faults_named, wait_until
from server.storage.serializer import ThreadSerializer
from server.storage.write_meter import WriteMeter

T = TypeVar("T")

BUSY_TIMEOUT_MS = 5_000
DELETED_AT_ONCE = 200
"""Checkpoints of a thread, with their writes."""


class ThreadWrites:
    """What LangGraph has written to one thread while it is watched."""

    def __init__(self) -> None:
        self.newest: str | None = None
        """The id of the newest checkpoint of the root graph; None if there is none yet."""
        self._unfinished: set[asyncio.Future[Any]] = set()
        self._failure: BaseException | None = None

    async def committed(self) -> None:
        """Return when every write that LangGraph has begun so far is on disk. Raises what a write
        raised.

        LangGraph (read in 1.2.22, `AsyncBackgroundExecutor`) hands a task's writes to the saver in
        a task of their own before it streams the task's update; that task has begun when the loop
        has gone round once.
        """
        await asyncio.sleep(0)
        await self.settled()
        if self._failure:
            raise self._failure

    async def settled(self) -> None:
        """Return when no write is under way: one that has begun comes to its end, also if who waits
        for it is cancelled."""
        while self._unfinished:
            await asyncio.wait(set(self._unfinished))

    def follow(self, write: asyncio.Future[Any]) -> None:
        self._unfinished.add(write)
        write.add_done_callback(self._ended)

    def _ended(self, write: asyncio.Future[Any]) -> None:
        self._unfinished.discard(write)
        if not write.cancelled():
            self._failure = write.exception() or self._failure


class SqliteCheckpointer(SqliteSaver):
    """A saver that reads beside its writes, and knows what it has written to the threads that are
    watched. Its synchronous methods work on any thread. Open with `open_checkpointer`."""

    def __init__(
        self,
        writing: sqlite3.Connection,
        thread: ThreadPoolExecutor,
        reads: CheckpointReads,
        file: DatabaseFile,
        busy_seconds: float,
    ) -> None:
        super().__init__(writing, serde=reads.saver.serde)
        self.is_setup = True
        self.file = file
        self._thread = thread
        self._reads = reads
        self._busy_seconds = busy_seconds
        self._watched: dict[str, ThreadWrites] = {}
        self.meter = WriteMeter()

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
        saved = await self._write(writes, self.put, config, checkpoint, metadata, new_versions)
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
        watched = self._writes(config)
        await self._write(watched, self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """A long thread in several transactions, its newest checkpoints first: other threads write
        between them, and what a crash leaves is the thread as it once was."""
        writes = ThreadWrites()
        while await self._write(writes, self._delete_newest, thread_id):
            pass
        await self._write(writes, self.delete_thread, thread_id)

    def _delete_newest(self, thread_id: str) -> bool:
        """Delete so many checkpoints as one transaction may. False: there are not as many left."""
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

    async def _write(self, watched: ThreadWrites, work: Callable[..., T], *arguments: Any) -> T:
        """One transaction on the thread of the writes. If this is cancelled it comes to its end
        nevertheless, unless it has not begun.

        The time to wait for a lock counts from here, so those that queue behind one that waits do
        not wait one after the other.
        """
        self.file.require()
        deadline = time.monotonic() + self._busy_seconds

        def transaction() -> T:
            with faults_named():
                wait_until(deadline, self.conn)
                return work(*arguments)

        begun = self._thread.submit(transaction)
        done = asyncio.wrap_future(begun)
        watched.follow(done)
        try:
            with self.meter.write():
                return await asyncio.shield(done)
        except asyncio.CancelledError:
            begun.cancel()
            raise

    def _writes(self, config: RunnableConfig) -> ThreadWrites:
        return self._watched.get(config["configurable"]["thread_id"]) or ThreadWrites()


@asynccontextmanager
async def open_checkpointer(
    path: Path, busy_timeout_ms: int = BUSY_TIMEOUT_MS
) -> AsyncIterator[SqliteCheckpointer]:
    """The checkpointer on a database file, made if it is not there. Raises StorageError."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, busy_timeout_ms / 1000, check_same_thread=False)
        connection.execute("PRAGMA synchronous = NORMAL")
        SqliteSaver(connection).setup()
        return connection

    with locked(path):
        check(path, busy_timeout_ms / 1000)
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
