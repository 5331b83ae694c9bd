"""A Postgres database, opened for a worker or for a command."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass

from langgraph.store.base import BaseStore

from turnstream.server.extensions.workers.postgres import migrations
from turnstream.server.extensions.workers.postgres.checkpointer import PostgresCheckpointer
from turnstream.server.extensions.workers.postgres.connections import connector
from turnstream.server.extensions.workers.postgres.faults import faults_named
from turnstream.server.extensions.workers.postgres.held_claims import HeldClaims
from turnstream.server.extensions.workers.postgres.leases import PostgresLeases, open_leases
from turnstream.server.extensions.workers.postgres.poolers import check_sessions
from turnstream.server.extensions.workers.postgres.store import PostgresStore
from turnstream.server.extensions.workers.postgres.transactions import (
    PostgresTransactions,
    open_transactions,
)
from turnstream.server.storage.interfaces import StorageError, StorageUnavailable
from turnstream.server.storage.location import PostgresUrl
from turnstream.server.storage.serializer import ThreadSerializer

COMMAND_LEASE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class PostgresStorage:
    url: PostgresUrl
    store: PostgresStore
    checkpointer: PostgresCheckpointer
    leases: PostgresLeases
    transactions: PostgresTransactions

    @property
    def gone(self) -> bool:
        """A server is not a file: it is there again, or it is not."""
        return False

    def usable(self) -> AbstractContextManager[None]:
        return usable(self.url)

    def open_graph_store(self) -> AbstractAsyncContextManager[BaseStore]:
        from turnstream.server.extensions.workers.postgres.graph_store import PostgresGraphStore

        return nullcontext(PostgresGraphStore(self.transactions))


@asynccontextmanager
async def open_postgres(
    url: PostgresUrl, busy_seconds: float, connections: int, lease_seconds: float
) -> AsyncIterator[PostgresStorage]:
    """For a worker; the schema is migrated if need be. Raises StorageError."""
    held = HeldClaims()
    with usable(url):
        connect = connector(url, busy_seconds, lease_seconds, held.worker)
    async with (
        open_transactions(connect, connections, "database", busy_seconds) as transactions,
        open_transactions(connect, 1, "leases", busy_seconds) as own,
    ):
        with usable(url):
            await migrate(url)
        async with open_leases(held, transactions, own, lease_seconds) as leases:
            yield PostgresStorage(
                url,
                PostgresStore(transactions, held, leases),
                PostgresCheckpointer(transactions, held, ThreadSerializer()),
                leases,
                transactions,
            )


@asynccontextmanager
async def open_postgres_store(
    url: PostgresUrl, busy_seconds: float
) -> AsyncIterator[PostgresStore]:
    """For a command, which claims nothing. Raises StorageError."""
    async with _migrating(url, busy_seconds) as transactions:
        with usable(url):
            if await transactions.read(migrations.check):
                raise StorageError(f"{url} is to be migrated first: turnstream migrate")
        yield PostgresStore(transactions, HeldClaims())


async def migrate(url: PostgresUrl, *, checks: bool = False) -> bool:
    """Migrate the database, or with `checks` only look. Returns True if there was something to
    migrate. Raises StorageError."""
    async with _migrating(url, migrations.WAIT_SECONDS) as transactions:
        with usable(url):
            return await transactions.read(migrations.check if checks else migrations.migrate)


def migrate_here(url: PostgresUrl) -> bool:
    """The same without an event loop."""
    return asyncio.run(migrate(url))


@asynccontextmanager
async def _migrating(url: PostgresUrl, busy_seconds: float) -> AsyncIterator[PostgresTransactions]:
    with usable(url):
        connect = connector(url, busy_seconds, COMMAND_LEASE_SECONDS)
        with faults_named():
            await check_sessions(url, connect)
    async with open_transactions(connect, 1, "database", busy_seconds) as transactions:
        yield transactions


@contextmanager
def usable(url: PostgresUrl) -> Iterator[None]:
    """Raise StorageError, in words for who starts the server, for what the database refuses."""
    try:
        yield
    except StorageUnavailable as error:
        cause = error.cause or error
        raise StorageError(
            f"{url} cannot be used as a database: {cause}. Start it, or set TURNSTREAM_DATABASE "
            "to another."
        ) from None
