"""The metadata of threads, a row each: functions of one transaction each."""

import json
from collections.abc import Mapping, Sequence

from sqlalchemy import Column, Connection, Table, bindparam, delete, select, text

from turnstream.server.storage.tables import TEXT, metadata
from turnstream.server.storage.thread_metadata import Metadata, metadata_text
from turnstream.server.turns.header import ThreadKey

thread_metadata = Table(
    "thread_metadata",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("thread_id", TEXT, primary_key=True),
    Column("metadata", TEXT, nullable=False),
)

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
