"""The room that the checkpoints of a thread take."""

from typing import Any

from sqlalchemy import Connection, column, func, inspect, literal_column, select, table

from turnstream.server.storage.engine_statements import statements_of
from turnstream.server.storage.interfaces import Rows, Section
from turnstream.server.turns.header import ThreadKey


def of_thread(connection: Connection, key: ThreadKey) -> dict[Section, Rows]:
    """Count the rows of a thread and their bytes, as stored; a section without a table is left
    out."""
    known, found = inspect(connection), dict[Section, Rows]()
    for name, (section, bytes_of_row) in statements_of(connection).checkpoint_tables.items():
        if known.has_table(name):  # No thread was ever saved otherwise.
            rows = table(name, column("thread_id"))
            is_its: Any = rows.c.thread_id == key.checkpoint_key
            size: Any = func.sum(literal_column(bytes_of_row))
            count, bytes = connection.execute(select(func.count(), size).where(is_its)).one()
            found[section] = Rows(count, int(bytes or 0))
    return found
