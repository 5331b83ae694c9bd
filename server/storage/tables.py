"""The tables beside the checkpoints. SQLAlchemy's core, so that another database is another URL."""

import secrets

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    DateTime,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    func,
    inspect,
    text,
)

SCHEMA_VERSION = 1
"""Raise it with a change that an older server cannot work with: it refuses a newer database."""

metadata = MetaData()

TEXT = String().with_variant(String(collation="C"), "postgresql")
"""Compared byte by byte, as SQLite does, whatever the language of a Postgres database."""
NUMBER = Integer().with_variant(BigInteger(), "postgresql")

threads = Table(
    "threads",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("id", TEXT, primary_key=True),
    Column("title", TEXT, nullable=False),
    Column("created_at", TEXT, nullable=False),
    Column("updated_at", TEXT, nullable=False),
    Column("run_id", TEXT, nullable=False),
    Column("run_state", TEXT, nullable=False),
    Column("graph", TEXT),
    Column("allowed_tools", TEXT),
    Column("pinned", Boolean),
    Column("archived", Boolean),
    Column("forget_at", Float),
    Column("run_base", TEXT),
    Index("threads_by_state", "owner", "run_state"),
    Index("threads_pinned", "owner", "pinned"),
    Index("threads_archived", "owner", "archived"),
    Index("threads_to_forget", "forget_at"),
    Index("threads_by_activity", "updated_at", "owner", "id"),
    Index("threads_by_title", "owner", "title"),
)
"""`forget_at`: a Unix time, of a thread that is deleted, and can be brought back until then.
`run_base`: `RUN_ID CHECKPOINT_ID`, the newest checkpoint when that run began; no id if there was
none."""
activities = Table(
    "thread_activities",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("owner", TEXT, nullable=False),
    Column("thread_id", TEXT, nullable=False),
    Index("thread_activities_by_thread", "owner", "thread_id", "number"),
    Index("thread_activities_by_owner", "owner", "number"),
    sqlite_autoincrement=True,
)

cursor_secret = Table(
    "cursor_secret",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("secret", TEXT, nullable=False),
)
"""One row: see `turnstream.server.storage.sealed_places`."""

claims = Table(
    "claims",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("thread_id", TEXT, primary_key=True),
    Column("run_id", TEXT, nullable=False),
    Column("purpose", TEXT, nullable=False),
)
"""A row for each thread that is being worked on. `purpose` is `run` or `deletion`."""

