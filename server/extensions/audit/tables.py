"""The table of the audit trail."""

from sqlalchemy import Column, Float, Integer, MetaData, Table

from turnstream.server.extensions.tables import NUMBER, TEXT

metadata = MetaData()
audit = Table(
    "audit",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False, index=True),
    Column("event", TEXT, nullable=False),
    Column("principal", TEXT),
    Column("method", TEXT),
    Column("thread_id", TEXT),
    Column("run_id", TEXT),
    Column("tool_call_id", TEXT),
    Column("name", TEXT),
    Column("disposition", TEXT),
    Column("outcome", TEXT),
    Column("input_tokens", Integer),
    Column("output_tokens", Integer),
    Column("duration_ms", Integer),
    Column("count", Integer),
    Column("address", TEXT),
    sqlite_autoincrement=True,
)
"""See `turnstream.server.turns.audit_records`; rows are added, and deleted by age."""
