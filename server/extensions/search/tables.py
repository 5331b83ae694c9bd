"""The tables of the search."""

from typing import Any

from sqlalchemy import Column, Connection, Index, MetaData, Table, event, text
from sqlalchemy.types import Text, UserDefinedType

from turnstream.server.extensions.tables import NUMBER, TEXT


class _Vector(UserDefinedType[str]):
    """Postgres' own. That of SQLAlchemy would import all of its dialect."""

    cache_ok = True

    def get_col_spec(self, **_options: Any) -> str:
        return "TSVECTOR"


metadata = MetaData()
texts = Table(
    "search_texts",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("owner", TEXT, nullable=False),
    Column("thread_id", TEXT, nullable=False),
    Column("message_id", TEXT, nullable=False),
    Column("shown_id", TEXT, nullable=False),
    Column("text", Text, nullable=False),
    Column("words", Text().with_variant(_Vector(), "postgresql"), nullable=False),
    Index("search_texts_by_thread", "owner", "thread_id", "message_id"),
    sqlite_autoincrement=True,
)
"""A row for each message, and one for the title, without ids. `words` has each word once, with
blanks between them, and the owner's (`words.owner_word`). In a SQLite file FTS5 indexes it: see
`fts5`."""


def _index_words(_table: Table, connection: Connection, **_options: Any) -> None:
    # Not an `Index` of the table: its options for Postgres would import all of that dialect.
    if connection.dialect.name == "postgresql":
        words = "CREATE INDEX search_texts_words ON search_texts USING gin (words)"
        connection.execute(text(words))


event.listen(texts, "after_create", _index_words)

followed = Table(
    "search_threads",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("thread_id", TEXT, primary_key=True),
    Column("run_id", TEXT, nullable=False),
    Column("indexed_for", TEXT, nullable=False),
)
"""The run whose texts the index has of each thread, so that a thread that misses some is known,
whatever kept them away: a crash, an older server, a search that was off. `indexed_for` is the owner
whose word the texts have: a thread that got another owner is indexed anew."""

with_substeps = Table(
    "search_substeps",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("thread_id", TEXT, primary_key=True),
)
"""The threads among whose texts may be what subagents said."""
