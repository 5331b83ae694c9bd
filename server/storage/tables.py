"""The tables beside the checkpoints. SQLAlchemy's core, so that another database is another URL."""

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    inspect,
)

SCHEMA_VERSION = 1
"""Raise it with a change that an older server cannot work with: it refuses a newer database."""

metadata = MetaData()

threads = Table(
    "threads",
    metadata,
    Column("owner", String, primary_key=True),
    Column("id", String, primary_key=True),
    Column("title", String, nullable=False),
    Column("created_at", String, nullable=False),
    Column("updated_at", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("run_state", String, nullable=False),
    Column("graph", String),
    Column("allowed_tools", String),
    Index("threads_by_state", "owner", "run_state"),
    Index("threads_by_activity", "updated_at", "owner", "id"),
)

activities = Table(
    "thread_activities",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("owner", String, nullable=False),
    Column("thread_id", String, nullable=False),
    Index("thread_activities_by_thread", "owner", "thread_id", "number"),
    Index("thread_activities_by_owner", "owner", "number"),
    sqlite_autoincrement=True,
)

claims = Table(
    "claims",
    metadata,
    Column("owner", String, primary_key=True),
    Column("thread_id", String, primary_key=True),
    Column("run_id", String, nullable=False),
    Column("purpose", String, nullable=False),
)
"""Who works on a thread: a row each. `purpose` is `run` or `deletion`."""

requests = Table(
    "requests",
    metadata,
    Column("owner", String, primary_key=True),
    Column("idempotency_key", String, primary_key=True),
    Column("digest", String, nullable=False),
    Column("thread_id", String, nullable=False),
    Column("run_id", String, nullable=False, index=True),
)
"""Requests that came under an idempotency key, as long as their runs are kept."""

call_dispositions = Table(
    "call_dispositions",
    metadata,
    Column("owner", String, primary_key=True),
    Column("thread_id", String, primary_key=True),
    Column("tool_call_id", String, primary_key=True),
    Column("disposition", String, nullable=False),
)
"""Who ends a call, for graphs whose messages do not say it."""

approvals = Table(
    "approvals",
    metadata,
    Column("id", String, primary_key=True),
    Column("owner", String, nullable=False),
    Column("thread_id", String, nullable=False),
    Column("tool_call_id", String, nullable=False),
    Column("approval_id", String, nullable=False),
    Column("tool_name", String, nullable=False),
    Column("args", String, nullable=False),
    Column("may_have_run", Boolean, nullable=False),
    Column("asked_at", Float, nullable=False),
    Column("expires_at", Float),
    Column("roles", String, nullable=False),
    Column("display_name", String, nullable=False),
    Column("is_open", Boolean, nullable=False),
    Index("approvals_by_thread", "owner", "thread_id"),
    Index("approvals_by_tool", "is_open", "tool_name"),
)
"""Calls that wait for an approval, and those of each thread's last questions that do no more.
`args` and `roles` are JSON."""

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String, primary_key=True),
    Column("principal", String, nullable=False, index=True),
    Column("role", String),
    Column("digest", String, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float),
    Column("last_used_at", Float),
    Column("revoked_at", Float),
)

browser_sessions = Table(
    "browser_sessions",
    metadata,
    Column("id", String, primary_key=True),
    Column("principal", String, nullable=False, index=True),
    Column("roles", String, nullable=False),
    Column("display_name", String, nullable=False),
    Column("method", String, nullable=False),
    Column("key_id", String, index=True),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False, index=True),
)
"""Logins by a cookie. `roles` is a JSON list."""

session_secrets = Table(
    "session_secrets",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("secret", String, nullable=False),
    Column("created_at", Float, nullable=False),
)
"""What signs the cookies: the newest signs, all verify."""

audit = Table(
    "audit",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False, index=True),
    Column("event", String, nullable=False),
    Column("principal", String),
    Column("method", String),
    Column("thread_id", String),
    Column("run_id", String),
    Column("tool_call_id", String),
    Column("name", String),
    Column("disposition", String),
    Column("outcome", String),
    Column("input_tokens", Integer),
    Column("output_tokens", Integer),
    Column("duration_ms", Integer),
    Column("count", Integer),
    Column("address", String),
    sqlite_autoincrement=True,
)
"""See `server.storage.audit_records`; rows are added, and deleted by age."""


def create(connection: Connection) -> None:
    """Make what is not there: tables, and columns and indexes that tables of an older database
    lack."""
    metadata.create_all(connection)
    known = {column["name"] for column in inspect(connection).get_columns("threads")}
    for name in ("graph", "allowed_tools"):
        if name not in known:
            connection.exec_driver_sql(f"ALTER TABLE threads ADD COLUMN {name} VARCHAR")
    for table in metadata.tables.values():
        for index in table.indexes:
            index.create(connection, checkfirst=True)
