"""Threads that nobody has used for long: functions of one transaction each."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, exists, or_, select, tuple_

from turnstream.server.storage.claims import UNLEASED, Taking, claim_to_expire, release
from turnstream.server.storage.interfaces import ClaimResult, Granted, Held, IdleThread
from turnstream.server.storage.tables import approvals, queued_requests, threads
from turnstream.server.turns.header import ThreadKey


def page(
    connection: Connection, since: float, now: float, limit: int, after: IdleThread | None
) -> Sequence[IdleThread]:
    """The longest idle first, in the order of an index: a page costs its own length and the threads
    between that wait for an approval."""
    place = tuple_(threads.c.updated_at, threads.c.owner, threads.c.id)
    behind = [place > (after.updated_at, after.key.owner, after.key.thread_id)] if after else []
    rows = connection.execute(
        select(threads.c.owner, threads.c.id, threads.c.updated_at)
        .where(*_idle(since, now), *behind)
        .order_by(threads.c.updated_at, threads.c.owner, threads.c.id)
        .limit(limit)
    )
    return [IdleThread(ThreadKey(row.owner, row.id), row.updated_at) for row in rows]


def claim(
    connection: Connection,
    key: ThreadKey,
    deletion_id: str,
    since: float,
    now: float,
    taking: Taking = UNLEASED,
) -> ClaimResult:
    mine = (threads.c.owner == key.owner, threads.c.id == key.thread_id)
    # The claim first: then no run can begin between the look and the deletion.
    if not claim_to_expire(connection, key, deletion_id, taking):
        return Held(None)
    if connection.execute(select(threads.c.id).where(*mine, *_idle(since, now))).first() is None:
        release(connection, key, deletion_id)
        return Held(None)
    return Granted()


def _idle(since: float, now: float) -> Sequence[Any]:
    waits = exists().where(
        approvals.c.owner == threads.c.owner,
        approvals.c.thread_id == threads.c.id,
        approvals.c.is_open,
        or_(approvals.c.expires_at.is_(None), approvals.c.expires_at > now),
    )
    queued = exists().where(
        queued_requests.c.owner == threads.c.owner,
        queued_requests.c.thread_id == threads.c.id,
        or_(queued_requests.c.queued_at >= since, queued_requests.c.due_at >= since),
    )
    moment = datetime.fromtimestamp(since, UTC).isoformat(timespec="milliseconds")
    return threads.c.updated_at < moment, threads.c.run_state != "live", ~waits, ~queued
