"""The metadata of threads and of their last runs, a row each: functions of one transaction each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Table,
    bindparam,
    delete,
    select,
    text,
)

from turnstream.server.storage.tables import TEXT, metadata
from turnstream.server.storage.thread_metadata import Metadata, metadata_text
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import RunRecord

thread_metadata = Table(
    "thread_metadata",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("thread_id", TEXT, primary_key=True),
    Column("metadata", TEXT, nullable=False),
)

run_records = Table(
    "run_records",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("thread_id", TEXT, primary_key=True),
    Column("run_id", TEXT, nullable=False),
    Column("record", TEXT, nullable=False),
)
"""A row names the last run of its thread that a client has said something of."""

_ID, _KEPT = thread_metadata.c.thread_id, thread_metadata.c.metadata
_SOME = select(_ID, _KEPT).where(
    thread_metadata.c.owner == bindparam("of_owner"),
    _ID.in_(bindparam("of_threads", expanding=True)),
)
_REMOVE = delete(thread_metadata).where(
    thread_metadata.c.owner == bindparam("of_owner"), bindparam("of_thread") == _ID
)
_PUT = text(
    "INSERT INTO thread_metadata (owner, thread_id, metadata) "
    "VALUES (:owner, :thread_id, :metadata) "
    "ON CONFLICT (owner, thread_id) DO UPDATE SET metadata = excluded.metadata"
)


_PUT_RECORD = text(
    "INSERT INTO run_records (owner, thread_id, run_id, record) "
    "VALUES (:owner, :thread_id, :run_id, :record) "
    "ON CONFLICT (owner, thread_id) DO UPDATE SET run_id = excluded.run_id, "
    "record = excluded.record"
)


def merge(connection: Connection, key: ThreadKey, changes: Metadata) -> Metadata:
    merged = {**get(connection, key.owner, [key.thread_id]).get(key.thread_id, {}), **changes}
    mine = {"owner": key.owner, "thread_id": key.thread_id}
    connection.execute(_PUT, {**mine, "metadata": metadata_text(merged)})
    return merged


def get(connection: Connection, owner: str, thread_ids: Sequence[str]) -> Mapping[str, Metadata]:
    if not thread_ids:
        return {}
    asked = {"of_owner": owner, "of_threads": list(thread_ids)}
    return {id: json.loads(kept) for id, kept in connection.execute(_SOME, asked)}


def remove(connection: Connection, key: ThreadKey) -> None:
    connection.execute(_REMOVE, {"of_owner": key.owner, "of_thread": key.thread_id})
    connection.execute(delete(run_records).where(*_of(key)))


def put_record(connection: Connection, key: ThreadKey, run_id: str, record: RunRecord) -> None:
    mine = {"owner": key.owner, "thread_id": key.thread_id, "run_id": run_id}
    connection.execute(_PUT_RECORD, {**mine, "record": json.dumps(asdict(record))})


def get_record(connection: Connection, key: ThreadKey, run_id: str) -> RunRecord | None:
    is_its = run_records.c.run_id == run_id
    found = select(run_records.c.record).where(*_of(key), is_its)
    kept = connection.scalar(found)
    return None if kept is None else RunRecord(**json.loads(kept))


def _of(key: ThreadKey) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return run_records.c.owner == key.owner, run_records.c.thread_id == key.thread_id
