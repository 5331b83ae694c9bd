"""Writes of LangGraph to the threads that are watched, the same with any database."""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
)

from turnstream.server.storage.write_meter import WriteMeter

T = TypeVar("T")

DROPPED = "turnstream-dropped"
"""The task and the channel of a write that no graph reads: the branch that ends at its checkpoint
is not shown any more."""


class ThreadWrites:
    """The writes of LangGraph to one thread while it is watched."""

    def __init__(self) -> None:
        self.newest: str | None = None
        """The id of the newest checkpoint of the root graph; None if there is none yet."""
        self.failure: BaseException | None = None
        """The exception of the last write that failed."""
        self._has_cancelled = False
        self._unfinished: set[asyncio.Future[Any]] = set()

    async def committed(self) -> None:
        """Return when every write that LangGraph has begun so far is on disk. Raises what a write
        raised; CancelledError if one was given up before it had begun.

        LangGraph (read in 1.2.22, `AsyncBackgroundExecutor`) hands a task's writes to the saver in
        a task of their own before it streams the task's update; that task has begun when the loop
        has gone round once.
        """
        await asyncio.sleep(0)
        await self.settled()
        if self.failure:
            raise self.failure
        if self._has_cancelled:
            raise asyncio.CancelledError

    async def settled(self) -> None:
        """Return when no write is under way: one that has begun comes to its end, also if who waits
        for it is cancelled."""
        while self._unfinished:
            await asyncio.wait(set(self._unfinished))

    @contextmanager
    def streaming(self) -> Iterator[None]:
        """While a graph streams: what a task writes may wait for the checkpoint behind it."""
        yield

    def note(self, config: RunnableConfig, checkpoint: Checkpoint) -> None:
        if not config["configurable"].get("checkpoint_ns"):
            self.newest = checkpoint["id"]

    def follow(self, write: asyncio.Future[Any]) -> None:
        self._unfinished.add(write)
        write.add_done_callback(self._ended)

    def _ended(self, write: asyncio.Future[Any]) -> None:
        self._unfinished.discard(write)
        if write.cancelled():
            self._has_cancelled = True
        else:
            self.failure = write.exception() or self.failure


class WatchedSaver(BaseCheckpointSaver[str]):
    """A saver that knows what it has written to the threads that are watched. Its synchronous
    methods work on any thread of the process; a write is one of them, on a thread of its own.

    The base of each engine's checkpointer, ahead of LangGraph's own saver.
    """

    meter: WriteMeter
    _watched: dict[str, ThreadWrites]

    def start_watching(self) -> None:
        """Once, before its first write. Clones watch the same threads."""
        self.meter = WriteMeter()
        self._watched = {}

    @contextmanager
    def watch(self, checkpoint_key: str) -> Iterator[ThreadWrites]:
        """Follow the writes to a thread: its run does, and there is one at most."""
        writes = self._watched[checkpoint_key] = self.followed(checkpoint_key)
        try:
            yield writes
        finally:
            if self._watched.get(checkpoint_key) is writes:
                del self._watched[checkpoint_key]

    def expect_nothing(self, checkpoint_key: str) -> None:
        """Have the next reader of a new thread's latest checkpoint get none, without a look."""

    def followed(self, checkpoint_key: str) -> ThreadWrites:  # noqa: ARG002
        """Return the object that `watch` gives; an engine may have a kind of its own."""
        return ThreadWrites()

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        writes = self._writes(config)
        saved = await self.put_for(writes, config, checkpoint, metadata, new_versions)
        writes.note(config, checkpoint)
        return saved

    async def put_for(self, watched: ThreadWrites, *put: Any) -> RunnableConfig:
        """Write a checkpoint, with the arguments of `put`; an engine may have it go with others."""
        return await self.write(watched, self.put, *put)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        await self.put_writes_for(self._writes(config), config, writes, task_id, task_path)

    async def put_writes_for(self, watched: ThreadWrites, *put: Any) -> None:
        """Write what a task has written, with the arguments of `put_writes`, in the same way."""
        await self.write(watched, self.put_writes, *put)

    async def adelete_thread(self, thread_id: str) -> None:
        """A long thread in several transactions, its newest checkpoints first: other threads write
        between them, and what a crash leaves is the thread as it once was."""
        writes = ThreadWrites()
        while await self.write(writes, self.delete_newest, thread_id):
            pass
        await self.write(writes, self.delete_thread, thread_id)

    @abstractmethod
    async def heads(self, checkpoint_key: str, limit: int) -> Sequence[str]:
        """The ids of the root graph's checkpoints that no other follows, the newest first, but for
        those of branches that were dropped."""

    async def drop_branch(self, checkpoint_key: str, head: str) -> None:
        """Have `heads` leave out the branch that ends at a checkpoint."""
        place = {"thread_id": checkpoint_key, "checkpoint_ns": "", "checkpoint_id": head}
        await self.aput_writes({"configurable": place}, [(DROPPED, True)], DROPPED)

    @abstractmethod
    def delete_newest(self, thread_id: str) -> bool:
        """Delete so many checkpoints as one transaction may. False: there are not as many left."""

    @abstractmethod
    def submit(self, work: Callable[..., T], *arguments: Any) -> "Future[T]":
        """Have a transaction done on a thread for writes."""

    async def write(self, watched: ThreadWrites, work: Callable[..., T], *arguments: Any) -> T:
        """One transaction. If this is cancelled it comes to its end nevertheless, unless it has not
        begun."""
        begun = self.submit(work, *arguments)
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
