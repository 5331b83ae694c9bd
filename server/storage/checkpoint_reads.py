"""Reading checkpoints on a thread of their own: a long history is decoded beside the event loop."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver

from turnstream.server.storage.database_file import usable
from turnstream.server.storage.faults import faults_named
from turnstream.server.storage.history_handover import History, HistoryHandover
from turnstream.server.storage.thread_writes import DROPPED

T = TypeVar("T")

HEADS = """
    SELECT checkpoint_id FROM checkpoints head WHERE thread_id = :thread AND checkpoint_ns = ''
    AND checkpoint_id NOT IN (
        SELECT parent_checkpoint_id FROM checkpoints
        WHERE thread_id = :thread AND checkpoint_ns = '' AND parent_checkpoint_id IS NOT NULL
    )
    AND NOT EXISTS (
        SELECT 1 FROM writes WHERE thread_id = :thread AND checkpoint_ns = ''
        AND checkpoint_id = head.checkpoint_id AND task_id = :dropped
    )
    ORDER BY checkpoint_id DESC LIMIT :limit
"""


class CheckpointReads:
    """Open with `open_checkpoint_reads`. Raises StorageUnavailable for faults of the database."""

    def __init__(self, saver: SqliteSaver, thread: ThreadPoolExecutor) -> None:
        self.saver = saver
        self._thread = thread
        self._handover = HistoryHandover()

    def with_serde(self, serde: SerializerProtocol) -> "CheckpointReads":
        saver = SqliteSaver(self.saver.conn, serde=serde)
        saver.is_setup = True
        return CheckpointReads(saver, self._thread)

    async def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._do(self.saver.get_tuple, config)

    async def history(self, config: RunnableConfig, channels: Sequence[str]) -> History:
        """Return the writes to the channels up to a checkpoint."""
        place = config["configurable"]
        thread, key = place["thread_id"], (place.get("checkpoint_id") or "", tuple(channels))
        kept = self._handover.take(thread, key)
        if kept is not None:
            return kept
        found = await self._do(
            lambda: self.saver.get_delta_channel_history(config=config, channels=channels)
        )
        if key[0]:
            self._handover.keep(thread, key, found)
        return found

    async def list(self, config: RunnableConfig | None, **choice: Any) -> Sequence[CheckpointTuple]:
        return await self._do(lambda: list(self.saver.list(config, **choice)))

    async def heads(self, checkpoint_key: str, limit: int) -> Sequence[str]:
        """The ids of the root graph's checkpoints that no other follows, the newest first, but for
        those of branches that were dropped."""
        named = {"thread": checkpoint_key, "limit": limit, "dropped": DROPPED}
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
