"""Requests that wait for their turn on a thread, a row each: functions of one transaction each."""

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from turnstream.server.storage import claims, thread_list
from turnstream.server.storage.claims import Taking
from turnstream.server.storage.engine_statements import statements_of
from turnstream.server.storage.interfaces import Granted, ThreadEntry
from turnstream.server.storage.queued_requests import (
    MAX_WITHDRAWN,
    QueuedRequest,
    QueueFull,
    WithdrawnRun,
)
from turnstream.server.storage.tables import (
    approvals,
    queued_requests,
    requests,
    threads,
    withdrawn_runs,
)
from turnstream.server.storage.tables import claims as claim_rows
from turnstream.server.storage.thread_list import of
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import IdempotencyKey, RunRecord, TurnRequest

logger = logging.getLogger(__name__)

UNREADABLE = ("internal_error", "The request cannot be read: withdraw it, and send it again.")
_CLAIMED = select(claim_rows.c.run_id)
_BY_PLACE = queued_requests.c.place
_NAMED = (
    queued_requests.c.owner == bindparam("of_owner"),
    queued_requests.c.thread_id == bindparam("of_thread"),
    queued_requests.c.run_id == bindparam("of_run"),
)
_KEEP = delete(queued_requests).where(*_NAMED, queued_requests.c.has_begun)
_IN_QUEUE = select(queued_requests.c.run_id).where(*_NAMED[:2])
"""Made once: it is executed at the end of every run."""
_PLACE = update(queued_requests).where(*_NAMED).values(place=bindparam("to_place"))


def add(
    connection: Connection,
    queued: QueuedRequest,
    most: int,
    idempotency: IdempotencyKey | None,
) -> int | None:
    key = queued.key
    # One after the other: two that come at once get different places, and count each other.
    statements_of(connection).await_turn(connection, key.owner)
    if not thread_list.hold(connection, key):
        return None
    held = func.max(queued_requests.c.held_until)
    of_thread = select(func.count(), func.max(_BY_PLACE), held).where(*_of(key))
    count, last, held_until = connection.execute(of_thread).one()
    if count >= most:
        raise QueueFull(most)
    named = {"owner": key.owner, "thread_id": key.thread_id, "run_id": queued.run_id}
    if idempotency and not claims.keep_request(connection, named, idempotency):
        return None
    row = {
        **named,
        **_request(queued.request),
        "place": (last or 0) + 1,
        "wire_format": queued.wire_format,
        "queued_at": queued.queued_at,
        "roles": json.dumps(queued.roles),
        "display_name": queued.display_name,
        "has_begun": False,
        "held_until": held_until,
        "due_at": queued.due_at,
    }
    connection.execute(insert(queued_requests), row)
    ahead = queued_requests.c.place < row["place"]
    begins = (~queued_requests.c.has_begun, queued_requests.c.problem.is_(None), _is_due())
    waiting = select(func.count()).where(*_of(key), ahead, *begins)
    return 1 + (connection.scalar(waiting) or 0)


def of_thread(connection: Connection, key: ThreadKey) -> Sequence[QueuedRequest]:
    found = select(queued_requests).where(*_of(key)).order_by(_BY_PLACE)
    return [_queued(row) for row in connection.execute(found)]


def get(connection: Connection, key: ThreadKey, run_id: str) -> QueuedRequest | None:
    row = connection.execute(select(queued_requests).where(*_is(key, run_id))).first()
    return _queued(row) if row else None


def state(
    connection: Connection, key: ThreadKey, run_id: str
) -> tuple[tuple[str, str] | None, bool] | None:
    columns = queued_requests.c.problem, queued_requests.c.has_begun
    found = select(*columns).outerjoin(threads, _in_list())
    shown = found.where(*_is(key, run_id), threads.c.forget_at.is_(None))
    row = connection.execute(shown).first()
    return (_problem(row), row.has_begun) if row else None


def of_owner(connection: Connection, owner: str, limit: int) -> Sequence[tuple[ThreadKey, str]]:
    is_theirs = (queued_requests.c.owner == owner, ~queued_requests.c.has_begun)
    found = connection.execute(select(*_KEY).where(*is_theirs).limit(limit))
    return [(ThreadKey(row.owner, row.thread_id), row.run_id) for row in found]


def under(
    connection: Connection, owner: str, idempotency: IdempotencyKey
) -> tuple[QueuedRequest, bool] | None:
    is_named = (requests.c.owner == owner, requests.c.idempotency_key == idempotency.key)
    named = connection.execute(select(requests).where(*is_named)).first()
    if named is None:
        return None
    queued = get(connection, ThreadKey(owner, named.thread_id), named.run_id)
    return (queued, named.digest == idempotency.digest) if queued else None


def edit(
    connection: Connection,
    key: ThreadKey,
    run_id: str,
    request: TurnRequest,
    roles: Sequence[str],
    display_name: str,
) -> QueuedRequest | None:
    edited = update(queued_requests).where(*_is(key, run_id), ~queued_requests.c.has_begun)
    by = {"roles": json.dumps(roles), "display_name": display_name}
    if not connection.execute(edited.values(**_request(request), **by, problem=None)).rowcount:
        return None
    return get(connection, key, run_id)


