"""The calls that wait for an approval, over all threads: functions of one transaction each.

The threads themselves are the truth; these rows are for whoever looks through many of them.
"""

import json
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, or_, select, update

from server.storage.interfaces import Asker, WaitingApproval
from server.storage.tables import approvals
from server.turns.header import ThreadKey


def add(connection: Connection, key: ThreadKey, waiting: Sequence[WaitingApproval]) -> None:
    """The questions of a thread that are open."""
    if waiting:
        mine = (approvals.c.owner == key.owner, approvals.c.thread_id == key.thread_id)
        connection.execute(delete(approvals).where(*mine, approvals.c.is_open))
        connection.execute(insert(approvals), [_row(one) for one in waiting])


def close(connection: Connection, key: ThreadKey) -> None:
    """A thread's questions are open no more; those that were closed before are forgotten."""
    mine = (approvals.c.owner == key.owner, approvals.c.thread_id == key.thread_id)
    connection.execute(delete(approvals).where(*mine, ~approvals.c.is_open))
    connection.execute(update(approvals).where(*mine).values(is_open=False))


def remove_thread(connection: Connection, key: ThreadKey) -> None:
    mine = (approvals.c.owner == key.owner, approvals.c.thread_id == key.thread_id)
    connection.execute(delete(approvals).where(*mine))


def page(
    connection: Connection, owner: str, tool_names: Collection[str], now: float, limit: int
) -> Sequence[WaitingApproval]:
    """Those that are open, of the owner's threads and of all calls of these tools, oldest first."""
    query = (
        select(approvals)
        .where(
            approvals.c.is_open,
            or_(approvals.c.expires_at.is_(None), approvals.c.expires_at > now),
            or_(approvals.c.owner == owner, approvals.c.tool_name.in_(tool_names)),
        )
        .order_by(approvals.c.asked_at, approvals.c.id)
        .limit(limit)
    )
    return [_approval(row) for row in connection.execute(query)]


def get(connection: Connection, id: str) -> WaitingApproval | None:
    row = connection.execute(select(approvals).where(approvals.c.id == id)).first()
    return _approval(row) if row else None


def _row(waiting: WaitingApproval) -> dict[str, Any]:
    return {
        "id": waiting.id,
        "owner": waiting.key.owner,
        "thread_id": waiting.key.thread_id,
        "tool_call_id": waiting.tool_call_id,
        "approval_id": waiting.approval_id,
        "tool_name": waiting.tool_name,
        "args": json.dumps(waiting.args),
        "may_have_run": waiting.may_have_run,
        "asked_at": waiting.asked_at,
        "expires_at": waiting.expires_at,
        "roles": json.dumps(waiting.asker.roles),
        "display_name": waiting.asker.display_name,
        "is_open": waiting.is_open,
    }


def _approval(row: Any) -> WaitingApproval:
    return WaitingApproval(
        key=ThreadKey(row.owner, row.thread_id),
        tool_call_id=row.tool_call_id,
        approval_id=row.approval_id,
        tool_name=row.tool_name,
        args=json.loads(row.args),
        asked_at=row.asked_at,
        asker=Asker(tuple(json.loads(row.roles)), row.display_name),
        expires_at=row.expires_at,
        may_have_run=row.may_have_run,
        is_open=row.is_open,
        id=row.id,
    )
