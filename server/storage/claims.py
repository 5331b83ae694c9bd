"""Claims, idempotency keys and kept dispositions: functions of one transaction each.

The statements of every turn are made once: to make one takes longer than to execute it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from sqlalchemy import Connection, TextClause, bindparam, delete, select, text, update

from turnstream.server.storage import thread_list
from turnstream.server.storage.interfaces import ClaimResult, Granted, Held, Hidden, Repeated
from turnstream.server.storage.tables import (
    call_dispositions,
    claims,
    queued_requests,
    requests,
    threads,
)
from turnstream.server.storage.thread_list import of
from turnstream.server.turns.chunks import Disposition
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import IdempotencyKey

RUN, DELETION = "run", "deletion"
REQUESTS_KEPT = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Taking:
    """The statements by which an engine takes claims, and the values that they have beside those of
    the claim. They are text because SQLAlchemy has ON CONFLICT only in the dialects of its
    databases.

    As text: SQLAlchemy has ON CONFLICT only in the dialects of its databases.
    """

    take: TextClause
    """Does nothing if the thread has a claim."""
    take_for_deletion: TextClause
    """Takes over the claim of another deletion, unless another worker is at it."""
    values: Mapping[str, Any] = field(default_factory=dict)


UNLEASED = Taking(
    text(
        "INSERT INTO claims (owner, thread_id, run_id, purpose) "
        f"VALUES (:owner, :thread_id, :run_id, '{RUN}') ON CONFLICT (owner, thread_id) DO NOTHING"
    ),
    text(
        "INSERT INTO claims (owner, thread_id, run_id, purpose) "
        f"VALUES (:owner, :thread_id, :run_id, '{DELETION}') ON CONFLICT (owner, thread_id) "
        f"DO UPDATE SET run_id = excluded.run_id WHERE claims.purpose = '{DELETION}'"
    ),
)
"""The statements for a database that one process has to itself."""

_MINE = (claims.c.owner == bindparam("of_owner"), claims.c.thread_id == bindparam("of_thread"))
_TO_DELETION = update(claims).where(*_MINE).values(purpose=DELETION)
_KEEP_REQUEST = text(
    "INSERT INTO requests (owner, idempotency_key, digest, thread_id, run_id) "
    "VALUES (:owner, :idempotency_key, :digest, :thread_id, :run_id) ON CONFLICT DO NOTHING"
)
_KEEP_DISPOSITION = text(
    "INSERT INTO call_dispositions (owner, thread_id, tool_call_id, disposition) "
    "VALUES (:owner, :thread_id, :tool_call_id, :disposition) ON CONFLICT DO NOTHING"
)
_RELEASE = delete(claims).where(*_MINE, claims.c.run_id == bindparam("of_run"))
_QUEUED = select(queued_requests.c.run_id)
_HOLDER = select(claims.c.run_id, claims.c.purpose).where(*_MINE)


def claim(
    connection: Connection,
    key: ThreadKey,
    run_id: str,
    idempotency: IdempotencyKey | None,
    taking: Taking = UNLEASED,
) -> ClaimResult:
    row = {"owner": key.owner, "thread_id": key.thread_id, "run_id": run_id}
    while True:
        repeated = _repeated(connection, key.owner, idempotency) if idempotency else None
        if repeated:
            return repeated
        if connection.execute(taking.take, {**row, **taking.values}).rowcount:
            entry, is_hidden = thread_list.find(connection, key)
            if is_hidden:
                release(connection, key, run_id)
                return Hidden()
            if idempotency is None or keep_request(connection, row, idempotency):
                return Granted(entry)
            release(connection, key, run_id)
        else:
            # Who had it when this began may have just let go of it, or be the same request.
            held = _held(connection, key)
            same = _repeated(connection, key.owner, idempotency) if idempotency else None
            if same or held:
                return same or cast(Held, held)


def claim_for_deletion(
    connection: Connection, key: ThreadKey, deletion_id: str, taking: Taking = UNLEASED
) -> ClaimResult:
    row = {"owner": key.owner, "thread_id": key.thread_id, "run_id": deletion_id}
    while not connection.execute(taking.take_for_deletion, {**row, **taking.values}).rowcount:
        held = _held(connection, key)
        if held:
            return held
    return Granted()


def claim_to_expire(
    connection: Connection, key: ThreadKey, deletion_id: str, taking: Taking = UNLEASED
) -> bool:
    """For its deletion, if it has no claim at all."""
    row = {"owner": key.owner, "thread_id": key.thread_id, "run_id": deletion_id}
    if not connection.execute(taking.take, {**row, **taking.values}).rowcount:
        return False
    connection.execute(_TO_DELETION, of(key))
    return True


def holder(connection: Connection, key: ThreadKey) -> str | None:
    held = _held(connection, key)
    return held.run_id if held else None


def is_claimed(connection: Connection, key: ThreadKey) -> bool:
    return _held(connection, key) is not None


def _held(connection: Connection, key: ThreadKey) -> Held | None:
    row = connection.execute(_HOLDER, of(key)).first()
    return Held(row.run_id if row.purpose == RUN else None) if row else None


def release(connection: Connection, key: ThreadKey, run_id: str) -> bool:
    """Delete a run's claim. False: there was none."""
    return bool(connection.execute(_RELEASE, {**of(key), "of_run": run_id}).rowcount)


