"""Claims, idempotency keys and kept dispositions: functions of one transaction each.

The statements of every turn are made once: to make one takes longer than to execute it.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select
from sqlalchemy.dialects.sqlite import insert

from server.storage import thread_list
from server.storage.interfaces import ClaimResult, Granted, Held, Repeated
from server.storage.tables import call_dispositions, claims, requests
from server.turns.chunks import Disposition
from server.turns.header import ThreadKey
from server.turns.requests import IdempotencyKey

RUN, DELETION = "run", "deletion"

_MINE = (claims.c.owner == bindparam("of_owner"), claims.c.thread_id == bindparam("of_thread"))
_TAKE = insert(claims).on_conflict_do_nothing()
_RELEASE = delete(claims).where(*_MINE, claims.c.run_id == bindparam("of_run"))
_HOLDER = select(claims.c.run_id).where(*_MINE, claims.c.purpose == RUN)


def claim(
    connection: Connection, key: ThreadKey, run_id: str, idempotency: IdempotencyKey | None
) -> ClaimResult:
    repeated = _repeated(connection, key.owner, idempotency) if idempotency else None
    if repeated:
        return repeated
    row = {"owner": key.owner, "thread_id": key.thread_id, "run_id": run_id}
    taken = connection.execute(_TAKE, {**row, "purpose": RUN})
    if not taken.rowcount:
        return Held(holder(connection, key))
    if idempotency:
        named = {"idempotency_key": idempotency.key, "digest": idempotency.digest}
        connection.execute(insert(requests), {**row, **named})
    return Granted(thread_list.get(connection, key))


def claim_for_deletion(connection: Connection, key: ThreadKey, deletion_id: str) -> ClaimResult:
    row = insert(claims).values(
        owner=key.owner, thread_id=key.thread_id, run_id=deletion_id, purpose=DELETION
    )
    taken = connection.execute(
        row.on_conflict_do_update(
            index_elements=[claims.c.owner, claims.c.thread_id],
            set_={"run_id": deletion_id},
            where=claims.c.purpose == DELETION,
        )
    )
    return Granted() if taken.rowcount else Held(holder(connection, key))


def holder(connection: Connection, key: ThreadKey) -> str | None:
    run_id: str | None = connection.scalar(_HOLDER, thread_list.of(key))
    return run_id


def release(connection: Connection, key: ThreadKey, run_id: str) -> None:
    connection.execute(_RELEASE, {**thread_list.of(key), "of_run": run_id})


def release_all(connection: Connection) -> None:
    connection.execute(delete(claims))
    connection.execute(delete(requests))


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
        connection.execute(insert(call_dispositions).on_conflict_do_nothing(), rows)


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
