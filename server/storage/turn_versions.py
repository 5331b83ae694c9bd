"""Versions of turns, a row each: functions of one transaction each."""

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Boolean, Column, Connection, Index, Table, bindparam, delete, insert, select

from server.storage.kept_versions import TurnVersion, VersionChanges
from server.storage.tables import NUMBER, TEXT, metadata
from server.turns.header import ThreadKey

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
_PUT = insert(versions)


def get(connection: Connection, key: ThreadKey) -> Sequence[TurnVersion]:
    return [TurnVersion(*row) for row in connection.execute(_ALL, _of(key))]


def change(connection: Connection, key: ThreadKey, changes: VersionChanges) -> None:
    gone = [*changes.removed, *(version.id for version in changes.put)]
    if gone:
        connection.execute(_REMOVE, [{**_of(key), "of_version": id} for id in gone])
    if changes.put:
        mine = {"owner": key.owner, "thread_id": key.thread_id}
        connection.execute(_PUT, [{**mine, **asdict(version)} for version in changes.put])


def remove(connection: Connection, key: ThreadKey) -> None:
    connection.execute(_REMOVE_ALL, _of(key))


def _of(key: ThreadKey) -> dict[str, str]:
    return {"of_owner": key.owner, "of_thread": key.thread_id}
