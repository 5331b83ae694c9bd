"""LangGraph's store, for graphs that keep items across threads, in the database of the threads."""

import asyncio
from collections.abc import Callable, Iterable

from langgraph.store.base import BaseStore, Op, Result
from langgraph.store.postgres import PostgresStore as LangGraphStore
from sqlalchemy import Connection

from turnstream.server.extensions.workers.postgres.transactions import PostgresTransactions, driver


class PostgresGraphStore(BaseStore):
    """A batch is one transaction. Raises StorageUnavailable for faults of the database.

    Items are not a thread's: what is written is under no claim.
    """

    def __init__(self, transactions: PostgresTransactions) -> None:
        self._transactions = transactions

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self._transactions.write_here(_batch([*ops]))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.shield(asyncio.ensure_future(self._transactions.write(_batch([*ops]))))


def _batch(ops: list[Op]) -> Callable[[Connection], list[Result]]:
    return lambda connection: LangGraphStore(driver(connection)).batch(ops)