requests = Table(
    "requests",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("idempotency_key", TEXT, primary_key=True),
    Column("digest", TEXT, nullable=False),
    Column("thread_id", TEXT, nullable=False),
    Column("run_id", TEXT, nullable=False, index=True),
    Column("made_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Index("requests_by_thread", "owner", "thread_id"),
    Index("requests_by_age", "made_at"),
)
"""Requests under an idempotency key, for a day. A request that is refused leaves no row."""

call_dispositions = Table(
    "call_dispositions",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("thread_id", TEXT, primary_key=True),
    Column("tool_call_id", TEXT, primary_key=True),
    Column("disposition", TEXT, nullable=False),
)
"""The disposition of each call, for graphs whose messages do not say it."""

approvals = Table(
    "approvals",
    metadata,
    Column("id", TEXT, primary_key=True),
    Column("owner", TEXT, nullable=False),
    Column("thread_id", TEXT, nullable=False),
    Column("tool_call_id", TEXT, nullable=False),
    Column("approval_id", TEXT, nullable=False),
    Column("tool_name", TEXT, nullable=False),
    Column("args", TEXT, nullable=False),
    Column("may_have_run", Boolean, nullable=False),
    Column("asked_at", Float, nullable=False),
    Column("expires_at", Float),
    Column("roles", TEXT, nullable=False),
    Column("display_name", TEXT, nullable=False),
    Column("is_open", Boolean, nullable=False),
    Column("is_alone", Boolean),
    Index("approvals_by_thread", "owner", "thread_id"),
    Index("approvals_by_tool", "is_open", "tool_name"),
)
"""Calls that wait for an approval, and those of each thread's last questions that do no more.
`args` and `roles` are JSON. `is_alone`: the thread waits for approvals alone, and for no other
answer; null in rows of an older server."""

queued_requests = Table(
    "queued_requests",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("thread_id", TEXT, primary_key=True),
    Column("run_id", TEXT, primary_key=True),
    Column("place", Integer, nullable=False),
    Column("wire_format", TEXT, nullable=False),
    Column("request", TEXT, nullable=False),
    Column("answers", Boolean, nullable=False),
    Column("queued_at", Float, nullable=False),
    Column("roles", TEXT, nullable=False),
    Column("display_name", TEXT, nullable=False),
    Column("problem", TEXT),
    Column("has_begun", Boolean, nullable=False),
    Column("held_until", Float),
    Column("due_at", Float),
    Index("queued_requests_by_run", "run_id"),
)
"""`request`, `roles` and `problem` are JSON. `place` orders the rows of a thread, and has gaps.
`answers`: the request answers what the graph or a call waits for. `held_until`: a Unix time, until
when no worker begins it. `due_at`: a Unix time before which its run does not begin; null: it may
begin when the thread is free."""

withdrawn_runs = Table(
    "withdrawn_runs",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("thread_id", TEXT, primary_key=True),
    Column("run_id", TEXT, primary_key=True),
    Column("withdrawn_at", Float, nullable=False),
    Column("record", TEXT, nullable=False),
)
"""Runs that were cancelled before their turn, for clients that list them. `record` is JSON, null
where a client has said nothing of the run."""

ADDED_LATER = {
    threads: ("graph", "allowed_tools", "pinned", "archived", "forget_at", "run_base"),
    approvals: ("is_alone",),
    queued_requests: ("due_at",),
}
"""Columns that tables of an older database lack."""


def create(connection: Connection) -> None:
    """Make what a SQLite file lacks: tables, and columns and indexes that tables of an older one
    lack."""
    known = _names(connection)
    if "requests" in known and _drop_requests_without_time(connection):
        known.remove("requests")
    # Not SQLAlchemy's own look: that is one query for each table and each index, at every start.
    missing = [table for table in metadata.sorted_tables if table.name not in known]
    metadata.create_all(connection, missing, checkfirst=False)
    keep_cursor_secret(connection)
    if "threads" in known:
        _add_columns(connection)
    for table in set(metadata.sorted_tables) - set(missing):
        for index in table.indexes:
            if index.name not in known:
                index.create(connection)
    if "thread_texts" in known and "search_texts" not in known:
        _give_texts_to_search(connection)
    if "turn_versions" in known:
        _give_versions_away(connection)


def _names(connection: Connection) -> set[str]:
    """The tables and indexes of a SQLite file."""
    return set(connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars())


def _add_columns(connection: Connection) -> None:
    for table, names in ADDED_LATER.items():
        known = {column["name"] for column in inspect(connection).get_columns(table.name)}
        for name in names:
            if name not in known:
                kind = table.c[name].type.compile(connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {name} {kind}")


def _give_texts_to_search(connection: Connection) -> None:
    """Give the texts that are searched, which were a table of ours, to the extension `search`. Its
    index over them is made anew. An older server that is started again makes its own anew too."""
    has_fts5 = "SELECT 1 FROM pragma_module_list WHERE name = 'fts5'"
    for statement in (
        "DROP TRIGGER IF EXISTS thread_texts_added",
        "DROP TRIGGER IF EXISTS thread_texts_removed",
        "ALTER TABLE thread_texts RENAME TO search_texts",
        "CREATE TABLE search_threads (owner VARCHAR NOT NULL, thread_id VARCHAR NOT NULL, "
        "run_id VARCHAR NOT NULL, indexed_for VARCHAR NOT NULL, PRIMARY KEY (owner, thread_id))",
        "INSERT INTO search_threads SELECT owner, id, indexed_run, owner FROM threads "
        "WHERE indexed_run IS NOT NULL",
        "UPDATE threads SET indexed_run = NULL",
        "INSERT INTO extensions VALUES ('search', 1, 'search_texts search_threads')",
    ):
        connection.exec_driver_sql(statement)
    if connection.exec_driver_sql(has_fts5).first():  # Otherwise SQLite cannot drop it.
        connection.exec_driver_sql("DROP TABLE IF EXISTS thread_words")


def _give_versions_away(connection: Connection) -> None:
    """Give the table of versions, which was one of ours, to the extension `versions`."""
    connection.exec_driver_sql(
        "INSERT INTO extensions VALUES ('versions', 1, 'turn_versions') ON CONFLICT DO NOTHING"
    )


def keep_cursor_secret(connection: Connection) -> None:
    """Make it, unless there is one."""
    kept = "INSERT INTO cursor_secret (id, secret) VALUES (1, :secret) ON CONFLICT DO NOTHING"
    connection.execute(text(kept), {"secret": secrets.token_hex(32)})


def _drop_requests_without_time(connection: Connection) -> bool:
    """SQLite cannot add a column whose default is not constant. Older servers deleted these rows at
    every start anyway. True: the table was such a one."""
    columns = inspect(connection).get_columns("requests")
    if any(column["name"] == "made_at" for column in columns):
        return False
    requests.drop(connection)
    return True
