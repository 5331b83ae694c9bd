"""The texts that are searched, a row a message: functions of one transaction each.

A thread's row in the list names the run whose texts the index has. So a thread that misses some is
known, whatever kept them away: a crash, an older server, a database that has had no index.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import (
    BindParameter,
    Column,
    Connection,
    Index,
    Table,
    bindparam,
    delete,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.types import Text, UserDefinedType

from turnstream.server.storage.searching import (
    MAX_TEXT_CHARS,
    TextChanges,
    ThreadText,
    Unsearchable,
)
from turnstream.server.storage.tables import NUMBER, TEXT, metadata, threads
from turnstream.server.storage.words import distinct_words, owner_word
from turnstream.server.turns.header import ThreadKey

TITLE = ""
"""In place of a message's id."""
REMOVED_AT_ONCE = 1_000
"""Ids in one statement: an engine binds no more than so many values."""


class _Vector(UserDefinedType[str]):
    """Postgres' own. That of SQLAlchemy would import all of its dialect."""

    cache_ok = True

    def get_col_spec(self, **_options: Any) -> str:
        return "TSVECTOR"


texts = Table(
    "thread_texts",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("owner", TEXT, nullable=False),
    Column("thread_id", TEXT, nullable=False),
    Column("message_id", TEXT, nullable=False),
    Column("shown_id", TEXT, nullable=False),
    Column("text", Text, nullable=False),
    Column("words", Text().with_variant(_Vector(), "postgresql"), nullable=False),
    Index("thread_texts_by_thread", "owner", "thread_id", "message_id"),
    sqlite_autoincrement=True,
)
"""`words`: the distinct ones, with blanks between them, and the owner's."""

_MINE = (threads.c.owner == bindparam("of_owner"), threads.c.id == bindparam("of_thread"))
_OF_THREAD = (
    texts.c.owner == bindparam("of_owner"),
    texts.c.thread_id == bindparam("of_thread"),
)
_HAS: BindParameter[str] = bindparam("indexed_run")
_NOTE: Any = (
    update(threads)
    .where(*_MINE, threads.c.run_id == _HAS, threads.c.run_state != "live")
    .values(indexed_run=_HAS)
    .returning(threads.c.title)
)
_ADVANCE = _NOTE.where(threads.c.indexed_run.is_not_distinct_from(bindparam("before")))
_KNOWN = select(texts.c.message_id, texts.c.shown_id, texts.c.text).where(*_OF_THREAD)
_REMOVE = delete(texts).where(*_OF_THREAD)
_REMOVE_SOME = _REMOVE.where(texts.c.message_id.in_(bindparam("messages", expanding=True)))
_ADD = insert(texts).inline()


def note(connection: Connection, key: ThreadKey, run_id: str, changes: TextChanges) -> None:
    mine = {"of_owner": key.owner, "of_thread": key.thread_id, "indexed_run": run_id}
    advanced = None
    if not changes.is_branch:
        advanced = connection.execute(_ADVANCE, {**mine, "before": changes.before}).first()
    if advanced is None:
        if noted := connection.execute(_NOTE, mine).first():
            _put_all(connection, key, noted.title, changes.all())
        return
    added = [*changes.added, *([] if changes.before else [_of_title(advanced.title)])]
    _replace(connection, key, changes.removed, added)


def put(connection: Connection, thread: Unsearchable, wanted: Sequence[ThreadText]) -> None:
    mine = {"of_owner": thread.key.owner, "of_thread": thread.key.thread_id}
    if noted := connection.execute(_NOTE, {**mine, "indexed_run": thread.run_id}).first():
        _put_all(connection, thread.key, noted.title, wanted)


def put_title(connection: Connection, key: ThreadKey, title: str) -> None:
    _replace(connection, key, (), [_of_title(title)])


def remove_thread(connection: Connection, key: ThreadKey) -> None:
    connection.execute(_REMOVE, {"of_owner": key.owner, "of_thread": key.thread_id})


def behind(
    connection: Connection, limit: int, after: Unsearchable | None
) -> Sequence[Unsearchable]:
    """Threads whose index is behind: a walk through all, in the order of their keys."""
    place = tuple_(threads.c.owner, threads.c.id)
    rows = connection.execute(
        select(threads.c.owner, threads.c.id, threads.c.run_id, threads.c.graph)
        .where(
            threads.c.run_state != "live",
            threads.c.indexed_run.is_distinct_from(threads.c.run_id),
            *([place > (after.key.owner, after.key.thread_id)] if after else []),
        )
        .order_by(threads.c.owner, threads.c.id)
        .limit(limit)
    )
    return [Unsearchable(ThreadKey(row.owner, row.id), row.run_id, row.graph) for row in rows]


def _put_all(
    connection: Connection, key: ThreadKey, title: str, wanted: Sequence[ThreadText]
) -> None:
    """What is there already stays: to index a text takes far longer than to read it. An edit may
    have left the id of a message and changed its words."""
    mine = {"of_owner": key.owner, "of_thread": key.thread_id}
    known = {row.message_id: ThreadText(*row) for row in connection.execute(_KNOWN, mine)}
    by_id = {text.message_id: replace(text, text=_storable(text.text)) for text in wanted}
    added = [text for id, text in by_id.items() if text != known.get(id)]
    _replace(connection, key, known.keys() - by_id.keys(), [*added, _of_title(title)])


def _replace(
    connection: Connection, key: ThreadKey, removed: Collection[str], added: Sequence[ThreadText]
) -> None:
    gone = [*removed, *(text.message_id for text in added)]
    of_thread = {"of_owner": key.owner, "of_thread": key.thread_id}
    for start in range(0, len(gone), REMOVED_AT_ONCE):
        some = gone[start : start + REMOVED_AT_ONCE]
        connection.execute(_REMOVE_SOME, {**of_thread, "messages": some})
    mine = owner_word(key.owner)
    rows = [
        {
            "owner": key.owner,
            "thread_id": key.thread_id,
            "message_id": text.message_id,
            "shown_id": text.shown_id,
            "text": (shown := _storable(text.text)),
            "words": " ".join([mine, *distinct_words(shown)]),
        }
        for text in added
    ]
    if rows:
        connection.execute(_ADD, rows)


def _of_title(title: str) -> ThreadText:
    return ThreadText(TITLE, TITLE, title)


def _storable(text: str) -> str:
    """Postgres stores no NUL, and no database what is not Unicode."""
    return text[:MAX_TEXT_CHARS].replace("\0", "").encode(errors="replace").decode()
