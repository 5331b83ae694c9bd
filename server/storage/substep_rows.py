"""The substeps of subagents, a row each: functions of one transaction each."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict

from sqlalchemy import (
    Column,
    Connection,
    Integer,
    Table,
    bindparam,
    delete,
    select,
    text,
)

from turnstream.server.storage.kept_substeps import KeptSubstep, can_be_kept
from turnstream.server.storage.tables import TEXT, metadata
from turnstream.server.turns.header import ThreadKey

substeps = Table(
    "substeps",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("thread_id", TEXT, primary_key=True),
    Column("call_id", TEXT, primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("run_id", TEXT, nullable=False),
    Column("body", TEXT, nullable=False),
)

CALLS_AT_ONCE = 500
"""Calls that one statement names."""

_OF_THREAD = (
    substeps.c.owner == bindparam("of_owner"),
    substeps.c.thread_id == bindparam("of_thread"),
)
_OF_CALLS = (
    select(substeps.c.call_id, substeps.c.place, substeps.c.run_id, substeps.c.body)
    .where(*_OF_THREAD, substeps.c.call_id.in_(bindparam("calls", expanding=True)))
    .order_by(substeps.c.call_id, substeps.c.place)
)
_REMOVE_ALL = delete(substeps).where(*_OF_THREAD)
_REMOVE_CALL = delete(substeps).where(*_OF_THREAD, substeps.c.call_id == bindparam("of_call"))
_REMOVE = delete(substeps).where(
    *_OF_THREAD,
    substeps.c.call_id == bindparam("of_call"),
    substeps.c.place == bindparam("at_place"),
)
_PUT = text(
    "INSERT INTO substeps (owner, thread_id, call_id, place, run_id, body) "
    "VALUES (:owner, :thread_id, :call_id, :place, :run_id, :body) "
    "ON CONFLICT (owner, thread_id, call_id, place) "
    "DO UPDATE SET run_id = excluded.run_id, body = excluded.body"
)


def put(
    connection: Connection,
    key: ThreadKey,
    changed: Sequence[KeptSubstep],
    begun: Collection[str] = (),
) -> None:
    mine = {"owner": key.owner, "thread_id": key.thread_id}
    for call_id in begun:
        connection.execute(_REMOVE_CALL, {"of_call": call_id, **_of(key)})
    if kept := [{**mine, **asdict(row)} for row in changed if row.body is not None]:
        connection.execute(_PUT, kept)
    gone = [row for row in changed if row.body is None]
    if gone:
        places = [{"of_call": row.call_id, "at_place": row.place, **_of(key)} for row in gone]
        connection.execute(_REMOVE, places)


def get(connection: Connection, key: ThreadKey, call_ids: Collection[str]) -> Sequence[KeptSubstep]:
    return [*_rows(connection, key, call_ids)]


def _rows(
    connection: Connection, key: ThreadKey, call_ids: Collection[str]
) -> Iterator[KeptSubstep]:
    ids = [*filter(can_be_kept, call_ids)]
    for start in range(0, len(ids), CALLS_AT_ONCE):
        named = {**_of(key), "calls": ids[start : start + CALLS_AT_ONCE]}
        yield from (KeptSubstep(*row) for row in connection.execute(_OF_CALLS, named))


def remove(connection: Connection, key: ThreadKey) -> None:
    connection.execute(_REMOVE_ALL, _of(key))


def _of(key: ThreadKey) -> dict[str, str]:
    return {"of_owner": key.owner, "of_thread": key.thread_id}
