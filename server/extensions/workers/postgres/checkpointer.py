"""LangGraph's checkpointer on a Postgres database: every write is one transaction, and fenced.

LangGraph's own saver writes and reads, a new one for each transaction: one saver has one lock. It
is the synchronous one, on the threads of the transactions: so a long history is decoded beside the
event loop, and a write is one hop there and back.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from typing import Any, TypeVar, cast

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
)
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.base import BasePostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from psycopg import Cursor
from psycopg.rows import DictRow, dict_row
from sqlalchemy import Connection

from turnstream.server.extensions.workers.postgres.held_claims import (
    FAILING_FENCE,
    REFUSED,
    HeldClaim,
    HeldClaims,
    refused,
)
from turnstream.server.extensions.workers.postgres.held_writes import HeldWrites
from turnstream.server.extensions.workers.postgres.puts import (
    CollectingSaver,
    Put,
    putting,
    putting_writes,
    send,
)
from turnstream.server.extensions.workers.postgres.transactions import PostgresTransactions, driver
from turnstream.server.storage.history_handover import History, HistoryHandover
from turnstream.server.storage.thread_writes import DROPPED, ThreadWrites, WatchedSaver

T = TypeVar("T")


class ReadingSaver(PostgresSaver):
    """LangGraph's own saver, for one `get_tuple`."""

    row: DictRow | None = None
    """The row that was read, as it was before it was decoded."""

    def _load_checkpoint_tuple(self, value: DictRow) -> CheckpointTuple:
        self.row = {**value, **deepcopy({name: value[name] for name in ("checkpoint", "metadata")})}
        return super()._load_checkpoint_tuple(value)


DELETED_AT_ONCE = 200
"""Checkpoints of a thread, with their writes; and values of channels."""

HEADS = """
    SELECT checkpoint_id FROM checkpoints head
    WHERE thread_id = %(thread)s AND checkpoint_ns = '' AND NOT EXISTS (
        SELECT 1 FROM checkpoints WHERE thread_id = %(thread)s AND checkpoint_ns = ''
        AND parent_checkpoint_id = head.checkpoint_id
    ) AND NOT EXISTS (
        SELECT 1 FROM checkpoint_writes WHERE thread_id = %(thread)s AND checkpoint_ns = ''
        AND checkpoint_id = head.checkpoint_id AND task_id = %(dropped)s
    )
    ORDER BY checkpoint_id DESC LIMIT %(limit)s
"""
NEWEST = """
    SELECT checkpoint_ns, checkpoint_id FROM checkpoints WHERE thread_id = %s
    ORDER BY checkpoint_ns DESC, checkpoint_id DESC LIMIT %s
"""
DELETE = "DELETE FROM {} WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s"
SOME_BLOBS = """
    SELECT count(*) FROM (SELECT 1 FROM checkpoint_blobs WHERE thread_id = %s LIMIT %s) some_blobs
"""
DELETE_BLOBS = """
    DELETE FROM checkpoint_blobs WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM checkpoint_blobs WHERE thread_id = %s LIMIT %s
    ))
"""


