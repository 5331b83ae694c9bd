"""LangGraph's checkpointer on a SQLite file that this process has to itself.

One connection writes and another reads, so that no thread is unreadable while a write waits for a
lock. A second process is kept out: it would start a second run on a thread that has one.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from server.storage.checkpoint_reads import CheckpointReads, open_checkpoint_reads
from server.storage.database_file import DatabaseFile, check, locked, usable
from server.storage.faults import faults_named
from server.storage.interfaces import StorageUnavailable
from server.storage.serializer import ThreadSerializer

BUSY_TIMEOUT_MS = 5_000
DELETED_AT_ONCE = 200
"""Checkpoints of a thread, with their writes."""


class ThreadWrites:
    """What LangGraph has written to one thread while it is watched."""

    def __init__(self) -> None:
        self.newest: str | None = None
        """The id of the newest checkpoint of the root graph; None if there is none yet."""
        self._unfinished: set[asyncio.Future[None]] = set()
        self._failure: Exception | None = None

    async def committed(self) -> None:
        """Return when every write that LangGraph has begun so far is on disk. Raises what a write
        raised.

        LangGraph (read in 1.2.22, `AsyncBackgroundExecutor`) hands a task's writes to the saver in
        a task of their own before it streams the task's update; that task has begun when the loop
        has gone round once.
        """
        await asyncio.sleep(0)
        while self._unfinished:
            await asyncio.wait(set(self._unfinished))
        if self._failure:
            raise self._failure

    @contextmanager
    def write(self) -> Iterator[None]:
        done = asyncio.get_running_loop().create_future()
        self._unfinished.add(done)
        try:
            yield
        except Exception as failure:
            self._failure = failure
            raise
        finally:
            self._unfinished.discard(done)
            done.set_result(None)


class WriteLock(asyncio.Lock):
    """What the saver holds from a write's first statement to its commit.

    A write that fails or is cancelled is undone: the driver would leave its transaction open, and
    every later write would fail in it. Nobody waits for this lock longer than for the database: the
    write that holds it may be waiting for that.
    """

    def __init__(self, connection: aiosqlite.Connection, busy_seconds: float) -> None:
        super().__init__()
        self._connection = connection
        self._busy_seconds = busy_seconds

    async def acquire(self) -> Literal[True]:
        try:
            async with asyncio.timeout(self._busy_seconds):
                return await super().acquire()
        except TimeoutError:
            raise StorageUnavailable("storage_busy") from None

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is not None:
                await self._connection.rollback()
        finally:
            self.release()


class SqliteCheckpointer(AsyncSqliteSaver):
    """A saver that reads beside its writes, and knows what it has written to the threads that are
    watched. Open with `open_checkpointer`."""

    def __init__(
        self,
        writing: aiosqlite.Connection,
        reads: CheckpointReads,
        file: DatabaseFile,
        busy_seconds: float,
    ) -> None:
        super().__init__(writing, serde=reads.saver.serde)
        self.file = file
        self._reads = reads
        self.lock = WriteLock(writing, busy_seconds)
        self._watched: dict[str, ThreadWrites] = {}

    async def setup(self) -> None:
        """Done by `open_checkpointer`. Every write asks for it, and would take the lock twice."""

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
        with writes.write(), self._writing():
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
        with self._writes(config).write(), self._writing():
            await super().aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """A long thread in several transactions, its newest checkpoints first: other threads write
        between them, and what a crash leaves is the thread as it once was."""
        with self._writing():
            while await self._delete_newest(thread_id):
                pass
            await super().adelete_thread(thread_id)

    async def _delete_newest(self, thread_id: str) -> bool:
        """Delete so many checkpoints as one transaction may. False: there are not as many left."""
        async with self.lock, self.conn.cursor() as cursor:
            await cursor.execute(
                "SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints "
                "WHERE thread_id = ? ORDER BY checkpoint_ns DESC, checkpoint_id DESC LIMIT ?",
                (thread_id, DELETED_AT_ONCE),
            )
            newest = list(await cursor.fetchall())
            if len(newest) < DELETED_AT_ONCE:
                return False
            for table in ("writes", "checkpoints"):
                await cursor.executemany(
                    f"DELETE FROM {table} "
                    "WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
                    newest,
                )
            await self.conn.commit()
            return True

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._reads.get_tuple(config)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return await self._reads.history(config, channels)

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

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self.file.require()
        with faults_named():
            yield

    def _writes(self, config: RunnableConfig) -> ThreadWrites:
        return self._watched.get(config["configurable"]["thread_id"]) or ThreadWrites()


@asynccontextmanager
async def open_checkpointer(
    path: Path, busy_timeout_ms: int = BUSY_TIMEOUT_MS
) -> AsyncIterator[SqliteCheckpointer]:
    """The checkpointer on a database file, made if it is not there. Raises StorageError."""
    with locked(path):
        check(path, busy_timeout_ms / 1000)
        async with aiosqlite.connect(path) as writing:
            with usable(path):
                await writing.execute("PRAGMA synchronous = NORMAL")
                await writing.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
                await AsyncSqliteSaver(writing).setup()
            async with open_checkpoint_reads(path, ThreadSerializer(), busy_timeout_ms) as reads:
                saver = SqliteCheckpointer(
                    writing, reads, DatabaseFile(path), busy_timeout_ms / 1000
                )
                try:
                    yield saver
                finally:
                    # A write that has begun comes to its end, and none begins any more: a
                    # connection that is closed in mid-transaction can keep the file locked.
                    with suppress(StorageUnavailable):
                        await saver.lock.acquire()
