"""Versions of turns, a row each: functions of one transaction each."""

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Boolean, Column, Connection, Index, Table, bindparam, delete, select, text

from turnstream.server.storage.kept_versions import TurnVersion, VersionChanges
from turnstream.server.storage.tables import NUMBER, TEXT, metadata
from turnstream.server.turns.header import ThreadKey

versions = Table(
    "turn_versions",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("thread_id", TEXT, primary_key=True),
    Column("id", TEXT, primary_key=True),
    Column("number", NUMBER, nullable=False),
    Column("parent", TEXT),
    Column("question", TEXT, nullable=False),
    Column("message_id", TEXT, nullable=False),
    Column("is_original", Boolean, nullable=False),
    Column("head", TEXT),
    Index("turn_versions_in_order", "owner", "thread_id", "number"),
)

_FIELDS = (
    versions.c.id,
    versions.c.number,
    versions.c.parent,
    versions.c.question,
    versions.c.message_id,
    versions.c.is_original,
    versions.c.head,
)
_OF_THREAD = (
    versions.c.owner == bindparam("of_owner"),
    versions.c.thread_id == bindparam("of_thread"),
)
_ALL = select(*_FIELDS).where(*_OF_THREAD).order_by(versions.c.number)
_REMOVE_ALL = delete(versions).where(*_OF_THREAD)
_REMOVE = delete(versions).where(*_OF_THREAD, versions.c.id == bindparam("of_version"))
_SET = ", ".join(f"{column.name} = excluded.{column.name}" for column in _FIELDS[1:])
_PUT = text(
    "INSERT INTO turn_versions "
    "(owner, thread_id, id, number, parent, question, message_id, is_original, head) VALUES "
    "(:owner, :thread_id, :id, :number, :parent, :question, :message_id, :is_original, :head) "
    f"ON CONFLICT (owner, thread_id, id) DO UPDATE SET {_SET}"
)
"""A column that only a later version knows keeps its value."""


def get(connection: Connection, key: ThreadKey) -> Sequence[TurnVersion]:
    return [TurnVersion(*row) for row in connection.execute(_ALL, _of(key))]


def change(connection: Connection, key: ThreadKey, changes: VersionChanges) -> None:
    if changes.removed:
        removed = [{**_of(key), "of_version": id} for id in changes.removed]
        connection.execute(_REMOVE, removed)
    if changes.put:
        mine = {"owner": key.owner, "thread_id": key.thread_id}
        connection.execute(_PUT, [{**mine, **asdict(version)} for version in changes.put])


def remove(connection: Connection, key: ThreadKey) -> None:
    connection.execute(_REMOVE_ALL, _of(key))


def _of(key: ThreadKey) -> dict[str, str]:
    return {"of_owner": key.owner, "of_thread": key.thread_id}