def move(connection: Connection, key: ThreadKey, run_id: str, place: int) -> QueuedRequest | None:
    statements_of(connection).await_turn(connection, key.owner)
    waits = select(queued_requests.c.run_id, _BY_PLACE).where(
        *_of(key), ~queued_requests.c.has_begun
    )
    rows = connection.execute(waits.order_by(_BY_PLACE)).all()
    order = [row.run_id for row in rows]
    if run_id not in order:
        return None
    order.remove(run_id)
    order.insert(min(place - 1, len(order)), run_id)
    for moved, row in zip(order, rows, strict=True):
        if moved != row.run_id:
            connection.execute(_PLACE, {**of(key), "of_run": moved, "to_place": row.place})
    return get(connection, key, run_id)


def withdraw(connection: Connection, key: ThreadKey, run_id: str, *, is_listed: bool) -> bool:
    queued = get(connection, key, run_id) if is_listed else None
    withdrawn = delete(queued_requests).where(*_is(key, run_id), ~queued_requests.c.has_begun)
    if not connection.execute(withdrawn).rowcount:
        return False
    claims.forget_requests(connection, run_id)
    if queued:
        _list_withdrawn(connection, key, run_id, queued.request.record)
    return True


def _list_withdrawn(
    connection: Connection, key: ThreadKey, run_id: str, record: RunRecord | None
) -> None:
    row = {"owner": key.owner, "thread_id": key.thread_id, "run_id": run_id}
    kept = json.dumps(asdict(record) if record else None)
    made = insert(withdrawn_runs).values(**row, withdrawn_at=time.time(), record=kept)
    connection.execute(made)
    for old in withdrawn(connection, key)[MAX_WITHDRAWN:]:
        forget_withdrawn(connection, key, old.run_id)


def withdrawn(connection: Connection, key: ThreadKey) -> Sequence[WithdrawnRun]:
    last_first = (withdrawn_runs.c.withdrawn_at.desc(), withdrawn_runs.c.run_id)
    found = select(withdrawn_runs).where(*_withdrawn_of(key)).order_by(*last_first)
    return [
        WithdrawnRun(row.run_id, row.withdrawn_at, RunRecord(**kept) if kept else None)
        for row in connection.execute(found)
        for kept in [json.loads(row.record)]
    ]


def forget_withdrawn(connection: Connection, key: ThreadKey, run_id: str) -> bool:
    is_it = (*_withdrawn_of(key), withdrawn_runs.c.run_id == run_id)
    return bool(connection.execute(delete(withdrawn_runs).where(*is_it)).rowcount)


def _withdrawn_of(key: ThreadKey) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return withdrawn_runs.c.owner == key.owner, withdrawn_runs.c.thread_id == key.thread_id


def next_of(connection: Connection, key: ThreadKey) -> str | None:
    if _next(connection, key, None) is None:  # Hardly a thread has a queue.
        return None
    return _next(connection, key, thread_list.get(connection, key))


def _next(connection: Connection, key: ThreadKey, thread: ThreadEntry | None) -> str | None:
    """`thread` None: there is none in the list."""
    is_asked = thread is not None and thread.run_state == "waiting"
    first = select(queued_requests.c.run_id).where(
        *_of(key), _waits(), _may_pass(literal(is_asked))
    )
    return connection.scalar(first.order_by(_BY_PLACE).limit(1))


def _waits() -> ColumnElement[bool]:
    held = queued_requests.c.held_until
    is_free = and_(or_(held.is_(None), held <= time.time()), _is_due())
    return and_(~queued_requests.c.has_begun, queued_requests.c.problem.is_(None), is_free)


def _is_due() -> ColumnElement[bool]:
    due = queued_requests.c.due_at
    return or_(due.is_(None), due <= time.time())


def _may_pass(is_asked: ColumnElement[bool]) -> ColumnElement[bool]:
    """The thread of a request waits for no answer, the request is one, or nobody can give the
    approvals any more that are all it waits for. `is_asked`: the thread's last run says so; behind
    a run that was stopped, approvals of an earlier one may be open too."""
    is_open = (
        approvals.c.owner == queued_requests.c.owner,
        approvals.c.thread_id == queued_requests.c.thread_id,
        approvals.c.is_open,
    )
    ends, is_beside = approvals.c.expires_at, approvals.c.is_alone.is_(False)
    may_come = exists().where(*is_open, or_(ends.is_(None), ends > time.time(), is_beside))
    has_expired = and_(exists().where(*is_open), ~may_come)
    return or_(queued_requests.c.answers, has_expired, and_(~is_asked, ~may_come))


def claim(
    connection: Connection, key: ThreadKey, run_id: str, taking: Taking
) -> tuple[Granted, QueuedRequest] | None:
    granted = claims.claim(connection, key, run_id, None, taking)
    if not isinstance(granted, Granted):
        return None
    if _next(connection, key, granted.thread) == run_id:
        # The row is locked: who edits or withdraws it meanwhile finds that it has begun.
        begun = update(queued_requests).where(*_is(key, run_id), _waits()).values(has_begun=True)
        if connection.execute(begun).rowcount and (queued := get(connection, key, run_id)):
            return granted, queued
    claims.release(connection, key, run_id)
    return None


