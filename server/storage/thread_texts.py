"""The texts that are searched, a row a message: functions of one transaction each.

A thread's row in the list names the run whose texts the index has. So a thread that misses some is
known, whatever kept them away: a crash, an older server, a database that has had no index.
"""

from collections.abc import Sequence
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

from server.storage.searching import MAX_TEXT_CHARS, TextChanges, ThreadText, Unsearchable
from server.storage.tables import NUMBER, TEXT, metadata, threads
from server.storage.words import distinct_words, owner_word
from server.turns.header import ThreadKey

TITLE = ""
"""In place of a message's id."""


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
_NOTE = (
    update(threads)
    .where(*_MINE, threads.c.run_id == _HAS, threads.c.run_state != "live")
    .values(indexed_run=_HAS)
)
_ADVANCE = _NOTE.where(threads.c.indexed_run.is_not_distinct_from(bindparam("before")))
_TITLE = select(threads.c.title).where(*_MINE)
_KNOWN = select(texts.c.message_id).where(*_OF_THREAD)
_REMOVE = delete(texts).where(*_OF_THREAD)
_REMOVE_ONE = _REMOVE.where(texts.c.message_id == bindparam("of_message"))
_ADD = insert(texts)


def note(connection: Connection, key: ThreadKey, run_id: str, changes: TextChanges) -> None:
    mine = {"of_owner": key.owner, "of_thread": key.thread_id}
    advanced = {**mine, "indexed_run": run_id, "before": changes.before}
    if changes.is_branch or not connection.execute(_ADVANCE, advanced).rowcount:
        if connection.execute(_NOTE, {**mine, "indexed_run": run_id}).rowcount:
            _put_all(connection, key, changes.all())
        return
    gone = [*changes.removed, *(text.message_id for text in changes.added)]
    if gone:
        connection.execute(_REMOVE_ONE, [{**mine, "of_message": id} for id in gone])
    _add(connection, key, changes.added)
    if changes.before is None:
        put_title(connection, key, connection.scalar(_TITLE, mine) or "")


def put(connection: Connection, thread: Unsearchable, wanted: Sequence[ThreadText]) -> None:
    mine = {"of_owner": thread.key.owner, "of_thread": thread.key.thread_id}
    if connection.execute(_NOTE, {**mine, "indexed_run": thread.run_id}).rowcount:
        _put_all(connection, thread.key, wanted)


def put_title(connection: Connection, key: ThreadKey, title: str) -> None:
    connection.execute(
        _REMOVE_ONE, {"of_owner": key.owner, "of_thread": key.thread_id, "of_message": TITLE}
    )
    _add(connection, key, [ThreadText(TITLE, TITLE, title)])


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


def _put_all(connection: Connection, key: ThreadKey, wanted: Sequence[ThreadText]) -> None:
    """What is there already, by the ids of the messages, stays."""
    mine = {"of_owner": key.owner, "of_thread": key.thread_id}
    known = {*connection.scalars(_KNOWN, mine)} - {TITLE}
    by_id = {text.message_id: text for text in wanted}
    gone = known - by_id.keys()
    if gone:
        connection.execute(_REMOVE_ONE, [{**mine, "of_message": id} for id in gone])
    _add(connection, key, [text for id, text in by_id.items() if id not in known])
    put_title(connection, key, connection.scalar(_TITLE, mine) or "")


def _add(connection: Connection, key: ThreadKey, added: Sequence[ThreadText]) -> None:
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


def _storable(text: str) -> str:
    """Postgres stores no NUL, and no database what is not Unicode."""
    return text[:MAX_TEXT_CHARS].replace("\0", "").encode(errors="replace").decode()
