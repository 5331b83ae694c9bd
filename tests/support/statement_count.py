"""Statements and transactions of Postgres, counted as psycopg sends them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from turnstream.server.extensions.workers.postgres.transactions import PostgresTransactions


class Sent:
    def __init__(self) -> None:
        self.statements: list[str] = []
        """Without those that begin and end a transaction."""
        self.transactions = 0


@contextmanager
def counted() -> Iterator[Sent]:
    """Count what this process sends meanwhile. Those that read alone are transactions, too."""
    sent = Sent()
    execute, commit = psycopg.Cursor.execute, psycopg.Connection.commit
    send = PostgresTransactions._sent

    def executing(cursor: Any, query: Any, *values: Any, **options: Any) -> Any:
        text = query.decode() if isinstance(query, bytes) else str(query)
        if not text.startswith("SELECT set_config"):  # It is that of a new connection.
            sent.statements.append(" ".join(text.split()))
            own = cursor.connection
            sent.transactions += own.autocommit and own.info.pipeline_status == 0
        return execute(cursor, query, *values, **options)

    def committing(connection: Any) -> None:
        sent.transactions += connection.info.transaction_status != 0
        commit(connection)

    def sending(transactions: Any, work: Any) -> Any:
        sent.transactions += 1
        return send(transactions, work)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", executing)
        patch.setattr(psycopg.Connection, "commit", committing)
        patch.setattr(PostgresTransactions, "_sent", sending)
        yield sent
