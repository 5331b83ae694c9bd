"""The statements that differ from engine to engine: those of a SQLite file.

The connections of another engine carry their own, so that no module of this folder has to know it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from turnstream.server.storage.faults import fault
from turnstream.server.storage.interfaces import Section

OPTION = "turnstream_statements"
"""The execution option by which an engine's connections carry its `EngineStatements`."""


class Spoiled(Exception):
    """The writes of an extension have a mistake, and cannot be undone alone: the engine undoes the
    transaction, and does it once more in another way."""


class EngineStatements:
    """In a SQLite file one transaction writes at a time: none has to wait for another."""

    checkpoint_tables: Mapping[str, tuple[Section, str]] = {
        "checkpoints": ("checkpoints", "length(checkpoint) + length(metadata)"),
        "writes": ("writes", "length(value)"),
    }
    """The tables of LangGraph's saver that have rows of threads: what these are, and the bytes of
    one in SQL. A checkpoint of a SQLite file has its values inside."""

    def await_turn(self, connection: Connection, owner: str) -> None:
        """Have the transactions that move threads of one owner come one after the other: so nobody
        who has seen a number of an activity misses a lower one, and no thread is added twice."""

    def hold_claims(self, connection: Connection) -> None:
        """Keep others from claiming threads until the end of the transaction."""

    def await_tables(self, connection: Connection) -> None:
        """Have the transactions that make or migrate tables come one after the other."""
        # The driver begins a transaction only ahead of a row's change.
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    @contextmanager
    def apart(self, connection: Connection) -> Iterator[None]:
        """Undo what is done within if it raises, and not the rest of the transaction. An engine may
        raise Spoiled instead."""
        with connection.begin_nested():
            yield

    def is_fault(self, error: DBAPIError) -> bool:
        """Check for a fault of the database; anything else is a mistake in a statement."""
        return error.connection_invalidated or fault(error) is not None


SQLITE = EngineStatements()


def statements_of(connection: Connection) -> EngineStatements:
    carried: EngineStatements = connection.get_execution_options().get(OPTION, SQLITE)
    return carried
