"""Postgres' own statements: locks between transactions, which several workers have at once."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, InternalError, OperationalError

from turnstream.server.storage.engine_statements import EngineStatements, Spoiled
from turnstream.server.storage.interfaces import Section

STEP_BY_STEP = "turnstream_step_by_step"
"""The execution option of a transaction in which each extension's writes have a savepoint."""

TABLES_LOCK = 0x7475_726E_6578
"""The advisory lock of the worker that makes or migrates tables of extensions."""
_TURN = text("SELECT pg_advisory_xact_lock(hashtextextended(:owner, 0))")
_TABLES = text("SELECT pg_advisory_xact_lock(:lock)")
_CLAIMS = text("LOCK TABLE claims IN SHARE ROW EXCLUSIVE MODE")
_CONSTRAINTS = text("SET CONSTRAINTS ALL IMMEDIATE")


class PostgresStatements(EngineStatements):
    checkpoint_tables: Mapping[str, tuple[Section, str]] = {
        "checkpoints": ("checkpoints", "pg_column_size(checkpoint) + pg_column_size(metadata)"),
        "checkpoint_blobs": ("values", "octet_length(blob)"),
        "checkpoint_writes": ("writes", "octet_length(blob)"),
    }

    def await_turn(self, connection: Connection, owner: str) -> None:
        connection.execute(_TURN, {"owner": owner})

    def hold_claims(self, connection: Connection) -> None:
        connection.execute(_CLAIMS)

    def await_tables(self, connection: Connection) -> None:
        connection.execute(_TABLES, {"lock": TABLES_LOCK})

    @contextmanager
    def apart(self, connection: Connection) -> Iterator[None]:
        """Three statements for what hardly ever happens: so only when the transaction is done once
        more, because of a mistake."""
        if not connection.get_execution_options().get(STEP_BY_STEP):
            try:
                yield
            except Exception as error:
                if isinstance(error, DBAPIError) and self.is_fault(error):
                    raise
                raise Spoiled from error
            return
        with connection.begin_nested():
            yield
            # A deferred constraint would undo the whole transaction at its end.
            connection.execute(_CONSTRAINTS)

    def is_fault(self, error: DBAPIError) -> bool:
        if error.connection_invalidated:
            return True
        if not isinstance(error, OperationalError | InternalError):
            return False
        # Class 54 is a value beyond the limits of Postgres.
        return not str(getattr(error.orig, "sqlstate", None) or "").startswith("54")
