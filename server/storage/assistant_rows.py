"""Assistants, a row each version: functions of one transaction each."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Row,
    Table,
    delete,
    func,
    insert,
    select,
    update,
)

from turnstream.server.storage.assistants import (
    MAX_ASSISTANTS,
    MAX_VERSIONS,
    Assistant,
    Content,
    Json,
    TooManyAssistants,
    content_text,
)
from turnstream.server.storage.engine_statements import statements_of
from turnstream.server.storage.tables import NUMBER, TEXT, metadata

assistants = Table(
    "assistants",
    metadata,
    Column("owner", TEXT, primary_key=True),
    Column("id", TEXT, primary_key=True),
    Column("version", NUMBER, primary_key=True, autoincrement=False),
    Column("is_latest", Boolean, nullable=False),
    Column("created_at", TEXT, nullable=False),
    Column("updated_at", TEXT, nullable=False),
    Column("content", TEXT, nullable=False),
)

_ROW = assistants.c


def create(connection: Connection, owner: str, id: str, content: Content) -> Assistant | None:
    text = content_text(asdict(content))
    statements_of(connection).await_turn(connection, owner)
    if get(connection, owner, id):
        return None
    count = select(func.count()).where(_ROW.owner == owner, _ROW.is_latest)
    if connection.execute(count).scalar_one() >= MAX_ASSISTANTS:
        raise TooManyAssistants
    now = _now()
    return _add(connection, owner, id, 1, now, now, text)


def change(connection: Connection, owner: str, id: str, changes: Json) -> Assistant | None:
    known = _hold(connection, owner, id)
    latest = next((each for each, is_latest in known if is_latest), None)
    if latest is None:
        return None
    before = asdict(latest.content)
    merged = {**before["metadata"], **changes.get("metadata", {})}
    text = content_text({**before, **changes, "metadata": merged})
    newest = known[0][0].version
    connection.execute(update(assistants).where(*_of(owner, id)).values(is_latest=False))
    made = _add(connection, owner, id, newest + 1, latest.created_at, _now(), text)
    old = _ROW.version <= newest + 1 - MAX_VERSIONS
    connection.execute(delete(assistants).where(*_of(owner, id), old))
    return made


def choose(connection: Connection, owner: str, id: str, version: int) -> Assistant | None:
    versions = [each for each, _ in _hold(connection, owner, id)]
    chosen = next((each for each in versions if each.version == version), None)
    if chosen is not None:
        is_chosen = _ROW.version == version
        connection.execute(update(assistants).where(*_of(owner, id)).values(is_latest=is_chosen))
    return chosen


def remove(connection: Connection, owner: str, id: str) -> bool:
    return connection.execute(delete(assistants).where(*_of(owner, id))).rowcount > 0


def remove_all(connection: Connection, owner: str) -> None:
    connection.execute(delete(assistants).where(_ROW.owner == owner))


def assign(connection: Connection, old: str, new: str) -> None:
    """Give an owner's assistants to another, but those whose ids the other has."""
    taken = select(_ROW.id).where(_ROW.owner == new)
    mine = (_ROW.owner == old, _ROW.id.not_in(taken))
    connection.execute(update(assistants).where(*mine).values(owner=new))


def get(connection: Connection, owner: str, id: str) -> Assistant | None:
    row = connection.execute(select(assistants).where(*_of(owner, id), _ROW.is_latest)).first()
    return None if row is None else _read(row)


def list_latest(connection: Connection, owner: str) -> Sequence[Assistant]:
    mine = select(assistants).where(_ROW.owner == owner, _ROW.is_latest)
    rows = connection.execute(mine.order_by(_ROW.created_at.desc(), _ROW.id))
    return [_read(row) for row in rows]


def list_versions(connection: Connection, owner: str, id: str) -> Sequence[Assistant]:
    found = select(assistants).where(*_of(owner, id)).order_by(_ROW.version.desc())
    return [_read(row) for row in connection.execute(found)]


def _hold(connection: Connection, owner: str, id: str) -> Sequence[tuple[Assistant, bool]]:
    """Lock the versions, and return them, the newest first, with a mark of the latest."""
    connection.execute(select(_ROW.version).where(*_of(owner, id)).with_for_update()).all()
    # Read again: another transaction may have added a version before this one got the lock.
    found = select(assistants).where(*_of(owner, id)).order_by(_ROW.version.desc())
    return [(_read(row), row.is_latest) for row in connection.execute(found)]


def _add(
    connection: Connection, owner: str, id: str, version: int, made: str, now: str, text: str
) -> Assistant:
    row = {"owner": owner, "id": id, "version": version, "is_latest": True}
    times = {"created_at": made, "updated_at": now}
    connection.execute(insert(assistants).values({**row, **times, "content": text}))
    return Assistant(id, version, made, now, Content(**json.loads(text)))


def _read(row: Row[Any]) -> Assistant:
    content = Content(**json.loads(row.content))
    return Assistant(row.id, row.version, row.created_at, row.updated_at, content)


def _of(owner: str, id: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return _ROW.owner == owner, _ROW.id == id


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
