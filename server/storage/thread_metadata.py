"""What clients keep with their threads, a row a thread: functions of one transaction each."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import Column, Connection, Table, bindparam, delete, select, text

from turnstream.server.storage.tables import TEXT, metadata
from turnstream.server.turns.header import ThreadKey

MAX_METADATA_CHARS = 16_000
"""Of the JSON that one thread has."""

Metadata = Mapping[str, Any]
"""Values of JSON, by name."""

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


class MetadataTooLarge(Exception):
    """A thread would have more than MAX_METADATA_CHARS."""


class ThreadMetadata(Protocol):
    """The part of the store that keeps metadata of threads. Raises StorageUnavailable."""

    async def merge_metadata(self, key: ThreadKey, changes: Metadata) -> Metadata | None:
        """Set values by name, the others stay. Return all of them; None: there is no such thread.
        Raises MetadataTooLarge."""

    async def metadata(self, owner: str, thread_ids: Sequence[str]) -> Mapping[str, Metadata]:
        """Return what threads have, by id; those that have nothing are left out."""


def metadata_text(kept: Metadata) -> str:
    """Write metadata as JSON. Raises MetadataTooLarge."""
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    if len(text) > MAX_METADATA_CHARS:
        raise MetadataTooLarge
    return text


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