class PostgresCheckpointer(WatchedSaver, BasePostgresSaver):
    """Raises StorageUnavailable for faults of the database, and LeaseLost for what is written to a
    thread that this worker has not claimed."""

    def __init__(
        self, transactions: PostgresTransactions, held: HeldClaims, serde: SerializerProtocol
    ) -> None:
        """On the running event loop."""
        BasePostgresSaver.__init__(self, serde=serde)
        self.start_watching()
        self._transactions = transactions
        self._held = held
        self._handover = HistoryHandover()
        self._collecting = CollectingSaver(serde)
        self._loop = asyncio.get_running_loop()

    def with_allowlist(
        self, extra_allowlist: Collection[tuple[str, ...]]
    ) -> BaseCheckpointSaver[str]:
        clone = super().with_allowlist(extra_allowlist)
        if isinstance(clone, PostgresCheckpointer):
            clone._collecting = CollectingSaver(clone.serde)
        return clone

    @contextmanager
    def watch(self, checkpoint_key: str) -> Iterator[ThreadWrites]:
        with self._held.working_on(checkpoint_key), super().watch(checkpoint_key) as writes:
            yield writes

    def submit(self, work: Callable[..., T], *arguments: Any) -> "Future[T]":
        return self._transactions.submit(work, *arguments)

    def followed(self, checkpoint_key: str) -> ThreadWrites:
        return HeldWrites(partial(self._write_all, checkpoint_key))

    async def put_for(self, watched: ThreadWrites, *put: Any) -> RunnableConfig:
        """While a graph streams, its input goes with the checkpoint behind it."""
        if not isinstance(watched, HeldWrites):
            return await super().put_for(watched, *put)
        config, checkpoint, metadata, _ = put
        if metadata.get("source") != "input":
            saved: RunnableConfig = await watched.send(putting(*put))
            return saved
        # LangGraph waits for the checkpoint behind the first step, which comes at once.
        await watched.hold(putting(*put))
        place = {name: config["configurable"][name] for name in ("thread_id", "checkpoint_ns")}
        return {"configurable": {**place, "checkpoint_id": checkpoint["id"]}}

    async def put_writes_for(self, watched: ThreadWrites, *put: Any) -> None:
        """While a graph streams they are on disk when a checkpoint behind them is, or when
        `ThreadWrites.committed` has returned."""
        if isinstance(watched, HeldWrites):
            await watched.hold(putting_writes(*put))
        else:
            await super().put_writes_for(watched, *put)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        put = putting(config, checkpoint, metadata, new_versions)
        (saved,) = self._put(config["configurable"]["thread_id"], [put])
        return cast(RunnableConfig, saved)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        put = putting_writes(config, writes, task_id, task_path)
        self._put(config["configurable"]["thread_id"], [put])

    def delete_thread(self, thread_id: str) -> None:
        self._put(thread_id, [lambda saver: saver.delete_thread(thread_id)])

    def delete_newest(self, thread_id: str) -> bool:
        def delete(own: psycopg.Connection[Any], claim: HeldClaim) -> bool:
            own.execute(FAILING_FENCE.encode(), claim.values)
            with own.cursor(row_factory=dict_row) as cursor:
                cursor.execute(NEWEST, (thread_id, DELETED_AT_ONCE))
                rows = cursor.fetchall()
                if len(rows) < DELETED_AT_ONCE and _are_few(cursor, thread_id):
                    return False
                places = [(thread_id, row["checkpoint_ns"], row["checkpoint_id"]) for row in rows]
                for table in ("checkpoint_writes", "checkpoints") if places else ():
                    cursor.executemany(DELETE.format(table), places)
                if not places:  # Then no checkpoint is left that needs them.
                    cursor.execute(DELETE_BLOBS, (thread_id, DELETED_AT_ONCE))
            return True

        return self._fenced(thread_id, delete)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        found: CheckpointTuple | None = self._transactions.read_here(
            self._reading, lambda saver: saver.get_tuple(config)
        )
        return found

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the latest checkpoint. A run gets the row that it was planned with, without
        another read; it is decoded again, since a graph may change what it loads."""
        place = config["configurable"]
        claim = self._held.get(place["thread_id"])
        if claim is None or place.get("checkpoint_ns") or get_checkpoint_id(config):
            return await self._read(lambda saver: saver.get_tuple(config))
        for row in claim.take_latest():
            return await asyncio.wrap_future(self._transactions.submit(self._loaded, row))
        found, row = await self._transactions.read(self._read_latest, config)
        if not claim.has_written:
            claim.latest = (row,)
        return found

    def expect_nothing(self, checkpoint_key: str) -> None:
        claim = self._held.get(checkpoint_key)
        if claim and not claim.has_written:
            claim.latest = (None,)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        def history(saver: PostgresSaver) -> History:
            return saver.get_delta_channel_history(config=config, channels=channels)

        return self._transactions.read_here(self._reading, history)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        place = config["configurable"]
        thread, key = place["thread_id"], (place.get("checkpoint_id") or "", tuple(channels))
        kept = self._handover.take(thread, key)
        if kept is not None:
            return kept
        found = await self._read(
            lambda saver: saver.get_delta_channel_history(config=config, channels=channels)
        )
        if key[0]:
            self._handover.keep(thread, key, found)
        return found

    def list(self, config: RunnableConfig | None, **choice: Any) -> Iterator[CheckpointTuple]:
        yield from self._transactions.read_here(
            self._reading, lambda saver: [*saver.list(config, **choice)]
        )

    async def alist(
        self, config: RunnableConfig | None, **choice: Any
    ) -> AsyncIterator[CheckpointTuple]:
        for found in await self._read(lambda saver: [*saver.list(config, **choice)]):
            yield found

    async def heads(self, checkpoint_key: str, limit: int) -> Sequence[str]:
        named = {"thread": checkpoint_key, "limit": limit, "dropped": DROPPED}

        def heads(saver: PostgresSaver) -> Sequence[str]:
            with saver._cursor() as cursor:
                return [row["checkpoint_id"] for row in cursor.execute(HEADS, named)]

        return await self._read(heads)

    async def _write_all(self, thread_id: str, puts: Sequence[Put]) -> Sequence[Any]:
        with self.meter.write():
            return await asyncio.wrap_future(self.submit(self._put, thread_id, puts))

    def _read_latest(
        self, connection: Connection, config: RunnableConfig
    ) -> tuple[CheckpointTuple | None, DictRow | None]:
        saver = ReadingSaver(driver(connection), serde=self.serde)
        return saver.get_tuple(config), saver.row

    def _loaded(self, row: DictRow | None) -> CheckpointTuple | None:
        return None if row is None else self._collecting._load_checkpoint_tuple(row)

    async def _read(self, work: Callable[[PostgresSaver], T]) -> T:
        return await self._transactions.read(self._reading, work)

    def _reading(self, connection: Connection, work: Callable[[PostgresSaver], T]) -> T:
        return work(PostgresSaver(driver(connection), serde=self.serde))

    def _put(self, thread_id: str, puts: Sequence[Put]) -> Sequence[Any]:
        """All in one transaction, on the calling thread. Return what each returns."""
        saver = self._collecting.anew()
        saved = [put(saver) for put in puts]
        self._fenced(thread_id, partial(send, collected=saver.collected))
        return saved

    def _fenced(
        self, thread_id: str, write: Callable[[psycopg.Connection[Any], HeldClaim], T]
    ) -> T:
        """On the calling thread. `write` has the fence go to the database with what it guards, or
        ahead of it."""
        claim = self._held.find(thread_id)
        claim.will_write()

        def with_beginning(connection: Connection) -> T:
            claim.begin(connection)
            return write(driver(connection), claim)

        try:
            if claim.beginning is None:
                return self._transactions.send_here(lambda own: write(own, claim))
            written = self._transactions.write_here(with_beginning)
            claim.committed()
            return written
        except REFUSED:
            self._loop.call_soon_threadsafe(self._held.lose, claim.run_id)
            raise refused(claim) from None


def _are_few(cursor: Cursor[DictRow], thread_id: str) -> bool:
    """Check that a thread has so few values of channels that they can be deleted at once."""
    found = cursor.execute(SOME_BLOBS, (thread_id, DELETED_AT_ONCE)).fetchone()
    return found is None or found["count"] < DELETED_AT_ONCE
