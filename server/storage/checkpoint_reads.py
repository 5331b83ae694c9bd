"""Reading checkpoints on a thread of their own: a long history is decoded beside the event loop."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, DeltaChannelHistory
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver

from server.storage.database_file import usable
from server.storage.faults import faults_named

T = TypeVar("T")

Place = tuple[str, tuple[str, ...]]
"""A checkpoint and channels."""
History = Mapping[str, DeltaChannelHistory]

HEADS = """
    SELECT checkpoint_id FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns = ''
    AND checkpoint_id NOT IN (
        SELECT parent_checkpoint_id FROM checkpoints
        WHERE thread_id = :thread AND checkpoint_ns = '' AND parent_checkpoint_id IS NOT NULL
    )
    ORDER BY checkpoint_id DESC LIMIT :limit
"""

HANDOVER_SECONDS = 5.0
"""From the look at a thread that plans a run to the run's own."""


class CheckpointReads:
    """Open with `open_checkpoint_reads`. Raises StorageUnavailable for faults of the database."""

    def __init__(self, saver: SqliteSaver, thread: ThreadPoolExecutor) -> None:
        self.saver = saver
        self._thread = thread
        self._kept: dict[str, tuple[Place, History]] = {}
        """By thread: what was read of it last. A thread's branches are read one after the other."""

    def with_serde(self, serde: SerializerProtocol) -> "CheckpointReads":
        saver = SqliteSaver(self.saver.conn, serde=serde)
        saver.is_setup = True
        return CheckpointReads(saver, self._thread)

    async def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._do(self.saver.get_tuple, config)

    async def history(self, config: RunnableConfig, channels: Sequence[str]) -> History:
        """What was written to the channels up to a checkpoint.

        A run is planned on its thread and then begins with it: what was read for the one is kept
        for the other, since decoding a long history takes most of the time of a turn.
        """
        place = config["configurable"]
        thread, key = place["thread_id"], (place.get("checkpoint_id") or "", tuple(channels))
        kept = self._kept.get(thread)
        if kept and kept[0] == key:
            del self._kept[thread]
            return kept[1]
        found = await self._do(
            lambda: self.saver.get_delta_channel_history(config=config, channels=channels)
        )
        if key[0]:
            kept = self._kept[thread] = key, found
            asyncio.get_running_loop().call_later(HANDOVER_SECONDS, self._drop, thread, kept)
        return found

    def _drop(self, thread: str, kept: tuple[Place, History]) -> None:
        if self._kept.get(thread) is kept:
            del self._kept[thread]

    async def list(self, config: RunnableConfig | None, **choice: Any) -> Sequence[CheckpointTuple]:
        return await self._do(lambda: list(self.saver.list(config, **choice)))

    async def heads(self, checkpoint_key: str, limit: int) -> Sequence[str]:
        """The ids of the root graph's checkpoints that no other follows, the newest first."""
        named = {"thread": checkpoint_key, "limit": limit}
        rows = await self._do(lambda: self.saver.conn.execute(HEADS, named).fetchall())
        return [id for (id,) in rows]

    async def _do(self, work: Callable[..., T], *arguments: Any) -> T:
        with faults_named():
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)


@asynccontextmanager
async def open_checkpoint_reads(
    path: Path, serde: SerializerProtocol, busy_timeout_ms: int
) -> AsyncIterator[CheckpointReads]:
    """Reads of a database that has the tables of LangGraph's saver. Raises StorageError."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, check_same_thread=False)
        connection.execute("PRAGMA query_only = ON")
        connection.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
        # Has the file and its log opened: at the first request they may be gone.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        return connection

    with ThreadPoolExecutor(1, "checkpoints, reads") as thread:
        loop = asyncio.get_running_loop()
        with usable(path):
            connection = await loop.run_in_executor(thread, connect)
        try:
            saver = SqliteSaver(connection, serde=serde)
            saver.is_setup = True
            yield CheckpointReads(saver, thread)
        finally:
            await loop.run_in_executor(thread, connection.close)
