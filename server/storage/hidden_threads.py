"""Threads that are deleted, and can still be brought back: functions of one transaction each."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select, tuple_, update

from turnstream.server.storage import claims, thread_list
from turnstream.server.storage.claims import UNLEASED, Taking
from turnstream.server.storage.interfaces import ClaimResult, Granted, Held, ThreadEntry
from turnstream.server.storage.tables import threads
from turnstream.server.turns.header import ThreadKey


def hide(connection: Connection, key: ThreadKey, until: float) -> tuple[float | None, bool]:
    """When the thread is to be forgotten, and whether it was not hidden before. None: there is
    none."""
    row = update(threads).where(*_is(key), threads.c.forget_at.is_(None)).values(forget_at=until)
    is_new = bool(connection.execute(row).rowcount)
    return connection.scalar(select(threads.c.forget_at).where(*_is(key))), is_new


def restore(connection: Connection, key: ThreadKey) -> tuple[ThreadEntry | None, bool]:
    """The thread's entry, and whether it was hidden."""
    row = update(threads).where(*_is(key))
    was = connection.scalar(select(threads.c.forget_at).where(*_is(key)))
    hidden = row.where(threads.c.forget_at.is_not(None)).values(forget_at=None)
    # The row first: then whoever claims it to forget it comes before this, or finds it restored.
    if not connection.execute(hidden).rowcount:
        return thread_list.get(connection, key), False
    if claims.is_claimed(connection, key):
        connection.execute(row.values(forget_at=was))
        return None, False
    return thread_list.get(connection, key), True


def page(
    connection: Connection,
    limit: int,
    owner: str | None = None,
    after: tuple[ThreadKey, float] | None = None,
) -> Sequence[tuple[ThreadKey, float]]:
    place = (threads.c.forget_at, threads.c.owner, threads.c.id)
    rows = connection.execute(
        select(threads.c.owner, threads.c.id, threads.c.forget_at)
        .where(
            threads.c.forget_at.is_not(None),
            *([threads.c.owner == owner] if owner is not None else []),
            *([tuple_(*place) > (after[1], after[0].owner, after[0].thread_id)] if after else []),
        )
        .order_by(*place)
        .limit(limit)
    )
    return [(ThreadKey(row.owner, row.id), row.forget_at) for row in rows]


def claim(
    connection: Connection,
    key: ThreadKey,
    deletion_id: str,
    now: float,
    taking: Taking = UNLEASED,
) -> ClaimResult:
    due = (
        update(threads)
        .where(*_is(key), threads.c.forget_at <= now)
        .values(forget_at=threads.c.forget_at)
    )
    # Changed to what it is: so whoever restores it comes before this, or finds it claimed.
    is_due = connection.execute(due).rowcount
    if is_due and claims.claim_to_expire(connection, key, deletion_id, taking):
        return Granted()
    return Held(None)


def _is(key: ThreadKey) -> tuple[Any, Any]:
    return threads.c.owner == key.owner, threads.c.id == key.thread_id
