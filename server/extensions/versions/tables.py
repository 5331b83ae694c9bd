"""The table of versions: a row each version of a turn."""

from sqlalchemy import Boolean, Column, Index, MetaData, Table

from turnstream.server.extensions.tables import NUMBER, TEXT

metadata = MetaData()
versions = Table(
    "turn_versions",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("thread_id", TEXT, primary_key=True),
    Column("id", TEXT, primary_key=True),
    Column("number", NUMBER, nullable=False),
    Column("parent", TEXT),
    Column("question", TEXT, nullable=False),
    Column("message_id", TEXT, nullable=False),
    Column("is_original", Boolean, nullable=False),
    Column("head", TEXT),
    Index("turn_versions_in_order", "owner", "thread_id", "number"),
)
"""The columns are the fields of `turnstream.server.extensions.versions.tree.TurnVersion`. The name
is that of before the extension: databases of before have the table."""