def refuse(connection: Connection, key: ThreadKey, run_id: str, problem: tuple[str, str]) -> None:
    # Another worker may have begun it since.
    refused = update(queued_requests).where(*_is(key, run_id), ~queued_requests.c.has_begun)
    connection.execute(refused.values(problem=json.dumps(problem)))


def put_back(connection: Connection, run_id: str) -> bool:
    """Have a request wait again whose run has kept nothing of it. False: it was not queued. In the
    transaction that releases the claim of the run, or under that claim."""
    back = update(queued_requests).where(queued_requests.c.run_id == run_id)
    return bool(connection.execute(back.values(has_begun=False)).rowcount)


def keep(connection: Connection, key: ThreadKey, run_id: str) -> bool:
    """Delete the request of a run that has ended, if it was not put back: the thread has it. In the
    transaction that releases the claim of the run. Return True if the thread has others."""
    found = {*connection.scalars(_IN_QUEUE, of(key))}
    if run_id in found:
        connection.execute(_KEEP, {**of(key), "of_run": run_id})
    return bool(found - {run_id})


def forget(connection: Connection, key: ThreadKey, run_id: str) -> None:
    connection.execute(delete(queued_requests).where(*_is(key, run_id)))


def remove(connection: Connection, key: ThreadKey) -> None:
    connection.execute(delete(queued_requests).where(*_of(key)))
    connection.execute(delete(withdrawn_runs).where(*_withdrawn_of(key)))


def hold(connection: Connection, key: ThreadKey, until: float | None) -> None:
    connection.execute(update(queued_requests).where(*_of(key)).values(held_until=until))


def due(connection: Connection, limit: int) -> Sequence[ThreadKey]:
    may_pass = _may_pass(threads.c.run_state == "waiting")
    may_begin = or_(
        threads.c.id.is_(None),
        and_(threads.c.forget_at.is_(None), threads.c.run_state != "live", may_pass),
    )
    of_no_run = and_(queued_requests.c.has_begun, queued_requests.c.run_id.not_in(_CLAIMED))
    found = (
        select(queued_requests.c.owner, queued_requests.c.thread_id)
        .outerjoin(threads, _in_list())
        .where(or_(and_(_waits(), may_begin), of_no_run))
        .group_by(queued_requests.c.owner, queued_requests.c.thread_id)
        .order_by(func.random())  # Those that cannot begin now hold up no others.
        .limit(limit)
    )
    return [ThreadKey(row.owner, row.thread_id) for row in connection.execute(found)]


def settle(connection: Connection) -> None:
    lost = (queued_requests.c.has_begun, queued_requests.c.run_id.not_in(_CLAIMED))
    found = connection.scalars(select(queued_requests.c.run_id).where(*lost).with_for_update())
    if ids := found.all():
        # Asked again behind the locks: another worker may have begun them since.
        still = (queued_requests.c.run_id.in_(ids), *lost)
        connection.execute(update(queued_requests).where(*still).values(has_begun=False))


_KEY = (queued_requests.c.owner, queued_requests.c.thread_id, queued_requests.c.run_id)


@cache
def _reader() -> Any:
    """Made when the first request is read: it takes time, and many servers queue nothing."""
    from pydantic import TypeAdapter

    return TypeAdapter(TurnRequest)


def _request(request: TurnRequest) -> dict[str, Any]:
    text = json.dumps(asdict(request), default=list)  # A set is the one value that is not JSON.
    return {"request": text, "answers": request.answers_questions}


def _problem(row: Any) -> tuple[str, str] | None:
    if row.problem is None:
        return None
    code, message = json.loads(row.problem)
    return code, message


def _queued(row: Any) -> QueuedRequest:
    """A request that cannot be read, as one of a later version may not, is one with a problem."""
    problem = _problem(row)
    try:
        request = _reader().validate_python(json.loads(row.request))
    except ValueError:
        request = TurnRequest(row.thread_id)
        if problem is None:
            problem = UNREADABLE
            logger.exception("queued run %(run)s cannot be read", {"run": row.run_id})
    return QueuedRequest(
        key=ThreadKey(row.owner, row.thread_id),
        run_id=row.run_id,
        wire_format=row.wire_format,
        request=request,
        queued_at=row.queued_at,
        roles=tuple(json.loads(row.roles)),
        display_name=row.display_name,
        problem=problem,
        has_begun=row.has_begun,
        due_at=row.due_at,
    )


def _in_list() -> ColumnElement[bool]:
    return and_(
        threads.c.owner == queued_requests.c.owner, threads.c.id == queued_requests.c.thread_id
    )


def _of(key: ThreadKey) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return queued_requests.c.owner == key.owner, queued_requests.c.thread_id == key.thread_id


def _is(key: ThreadKey, run_id: str) -> tuple[ColumnElement[bool], ...]:
    return *_of(key), queued_requests.c.run_id == run_id
