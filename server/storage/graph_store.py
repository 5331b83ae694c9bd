"""LangGraph's store, for graphs that keep items across threads, in the database of the threads.

Imported only where a graph may ask for it: LangGraph's module brings a vector index along, which
is used where a langgraph.json asks for it.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import aiosqlite
from langchain_core.embeddings import Embeddings
from langgraph.store.base import IndexConfig, Op, PutOp, Result, SearchOp
from langgraph.store.sqlite.aio import AsyncSqliteStore
from langgraph.store.sqlite.base import SqliteIndexConfig

from turnstream.server.storage.database_file import usable
from turnstream.server.storage.faults import faults_named
from turnstream.server.storage.interfaces import StorageError

_IN_SECONDS, _NOW = "CURRENT_TIMESTAMP", "strftime('%Y-%m-%d %H:%M:%f', 'now')"


class _Prepared(Embeddings):
    """Embeddings that are computed ahead of a transaction: a model may take seconds, in which no
    other write could begin."""

    def __init__(self, model: Embeddings) -> None:
        self._model = model
        self.vectors: Mapping[str, list[float]] = {}
        """The vectors of the batch under way, by text."""

    async def prepared(self, texts: list[str]) -> Mapping[str, list[float]]:
        unique = [*dict.fromkeys(texts)]
        vectors = await self._model.aembed_documents(unique) if unique else []
        return dict(zip(unique, vectors, strict=True))

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.vectors[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.vectors[text]


class SqliteGraphStore(AsyncSqliteStore):
    """Open with `open_graph_store`. Raises StorageUnavailable for faults of the database.

    The checkpointer writes beside it. So a batch that writes takes SQLite's lock before it reads,
    where it can wait for it; and a batch that fails changes nothing.
    """

    def __init__(
        self,
        connection: aiosqlite.Connection,
        require_file: Callable[[], None],
        index: IndexConfig | None = None,
    ) -> None:
        named = {**index, "text_fields": index.get("fields")} if index else None
        super().__init__(connection, index=cast(SqliteIndexConfig | None, named))
        if self.embeddings:
            self.embeddings = _Prepared(self.embeddings)
        self._require_file = require_file
        self._order = asyncio.Lock()
        self._begin = "BEGIN"

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """One transaction."""
        batch = list(ops)
        ahead: _Prepared | None = self.embeddings
        vectors = await ahead.prepared(self._texts(batch)) if ahead else {}
        async with self._order:
            if ahead:
                ahead.vectors = vectors
            self._begin = "BEGIN"
            if any(isinstance(op, PutOp) for op in batch):
                self._require_file()
                self._begin = "BEGIN IMMEDIATE"
            return await super().abatch(batch)

    @asynccontextmanager
    async def _cursor(self, *, transaction: bool = True) -> AsyncIterator[aiosqlite.Cursor]:
        """As in langgraph-checkpoint-sqlite 3.1.2, but for how it begins and that it can be
        undone."""
        assert transaction, "only the sweeper of expired items, which is off, does without"
        with faults_named():
            try:
                await self.conn.execute(self._begin)
                async with self.conn.cursor() as cursor:
                    yield cursor
                await self.conn.execute("COMMIT")
            except BaseException:
                await self.conn.rollback()
                raise

    def _prepare_batch_PUT_queries(self, put_ops: Any) -> Any:  # noqa: N802  its package's name
        """With times in milliseconds: those of langgraph-checkpoint-sqlite 3.1.2 are in seconds."""
        queries, embedding = super()._prepare_batch_PUT_queries(put_ops)
        return [(text.replace(_IN_SECONDS, _NOW), given) for text, given in queries], embedding

    def _texts(self, batch: list[Op]) -> list[str]:
        """The texts of a batch that need vectors, as langgraph-checkpoint-sqlite 3.1.2 finds
        them."""
        numbered = list(enumerate(batch))
        puts = [(number, op) for number, op in numbered if isinstance(op, PutOp)]
        _, wanted = self._prepare_batch_PUT_queries(puts)
        stored = [params[-1] for params in wanted[1]] if wanted else []
        searched = [op.query for _, op in numbered if isinstance(op, SearchOp) and op.query]
        return [*stored, *searched]

    async def close(self) -> None:
        """End the task that works off its queue, which would be left pending."""
        task = self._task
        if task:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def open_graph_store(
    path: Path,
    busy_timeout_ms: int,
    require_file: Callable[[], None],
    index: IndexConfig | None = None,
) -> AsyncIterator[SqliteGraphStore]:
    """The store in a SQLite file that has a write-ahead log; its tables are made if they are not
    there.

    `require_file` is called before each write, and raises StorageUnavailable if there cannot be
    one. Raises StorageError.
    """
    if index and not hasattr(sqlite3.Connection, "enable_load_extension"):
        raise StorageError(
            "a vector index of the store (store.index) needs a Python whose sqlite3 can load "
            "extensions, and this one cannot: use another build of Python, such as Debian's or "
            "Homebrew's, or take store.index out of the file"
        )
    async with aiosqlite.connect(path, isolation_level=None) as connection:
        with usable(path):
            await connection.execute("PRAGMA synchronous = NORMAL")
            await connection.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
            store = SqliteGraphStore(connection, require_file, index)
            await store.setup()
        try:
            yield store
        finally:
            await store.close()
