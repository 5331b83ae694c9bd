"""Transactions on a bounded number of connections, each on a thread: one hop there and back.

An asyncio driver would have the loop wait for each statement, and decode on it what comes back.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

import psycopg
from sqlalchemy import Connection, Engine, PoolProxiedConnection
from sqlalchemy.exc import DBAPIError

from turnstream.server.extensions.workers.postgres.connections import engine
from turnstream.server.extensions.workers.postgres.faults import (
    fault,
    faults_named,
    is_cut,
    is_repeatable,
)
from turnstream.server.extensions.workers.postgres.statements import STEP_BY_STEP
from turnstream.server.storage.engine_statements import Spoiled
from turnstream.server.storage.interfaces import StorageUnavailable

T = TypeVar("T")

TRIES = 3


class _Undone(Exception):
    """The transaction has changed nothing, and may be done again."""

    def __init__(self, cause: Exception) -> None:
        self.cause = cause


class PostgresTransactions:
    """Open with `open_transactions`. Functions of a connection may be called again, if what they
    did was undone."""

    def __init__(self, engine: Engine, threads: ThreadPoolExecutor, busy_seconds: float) -> None:
        self._writing = engine
        self._reading = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._threads = threads
        self._busy_seconds = busy_seconds

    async def write(self, work: Callable[..., T], *arguments: Any) -> T:
        """One transaction. If this is cancelled it comes to its end, unless it has not begun.

        Raises StorageUnavailable. The time to wait for a thread counts from here.
        """
        return await asyncio.wrap_future(self.submit(self.write_here, work, *arguments))

    async def read(self, work: Callable[..., T], *arguments: Any) -> T:
        """Each statement sees what was there when it began."""
        return await asyncio.wrap_future(self.submit(self.read_here, work, *arguments))

    def submit(self, work: Callable[..., T], *arguments: Any) -> "Future[T]":
        """Call it on a thread, in this context."""
        deadline = time.monotonic() + self._busy_seconds
        call = partial(copy_context().run, work, *arguments)

        def begin() -> T:
            if time.monotonic() > deadline:
                raise StorageUnavailable("storage_busy", store="postgres")
            return call()

        return self._threads.submit(begin)

    def write_here(self, work: Callable[..., T], *arguments: Any) -> T:
        """On the calling thread."""
        return self._repeated(partial(self._in_transaction, work, *arguments))

    def send_here(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        """One transaction, in one round trip, on the calling thread: what the function executes is
        sent at its end, and each statement is done if all are.

        Nothing in it may synchronize the pipeline. It is done again if its answer is lost.
        """
        return self._repeated(partial(self._sent, work))

    def read_here(self, work: Callable[..., T], *arguments: Any) -> T:
        return self._repeated(partial(self._whole, self._reading, work, *arguments))

    def _repeated(self, once: Callable[[], T]) -> T:
        with faults_named():
            for _ in range(TRIES - 1):
                with suppress(_Undone):
                    return once()
            try:
                return once()
            except _Undone as undone:
                raise undone.cause from None

    def _in_transaction(self, work: Callable[..., T], *arguments: Any) -> T:
        try:
            return self._whole(self._writing, work, *arguments)
        except (Spoiled, DBAPIError) as error:  # The latter of what is checked at its end, too.
            if fault(error):
                raise
            step_by_step = self._writing.execution_options(**{STEP_BY_STEP: True})
            return self._whole(step_by_step, work, *arguments)

    def _whole(self, engine: Engine, work: Callable[..., T], *arguments: Any) -> T:
        with engine.connect() as connection, connection.begin() as transaction:
            with self._undone_faults(connection):
                result = work(connection, *arguments)
            transaction.commit()
            return result

    def _sent(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Without SQLAlchemy's own connection, whose making takes a third of the time."""
        with closing(self._writing.raw_connection()) as pooled, self._undone_faults(pooled):
            own = _of_driver(pooled)
            own.autocommit = True
            try:
                with own.pipeline():
                    result = work(own)
            except BaseException as error:
                # psycopg (read in 3.3.9) takes for prepared what it has sent behind a fault. One
                # that was cut is not always `closed` yet, and takes no setting.
                if not (isinstance(error, psycopg.Error) and is_cut(error)):
                    pooled.invalidate()
                raise
            own.autocommit = False
            return result

    @contextmanager
    def _undone_faults(self, connection: Connection | PoolProxiedConnection) -> Iterator[None]:
        """Nothing was committed, or it is no harm to do it again."""
        try:
            yield
        except (DBAPIError, psycopg.Error) as error:
            # A connection may have been cut while nobody used it, then so were the others of the
            # pool.
            if is_cut(error):
                connection.invalidate()
                self._writing.dispose()
            elif not is_repeatable(error):
                raise
            raise _Undone(error) from error


def driver(connection: Connection) -> psycopg.Connection[Any]:
    """The driver's own connection."""
    return _of_driver(connection.connection)


def _of_driver(pooled: PoolProxiedConnection) -> psycopg.Connection[Any]:
    own = pooled.driver_connection
    assert isinstance(own, psycopg.Connection)
    return own


@asynccontextmanager
async def open_transactions(
    connect: Callable[[], psycopg.Connection[Any]], size: int, name: str, busy_seconds: float
) -> AsyncIterator[PostgresTransactions]:
    """On so many connections; `name` is the threads'."""
    opened = engine(connect, size, busy_seconds)
    with ThreadPoolExecutor(size, name) as threads:
        try:
            yield PostgresTransactions(opened, threads, busy_seconds)
        finally:
            # Behind what has begun.
            await asyncio.to_thread(threads.shutdown)
            opened.dispose()
