"""The messages that graphs have removed from the front of threads, a row each: functions of one
transaction each."""

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Column, Connection, LargeBinary, Table, bindparam, delete, select, text

from turnstream.server.storage.removed_messages import RemovedMessage
from turnstream.server.storage.tables import TEXT, metadata
from turnstream.server.turns.header import ThreadKey

removed_messages = Table(
    "removed_messages",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("thread_id", TEXT, primary_key=True),
    Column("next_id", TEXT, primary_key=True),
    Column("kind", TEXT, nullable=False),
    Column("message", LargeBinary, nullable=False),
)

_OF_THREAD = (
    removed_messages.c.owner == bindparam("of_owner"),
    removed_messages.c.thread_id == bindparam("of_thread"),
)
_ALL = select(
    removed_messages.c.next_id, removed_messages.c.kind, removed_messages.c.message
).where(*_OF_THREAD)
_REMOVE_ALL = delete(removed_messages).where(*_OF_THREAD)
_PUT = text(
    "INSERT INTO removed_messages (owner, thread_id, next_id, kind, message) "
    "VALUES (:owner, :thread_id, :next_id, :kind, :message) "
    "ON CONFLICT (owner, thread_id, next_id) "
    "DO UPDATE SET kind = excluded.kind, message = excluded.message"
)


def put(connection: Connection, key: ThreadKey, removed: Sequence[RemovedMessage]) -> None:
    mine = {"owner": key.owner, "thread_id": key.thread_id}
    connection.execute(_PUT, [{**mine, **asdict(row)} for row in removed])


def get(connection: Connection, key: ThreadKey) -> Sequence[RemovedMessage]:
    return [RemovedMessage(*row) for row in connection.execute(_ALL, _of(key))]


def remove(connection: Connection, key: ThreadKey) -> None:
    connection.execute(_REMOVE_ALL, _of(key))


def _of(key: ThreadKey) -> dict[str, str]:
    return {"of_owner": key.owner, "of_thread": key.thread_id}