def release_all(connection: Connection) -> None:
    """Requests whose runs had not begun are forgotten; those that were queued wait again."""
    live = select(threads.c.run_id).where(threads.c.run_state == "live")
    claimed, of_run = select(claims.c.run_id), requests.c.run_id
    lost = (of_run.in_(claimed), of_run.not_in(live), of_run.not_in(_QUEUED))
    connection.execute(delete(requests).where(*lost))
    of_lost = (queued_requests.c.has_begun, queued_requests.c.run_id.not_in(live))
    connection.execute(update(queued_requests).where(*of_lost).values(has_begun=False))
    connection.execute(delete(claims))


def keep_request(
    connection: Connection, row: Mapping[str, str], idempotency: IdempotencyKey
) -> bool:
    """False: another request came under the same key at the same moment."""
    named = {"idempotency_key": idempotency.key, "digest": idempotency.digest}
    return bool(connection.execute(_KEEP_REQUEST, {**row, **named}).rowcount)


def forget_old_requests(connection: Connection) -> None:
    """Delete the keys that are older than a day, except those of requests that are still being
    checked, or wait for their turn."""
    is_old = requests.c.made_at < datetime.now(UTC) - REQUESTS_KEPT
    is_checked = requests.c.run_id.in_(select(claims.c.run_id))
    connection.execute(
        delete(requests).where(is_old, ~is_checked, requests.c.run_id.not_in(_QUEUED))
    )


def forget_requests(connection: Connection, run_id: str) -> None:
    connection.execute(delete(requests).where(requests.c.run_id == run_id))


def keep_dispositions(
    connection: Connection, key: ThreadKey, dispositions: Mapping[str, Disposition]
) -> None:
    rows = [
        {
            "owner": key.owner,
            "thread_id": key.thread_id,
            "tool_call_id": tool_call_id,
            "disposition": disposition,
        }
        for tool_call_id, disposition in dispositions.items()
    ]
    if rows:
        connection.execute(_KEEP_DISPOSITION, rows)


def dispositions(connection: Connection, key: ThreadKey) -> dict[str, Disposition]:
    rows = connection.execute(
        select(call_dispositions.c.tool_call_id, call_dispositions.c.disposition).where(
            *_is(call_dispositions, key)
        )
    )
    return {row.tool_call_id: row.disposition for row in rows}


def remove_thread(connection: Connection, key: ThreadKey) -> None:
    """Forget a thread's requests and dispositions; the claim of its deletion stays."""
    connection.execute(delete(requests).where(*_is(requests, key)))
    connection.execute(delete(call_dispositions).where(*_is(call_dispositions, key)))


def _repeated(connection: Connection, owner: str, idempotency: IdempotencyKey) -> Repeated | None:
    row = connection.execute(
        select(requests).where(
            requests.c.owner == owner, requests.c.idempotency_key == idempotency.key
        )
    ).first()
    if row is None:
        return None
    return Repeated(row.thread_id, row.run_id, row.digest == idempotency.digest)


def _is(table: Any, key: ThreadKey) -> tuple[Any, Any]:
    return table.c.owner == key.owner, table.c.thread_id == key.thread_id
