"""Threads that get another owner: their rows, and LangGraph's checkpoints under another key."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    Connection,
    Table,
    TableClause,
    column,
    delete,
    exists,
    inspect,
    select,
    table,
    update,
)

from turnstream.server.storage import (
    assistant_rows,
    metadata_rows,
    removed_rows,
    substep_rows,
    unfinished,
)
from turnstream.server.storage.also import Also, perform
from turnstream.server.storage.engine_statements import statements_of
from turnstream.server.storage.extension_tables import tables_of_threads
from turnstream.server.storage.sql_store import SqlTransactions
from turnstream.server.storage.tables import (
    activities,
    approvals,
    call_dispositions,
    claims,
    queued_requests,
    requests,
    threads,
    withdrawn_runs,
)
from turnstream.server.turns.header import ThreadKey

MOVED: dict[Table, dict[str, Any]] = {
    threads: {},
    activities: {},
    call_dispositions: {},
    # Whoever asked had the roles of the old owner; those of the new one are not known.
    approvals: {"roles": "[]", "display_name": ""},
    # The same of who has posted a request that waits.
    queued_requests: {"roles": "[]", "display_name": ""},
    withdrawn_runs: {},
    unfinished.answers: {},
    removed_rows.removed_messages: {},
    substep_rows.substeps: {},
    metadata_rows.thread_metadata: {},
    metadata_rows.run_records: {},
}
"""Tables whose rows of a thread go with it, and what changes in them."""
LEFT_BEHIND = (requests,)
"""Tables whose rows of a thread are deleted. Keys of requests are each owner's own; who moves a
thread repeats none."""
NEVER_MOVED = (claims,)
"""A thread that is claimed stays."""
OF_NO_THREAD = (assistant_rows.assistants,)
"""Tables of an owner whose rows belong to no thread."""


@dataclass(frozen=True, slots=True)
class Assignment:
    count: int
    left: Sequence[str]
    """Ids of threads that stayed: a run or a deletion has claimed them, or the new owner has one of
    the same id."""


def _nothing(_count: int) -> Also:
    return ()


async def assign(
    store: SqlTransactions, old: str, new: str, recording: Callable[[int], Also] = _nothing
) -> Assignment:
    """Give all of an owner's threads and assistants to another, in one transaction: a thread as a
    whole, or not.

    `recording` gets their count, and returns writes of others that join the transaction. Raises
    StorageUnavailable.
    """
    return await store.write(_assign, old, new, recording)


def _assign(
    connection: Connection, old: str, new: str, recording: Callable[[int], Also]
) -> Assignment:
    statements_of(connection).hold_claims(connection)
    taken = threads.alias()
    is_taken = exists().where(taken.c.owner == new, taken.c.id == threads.c.id)
    is_claimed = exists().where(claims.c.owner.in_((old, new)), claims.c.thread_id == threads.c.id)
    rows = connection.execute(
        select(threads.c.id, is_taken | is_claimed).where(threads.c.owner == old)
    ).all()
    left = [id for id, stays in rows if stays or old == new]
    moved = [id for id, stays in rows if not (stays or old == new)]
    names = set(inspect(connection).get_table_names())
    of_extensions = tables_of_threads(connection)
    for id in moved:
        key = ThreadKey(old, id)
        _move(connection, key, new, names)
        for owned in of_extensions:
            connection.execute(update(owned).where(*_of(owned, key)).values(owner=new))
    assistant_rows.assign(connection, old, new)
    if moved:
        perform(connection, recording(len(moved)))
    return Assignment(len(moved), left)


def _move(connection: Connection, key: ThreadKey, new: str, names: set[str]) -> None:
    moved = replace(key, owner=new)
    for owned, changed in MOVED.items():
        connection.execute(update(owned).where(*_of(owned, key)).values(owner=new, **changed))
    for owned in LEFT_BEHIND:
        connection.execute(delete(owned).where(*_of(owned, key)))
    for name in statements_of(connection).checkpoint_tables:
        if name in names:  # No thread was ever saved otherwise.
            checkpoints = table(name, column("thread_id"))
            here: Any = checkpoints.c.thread_id == key.checkpoint_key
            connection.execute(
                update(checkpoints).where(here).values(thread_id=moved.checkpoint_key)
            )


def _of(owned: TableClause, key: ThreadKey) -> tuple[Any, Any]:
    id = owned.c.id if owned is threads else owned.c.thread_id
    return owned.c.owner == key.owner, id == key.thread_id
