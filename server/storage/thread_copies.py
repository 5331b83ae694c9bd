"""Copies of threads: their rows, and LangGraph's checkpoints under another key."""

from typing import Any

from sqlalchemy import (
    Connection,
    FromClause,
    column,
    insert,
    inspect,
    literal,
    select,
    table,
)

from turnstream.server.storage import metadata_rows, removed_rows, substep_rows, thread_list
from turnstream.server.storage.engine_statements import statements_of
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.storage.tables import call_dispositions, threads
from turnstream.server.storage.thread_list import free_title
from turnstream.server.turns.header import ThreadKey

_COPIED = (
    *(call_dispositions, removed_rows.removed_messages, substep_rows.substeps),
    *(metadata_rows.thread_metadata, metadata_rows.run_records),
)
"""Tables of ours whose rows of a thread are copied. Calls that wait for an approval are listed once
more when the copy has had a run."""


def copy(connection: Connection, source: ThreadKey, new: ThreadKey) -> ThreadEntry | None:
    """Copy a thread that is not live; a live one is returned, and nothing is copied. None: there is
    no such thread."""
    statements_of(connection).await_turn(connection, new.owner)
    here = threads.c.owner == source.owner, threads.c.id == source.thread_id
    # Until the end of the transaction no run of it begins.
    connection.execute(select(threads.c.id).where(*here).with_for_update()).all()
    entry, _ = thread_list.find(connection, source)
    if entry is None or entry.run_state == "live":
        return entry
    title = free_title(connection, new.owner, entry.title) if entry.title else ""
    copied = thread_list.add_copy(connection, new, entry, title)
    for owned in _COPIED:
        mine = owned.c.owner == source.owner, owned.c.thread_id == source.thread_id
        _copy_rows(connection, owned, mine, thread_id=new.thread_id)
    known = inspect(connection)
    for name in statements_of(connection).checkpoint_tables:
        if known.has_table(name):  # No thread was ever saved otherwise.
            names = [one["name"] for one in known.get_columns(name)]
            saved = table(name, *map(column, names))
            is_its: Any = saved.c.thread_id == source.checkpoint_key
            _copy_rows(connection, saved, (is_its,), thread_id=new.checkpoint_key)
    return copied


def _copy_rows(
    connection: Connection, rows: Any, which: tuple[Any, ...], *, thread_id: str
) -> None:
    columns: FromClause = rows
    values = [
        literal(thread_id).label(one.name) if one.name == "thread_id" else one for one in columns.c
    ]
    names = [one.name for one in columns.c]
    connection.execute(insert(rows).from_select(names, select(*values).where(*which)))
