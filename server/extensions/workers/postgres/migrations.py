"""The schema: our tables, and those of LangGraph's saver and store. One worker changes it.

Each version is a step from the one before. A new database gets the newest at once.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.store.postgres import PostgresStore as LangGraphStore
from psycopg.rows import dict_row
from sqlalchemy import Connection, inspect, text

from turnstream.server.extensions.workers.postgres.transactions import driver
from turnstream.server.storage import tables
from turnstream.server.storage.assistant_rows import assistants
from turnstream.server.storage.extension_tables import extensions
from turnstream.server.storage.interfaces import StorageError
from turnstream.server.storage.metadata_rows import run_records, thread_metadata
from turnstream.server.storage.removed_rows import removed_messages
from turnstream.server.storage.substep_rows import substeps

LOCK = 0x7475726E  # "turn"
WAIT_SECONDS = 120.0
LOOK_EVERY_SECONDS = 0.1

_OF_WORKERS = (
    """
    ALTER TABLE claims
        ADD COLUMN worker VARCHAR COLLATE "C" NOT NULL,
        ADD COLUMN lease_until TIMESTAMPTZ NOT NULL,
        ADD COLUMN stop TEXT,
        SET (fillfactor = 50)
    """,
    # A takeover changes a column of a unique index: then it waits for who has locked the row's key.
    "CREATE UNIQUE INDEX claims_of_workers ON claims (owner, thread_id, run_id, worker)",
    "CREATE TABLE turnstream_schema (version INTEGER NOT NULL)",
    "INSERT INTO turnstream_schema VALUES (0)",
)
"""Statements for what the tables of one process alone do not have."""

_NEW_COLUMNS = """
    ALTER TABLE threads
        ADD COLUMN pinned BOOLEAN,
        ADD COLUMN archived BOOLEAN,
        ADD COLUMN forget_at FLOAT
    """


def _arrange(connection: Connection) -> None:
    """Pinned, archived and hidden threads."""
    connection.execute(text(_NEW_COLUMNS))
    for index in tables.threads.indexes:
        index.create(connection, checkfirst=True)


def _leave_out(_connection: Connection) -> None:
    """A table that the extension `versions` makes by now."""


def _index_titles(connection: Connection) -> None:
    connection.execute(text("CREATE INDEX threads_by_title ON threads (owner, title)"))


def _keep_requests(connection: Connection) -> None:
    """Requests are kept for a day."""
    connection.execute(text('ALTER TABLE threads ADD COLUMN run_base VARCHAR COLLATE "C"'))
    for index in tables.requests.indexes:
        index.create(connection, checkfirst=True)


def _seal_cursors(connection: Connection) -> None:
    tables.cursor_secret.create(connection)
    tables.keep_cursor_secret(connection)


def _know_extensions(connection: Connection) -> None:
    extensions.create(connection)


_SEARCH_OUT = (
    "ALTER TABLE thread_texts RENAME TO search_texts",
    "ALTER INDEX thread_texts_by_thread RENAME TO search_texts_by_thread",
    "ALTER INDEX thread_texts_words RENAME TO search_texts_words",
    # Workers of the version before go on with it. A later version drops it, with `indexed_run`.
    "CREATE VIEW thread_texts AS SELECT * FROM search_texts",
    """
    CREATE TABLE search_threads (
        owner VARCHAR COLLATE "C" NOT NULL,
        thread_id VARCHAR COLLATE "C" NOT NULL,
        run_id VARCHAR COLLATE "C" NOT NULL,
        indexed_for VARCHAR COLLATE "C" NOT NULL,
        PRIMARY KEY (owner, thread_id)
    )
    """,
    """
    INSERT INTO search_threads SELECT owner, id, indexed_run, owner FROM threads
        WHERE indexed_run IS NOT NULL
    """,
    "INSERT INTO extensions VALUES ('search', 1, 'search_texts search_threads')",
)


def _give_texts_to_search(connection: Connection) -> None:
    """Give the texts that are searched, which were a table of ours, to the extension `search`."""
    if inspect(connection).has_table("thread_texts"):
        for statement in _SEARCH_OUT:
            connection.execute(text(statement))


def _give_versions_away(connection: Connection) -> None:
    """Give the table of versions, which was one of ours, to the extension `versions`. Workers of
    the version before go on with it."""
    if inspect(connection).has_table("turn_versions"):
        connection.execute(text("INSERT INTO extensions VALUES ('versions', 1, 'turn_versions')"))


def _keep_removed_messages(connection: Connection) -> None:
    removed_messages.create(connection)


def _keep_metadata(connection: Connection) -> None:
    thread_metadata.create(connection)


def _keep_assistants(connection: Connection) -> None:
    assistants.create(connection)


def _keep_run_records(connection: Connection) -> None:
    run_records.create(connection)


def _keep_substeps(connection: Connection) -> None:
    substeps.create(connection)


def _queue_requests(connection: Connection) -> None:
    tables.queued_requests.create(connection)


def _know_lone_approvals(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE approvals ADD COLUMN is_alone BOOLEAN"))


def _delay_requests(connection: Connection) -> None:
    # The table may have been made with the column.
    added = "ALTER TABLE queued_requests ADD COLUMN IF NOT EXISTS due_at DOUBLE PRECISION"
    connection.execute(text(added))


def _list_withdrawn_runs(connection: Connection) -> None:
    tables.withdrawn_runs.create(connection)


STEPS: Sequence[Callable[[Connection], None]] = (
    _leave_out,
    _index_titles,
    _arrange,
    _keep_requests,
    _seal_cursors,
    _know_extensions,
    _give_texts_to_search,
    _give_versions_away,
    _keep_removed_messages,
    _keep_metadata,
    _keep_assistants,
    _keep_run_records,
    _keep_substeps,
    _queue_requests,
    _know_lone_approvals,
    _delay_requests,
    _list_withdrawn_runs,
)
"""From version 1 to 2, and so on."""
VERSION = 1 + len(STEPS)


@dataclass(frozen=True, slots=True)
class Schema:
    """The versions that the database has; 0 and -1: nothing yet. LangGraph numbers its own."""

    version: int
    saver: int
    store: int

    def is_older(self, known: "Schema") -> bool:
        return self.version < known.version or self.saver < known.saver or self.store < known.store


KNOWN = Schema(VERSION, len(PostgresSaver.MIGRATIONS) - 1, len(LangGraphStore.MIGRATIONS) - 1)


def schema(connection: Connection) -> Schema:
    names = {*inspect(connection).get_table_names()}

    def newest(table: str, column: str, none: int) -> int:
        if table not in names:
            return none
        found = connection.execute(text(f"SELECT max({column}) FROM {table}")).scalar()
        return none if found is None else int(found)

    return Schema(
        newest("turnstream_schema", "version", 0),
        newest("checkpoint_migrations", "v", -1),
        newest("store_migrations", "v", -1),
    )


def check(connection: Connection) -> bool:
    """Return True if a migration is due. Raises StorageError for a newer schema."""
    found = schema(connection)
    if KNOWN.is_older(found):
        raise StorageError(
            f"the database has the schema {_shown(found)}, this server knows {_shown(KNOWN)}: it "
            "is of a newer turnstream. Update this server, or set TURNSTREAM_DATABASE to another "
            "database."
        )
    return found.is_older(KNOWN)


def migrate(connection: Connection) -> bool:
    """Bring the schema to the newest version, alone: others wait. False: there was nothing to do.

    On a connection whose statements are transactions of their own: LangGraph's make indexes while
    others write.
    """
    if not check(connection):
        return False
    _lock(connection)
    try:
        if not check(connection):
            return False
        own = driver(connection)
        with own.transaction():
            _migrate_ours(connection)
        own.row_factory, before = dict_row, own.row_factory
        try:
            PostgresSaver(own).setup()
            LangGraphStore(own).setup()
        finally:
            own.row_factory = before
        return True
    finally:
        connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": LOCK})


def _migrate_ours(connection: Connection) -> None:
    version = schema(connection).version
    if version == 0:
        tables.metadata.create_all(connection)
        tables.keep_cursor_secret(connection)
        for statement in _OF_WORKERS:
            connection.execute(text(statement))
    else:
        for step in STEPS[version - 1 :]:
            step(connection)
    connection.execute(text("UPDATE turnstream_schema SET version = :v"), {"v": VERSION})


def _lock(connection: Connection) -> None:
    """Not by waiting in the database: an index that is made beside others waits for those."""
    deadline = time.monotonic() + WAIT_SECONDS
    query: Any = text("SELECT pg_try_advisory_lock(:lock)")
    while not connection.scalar(query, {"lock": LOCK}):
        if time.monotonic() > deadline:
            raise StorageError("another worker has been migrating the database for too long")
        time.sleep(LOOK_EVERY_SECONDS)


def _shown(schema: Schema) -> str:
    return f"{schema.version} (LangGraph's: {schema.saver} and {schema.store})"
