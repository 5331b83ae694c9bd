"""The calls that wait for an approval, over all threads: functions of one transaction each.

The threads themselves are the truth; these rows are for whoever looks through many of them.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from sqlalchemy import Connection, and_, delete, exists, func, or_, select, text, update

from turnstream.server.storage.interfaces import ApprovalPage, Asker, WaitingApproval
from turnstream.server.storage.tables import approvals, threads
from turnstream.server.turns.header import LOCAL_OWNER, ThreadKey

MAX_PAGE_CHARS = 2_000_000
"""Characters of the arguments in one page; a page has at least one approval."""
_NOT_HIDDEN = ~exists().where(
    threads.c.owner == approvals.c.owner,
    threads.c.id == approvals.c.thread_id,
    threads.c.forget_at.is_not(None),
)


_NAMES = [column.name for column in approvals.c]
_PUT = text(
    f"INSERT INTO approvals ({', '.join(_NAMES)}) VALUES ({', '.join(f':{n}' for n in _NAMES)}) "
    f"ON CONFLICT (id) DO UPDATE SET {', '.join(f'{n} = excluded.{n}' for n in _NAMES[1:])}"
)
"""A column that only a later version knows keeps its value."""


def add(connection: Connection, key: ThreadKey, waiting: Sequence[WaitingApproval]) -> None:
    """The questions of a thread that are open. One that is known keeps its id: a run that decides
    on another call of the thread takes it off the list for a while."""
    if not waiting:
        return
    mine = (approvals.c.owner == key.owner, approvals.c.thread_id == key.thread_id)
    rows = connection.execute(select(approvals).where(*mine)).all()
    # Not by the ids alone: a model may give a call of another branch the same one.
    known = {(row.tool_call_id, row.approval_id, row.asked_at): row.id for row in rows}
    listed = [
        replace(one, id=known.get((one.tool_call_id, one.approval_id, one.asked_at), one.id))
        for one in waiting
    ]
    again = approvals.c.id.in_([one.id for one in listed])
    connection.execute(delete(approvals).where(*mine, approvals.c.is_open, ~again))
    connection.execute(_PUT, [_row(one) for one in listed])


def close(connection: Connection, key: ThreadKey) -> None:
    """A thread's questions are open no more; those that were closed before are forgotten."""
    mine = (approvals.c.owner == key.owner, approvals.c.thread_id == key.thread_id)
    connection.execute(delete(approvals).where(*mine, ~approvals.c.is_open))
    connection.execute(update(approvals).where(*mine).values(is_open=False))


def reopen(connection: Connection, key: ThreadKey) -> None:
    """Undo `close`, but for the questions that it has forgotten."""
    mine = (approvals.c.owner == key.owner, approvals.c.thread_id == key.thread_id)
    connection.execute(update(approvals).where(*mine).values(is_open=True))


def remove_thread(connection: Connection, key: ThreadKey) -> None:
    mine = (approvals.c.owner == key.owner, approvals.c.thread_id == key.thread_id)
    connection.execute(delete(approvals).where(*mine))


def page(
    connection: Connection,
    owner: str,
    tool_names: Collection[str],
    now: float,
    limit: int,
    skip: int = 0,
) -> ApprovalPage:
    """Return open approvals of the owner's threads and of all calls of these tools, oldest first:
    at most `limit`, and fewer if their arguments have more than MAX_PAGE_CHARS.

    The askers take turns: the oldest approval of each, then the second of each, and so on, `skip`
    of them left out. So nobody's many calls hide those of others.
    """
    of_others = and_(approvals.c.owner != LOCAL_OWNER, approvals.c.tool_name.in_(tool_names))
    turn = func.row_number().over(
        partition_by=approvals.c.owner, order_by=(approvals.c.asked_at, approvals.c.id)
    )
    found = (
        select(approvals.c.id)
        .where(
            approvals.c.is_open,
            or_(approvals.c.expires_at.is_(None), approvals.c.expires_at > now),
            or_(approvals.c.owner == owner, of_others),
            _NOT_HIDDEN,
        )
        .order_by(turn, approvals.c.asked_at, approvals.c.id)
        .limit(limit + 1)
        .offset(skip)
    )
    ids = connection.execute(found).scalars().all()
    length = func.length(approvals.c.args).label("chars")
    sizes = select(approvals.c.id, length).where(approvals.c.id.in_(ids))
    chars = {row.id: row.chars for row in connection.execute(sizes)}
    sums = accumulate(chars[id] for id in ids)
    fitting = [id for id, sum in zip(ids, sums, strict=True) if sum <= MAX_PAGE_CHARS]
    page = (fitting or ids[:1])[:limit]
    by_id = select(approvals).where(approvals.c.id.in_(page))
    oldest_first = by_id.order_by(approvals.c.asked_at, approvals.c.id)
    rows = connection.execute(oldest_first)
    return ApprovalPage([_approval(row) for row in rows], has_more=len(page) < len(ids))


def get(connection: Connection, id: str) -> WaitingApproval | None:
    row = connection.execute(select(approvals).where(approvals.c.id == id, _NOT_HIDDEN)).first()
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
        "is_alone": waiting.is_alone,
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
        is_alone=row.is_alone is not False,
        id=row.id,
    )
