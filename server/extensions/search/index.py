"""The index: the texts of each thread, and which run's they are."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sqlalchemy import (
    Connection,
    Insert,
    and_,
    bindparam,
    cast,
    delete,
    insert,
    or_,
    select,
    tuple_,
    union_all,
    update,
)
from sqlalchemy.sql.dml import UpdateBase

from turnstream.server.extensions.base import MAX_WRITES, Database, Parameters, WatchedRun, Write
from turnstream.server.extensions.search import fts5
from turnstream.server.extensions.search.tables import followed, texts, with_substeps
from turnstream.server.extensions.search.words import distinct_words, owner_word
from turnstream.server.extensions.tables import IS_THERE, threads
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.message_texts import MessageText, TextChanges
from turnstream.tools.threads import beside_loop

TITLE = ""
"""In place of a message's id."""
MAX_TEXT_CHARS = 32_000
"""Characters of a message that are searched."""
ROWS_AT_ONCE = 50
"""Texts in one statement: FTS5 writes a segment of its index for each."""
IDS_AT_ONCE = 500
"""Ids in one statement: an engine binds no more than so many values."""


Indexing = tuple[UpdateBase, Parameters]
WholeTexts = Callable[[], Awaitable[Sequence[MessageText]]]


@dataclass(frozen=True, slots=True)
class Indexed:
    """The index's knowledge of a thread."""

    title: str
    """The thread's own title, which the index may not have."""
    indexed_title: str | None
    run_id: str | None
    """The run whose texts the index has; empty: the thread had no run yet. None: the index has
    nothing, or what it has is for another owner."""


@dataclass(frozen=True, slots=True)
class Behind:
    """A thread whose texts the index does not have as its last run left them."""

    key: ThreadKey
    run_id: str


_TITLES = texts.alias()
_OF_THREAD = (
    texts.c.owner == bindparam("of_owner"),
    texts.c.thread_id == bindparam("of_thread"),
)
_HAS_FOLLOWED = and_(followed.c.owner == threads.c.owner, followed.c.thread_id == threads.c.id)
_INDEXED = (
    select(
        threads.c.title,
        _TITLES.c.text.label("indexed_title"),
        followed.c.run_id,
        followed.c.indexed_for,
    )
    .select_from(threads)
    .outerjoin(followed, _HAS_FOLLOWED)
    .outerjoin(
        _TITLES,
        and_(
            _TITLES.c.owner == threads.c.owner,
            _TITLES.c.thread_id == threads.c.id,
            _TITLES.c.message_id == TITLE,
        ),
    )
    .where(threads.c.owner == bindparam("of_owner"), threads.c.id == bindparam("of_thread"))
)
_KNOWN = select(texts.c.message_id, texts.c.shown_id, texts.c.text).where(*_OF_THREAD)
_REMOVE = delete(texts).where(
    *_OF_THREAD, texts.c.message_id.in_(bindparam("message_ids", expanding=True))
)
_HAS_TITLE = (
    select(threads.c.id)
    .where(
        threads.c.owner == bindparam("of_owner"),
        threads.c.id == bindparam("of_thread"),
        threads.c.title == bindparam("title"),
    )
    .exists()
)
_IS_FOLLOWED = (
    followed.c.owner == bindparam("of_owner"),
    followed.c.thread_id == bindparam("of_thread"),
)
_FOLLOWED = select(followed.c.run_id).where(*_IS_FOLLOWED)
_IS_FIRST = _FOLLOWED.where(followed.c.run_id == bindparam("of_run")).exists()
_REMOVE_TITLE = delete(texts).where(*_OF_THREAD, texts.c.message_id == TITLE, _HAS_TITLE)
_NOTED = {
    "owner": bindparam("of_owner", type_=followed.c.owner.type),
    "thread_id": bindparam("of_thread", type_=followed.c.thread_id.type),
    "run_id": bindparam("of_run", type_=followed.c.run_id.type),
    "indexed_for": bindparam("of_owner", type_=followed.c.owner.type),
}
_NOTE_RUN = insert(followed).from_select(
    [*_NOTED], select(*_NOTED.values()).where(~_FOLLOWED.exists())
)
_FORGET_RUN = delete(followed).where(*_IS_FOLLOWED)
_ADVANCE = update(followed).where(*_IS_FOLLOWED).values(run_id=bindparam("of_run"))


_IS_MARKED = (
    with_substeps.c.owner == bindparam("of_owner"),
    with_substeps.c.thread_id == bindparam("of_thread"),
)
_MARKED = {
    "owner": bindparam("of_owner", type_=with_substeps.c.owner.type),
    "thread_id": bindparam("of_thread", type_=with_substeps.c.thread_id.type),
}
_MARK = insert(with_substeps).from_select(
    [*_MARKED],
    select(*_MARKED.values()).where(~select(with_substeps.c.owner).where(*_IS_MARKED).exists()),
)


class SearchIndex:
    """`has_texts` False: this SQLite has no FTS5, and titles alone are searched."""

    def __init__(self, database: Database, *, has_texts: bool) -> None:
        self._database = database
        self.has_texts = has_texts

    async def follow(self, run: WatchedRun, whole: WholeTexts | None = None) -> Sequence[Write]:
        """Return the writes by which the index follows a run that is over. `whole` returns all
        texts of its thread with what subagents have said, which the run's own changes lack; None:
        that is not indexed. Without writes the thread is indexed later. Raises
        StorageUnavailable."""
        if not self.has_texts:
            return ()
        changes = await beside_loop(len(run.messages), run.text_changes)
        if changes is None:
            return ()
        key, run_id = run.spec.key, run.spec.run_id
        lacks = whole is not None and (run.has_substeps or bool(changes.removed))
        if run.new_title is not None and not changes.is_branch:
            added = await whole() if whole and lacks else changes.added
            writes = self.beginning(key, run_id, run.new_title, added)
        else:
            changes = replace(changes, is_branch=changes.is_branch or lacks)
            writes = await self.following(key, run_id, run.spec.follows, changes, whole)
        if not (writes and whole and lacks):
            return writes
        return [(_MARK, _of(key)), *writes] if len(writes) < MAX_WRITES else ()

    def beginning(
        self, key: ThreadKey, run_id: str, title: str, added: Sequence[MessageText]
    ) -> Sequence[Write]:
        """Return the writes by which the index has a thread that the run began. If it has something
        of an earlier thread with this id, they have no effect: the thread is indexed later."""
        writes = [
            (_NOTE_RUN, {**_of(key), "of_run": run_id}),
            *_adding(key, added, title=title, run_id=run_id),
        ]
        return writes if len(writes) <= MAX_WRITES else ()

    async def following(
        self,
        key: ThreadKey,
        run_id: str,
        before: str | None,
        changes: TextChanges,
        whole: WholeTexts | None = None,
    ) -> Sequence[Write]:
        """Return the writes by which the index has the texts of a run. `before` is the run that the
        thread had before it; None: it had none. `whole`: as for `follow`."""
        indexed = await self._database.read(_indexed, key)
        if indexed is None:
            return ()
        is_next = (indexed.run_id or None) == before
        if is_next and not changes.is_branch:
            added, removed = [*changes.added], changes.removed
        else:
            count = len(changes.added)
            found = await (whole() if whole else beside_loop(count, changes.all))
            known = await self._database.read(_known, key, indexed)
            added, removed = _difference(found, known)
        writes = [*_replacing(key, removed, added), *_noting(key, run_id, indexed)]
        if not _has_title(indexed):
            writes += _replacing_title(key, indexed.title)
        return writes if len(writes) <= MAX_WRITES else ()

    def titled(self, key: ThreadKey, title: str) -> Sequence[Write]:
        """Return the writes by which the index has the new title of a thread."""
        return [*_replacing_title(key, title)] if self.has_texts else ()

    async def put(
        self, thread: Behind, whole: Sequence[MessageText], *, with_substeps: bool = False
    ) -> None:
        """Index all texts of a thread, unless a run has begun since. Raises StorageUnavailable."""
        await self._database.write(_put, thread, whole, with_substeps)

    async def forget_substeps(self) -> None:
        """Forget the texts of threads among which may be what subagents said: the threads are
        indexed later without. Raises StorageUnavailable."""
        await self._database.write(_forget_substeps)

    async def behind(self, limit: int, after: Behind | None = None) -> Sequence[Behind]:
        """Return threads whose index is behind, in the order of their keys; `after` is the last one
        of those before. Raises StorageUnavailable."""
        return await self._database.read(_behind, limit, after) if self.has_texts else ()


async def open_index(database: Database) -> SearchIndex:
    """Open the index, which is made if it is not there. Raises StorageUnavailable."""
    return SearchIndex(database, has_texts=await database.write(fts5.open_index))


def _indexed(connection: Connection, key: ThreadKey) -> Indexed | None:
    """None: there is no such thread."""
    row = connection.execute(_INDEXED, _of(key)).first()
    if row is None:
        return None
    return Indexed(row.title, row.indexed_title, row.run_id if _is_for(key, row) else None)


def _is_for(key: ThreadKey, row: Any) -> bool:
    return bool(row.indexed_for == key.owner)


def _known(
    connection: Connection, key: ThreadKey, indexed: Indexed
) -> Mapping[str, MessageText | None]:
    """The texts that the index has, by the ids of their messages. None in place of one that is for
    another owner."""
    rows = connection.execute(_KNOWN.where(texts.c.message_id != TITLE), _of(key))
    is_usable = indexed.run_id is not None
    return {row.message_id: MessageText(*row) if is_usable else None for row in rows}


def _difference(
    whole: Sequence[MessageText], known: Mapping[str, MessageText | None]
) -> tuple[list[MessageText], Collection[str]]:
    """Return the texts that are to be added, and the ids of those that are to be removed. A text
    that is there already stays: to index a text takes far longer than to read it."""
    by_id = {text.message_id: replace(text, text=_storable(text.text)) for text in whole}
    added = [text for id, text in by_id.items() if text != known.get(id)]
    return added, known.keys() - by_id.keys()


def _replacing(
    key: ThreadKey, removed: Collection[str], added: Sequence[MessageText]
) -> Iterator[Indexing]:
    gone = [*removed, *(text.message_id for text in added)]
    for start in range(0, len(gone), IDS_AT_ONCE):
        yield _REMOVE, {**_of(key), "message_ids": gone[start : start + IDS_AT_ONCE]}
    yield from _adding(key, added)


def _adding(
    key: ThreadKey,
    added: Sequence[MessageText],
    *,
    title: str | None = None,
    run_id: str | None = None,
) -> Iterator[Indexing]:
    """Add texts, and a title if the thread has it when the writes are performed. With a run, add
    them if that is the one that the index has followed then."""
    mine = owner_word(key.owner)
    whole = [*added, *([] if title is None else [MessageText(TITLE, TITLE, title)])]
    for start in range(0, len(whole), ROWS_AT_ONCE):
        rows = whole[start : start + ROWS_AT_ONCE]
        parameters = _of(key)
        for number, row in enumerate(rows):
            shown = _storable(row.text)
            parameters |= {
                f"message_id_{number}": row.message_id,
                f"shown_id_{number}": row.shown_id,
                f"text_{number}": shown,
                f"words_{number}": " ".join([mine, *distinct_words(shown)]),
            }
        has_title = title is not None and start + len(rows) == len(whole)
        if title is not None and has_title:
            parameters["title"] = title
        if run_id is not None:
            parameters["of_run"] = run_id
        yield _addition(len(rows), has_title=has_title, of_run=run_id is not None), parameters


@cache
def _addition(rows: int, *, has_title: bool, of_run: bool) -> Insert:
    """Return the statement that adds a number of rows, the last of which may be a title."""
    added = []
    for number in range(rows):
        is_title = has_title and number == rows - 1
        values = (
            bindparam("of_owner", type_=texts.c.owner.type),
            bindparam("of_thread", type_=texts.c.thread_id.type),
            bindparam(f"message_id_{number}", type_=texts.c.message_id.type),
            bindparam(f"shown_id_{number}", type_=texts.c.shown_id.type),
            bindparam(f"text_{number}", type_=texts.c.text.type),
            cast(bindparam(f"words_{number}"), texts.c.words.type),
        )
        conditions = [*([_IS_FIRST] if of_run else []), *([_HAS_TITLE] if is_title else [])]
        added.append(select(*values).where(*conditions))
    columns = ["owner", "thread_id", "message_id", "shown_id", "text", "words"]
    return insert(texts).from_select(columns, union_all(*added))


def _replacing_title(key: ThreadKey, title: str) -> Iterator[Indexing]:
    """Index a title if the thread still has it when the writes are performed: somebody may have
    renamed it meanwhile."""
    yield _REMOVE_TITLE, {**_of(key), "title": title}
    yield from _adding(key, (), title=title)


def _noting(key: ThreadKey, run_id: str, indexed: Indexed) -> Iterator[Indexing]:
    of_run = {**_of(key), "of_run": run_id}
    if indexed.run_id is not None:
        yield _ADVANCE, of_run
    else:
        yield _FORGET_RUN, _of(key)
        yield _NOTE_RUN, of_run


def _forget_substeps(connection: Connection) -> None:
    marked = select(with_substeps.c.owner, with_substeps.c.thread_id)
    for table in (texts, followed):
        is_marked = tuple_(table.c.owner, table.c.thread_id).in_(marked)
        others = [table.c.message_id != TITLE] if table is texts else []
        connection.execute(delete(table).where(is_marked, *others))
    connection.execute(delete(with_substeps))


def _put(
    connection: Connection, thread: Behind, whole: Sequence[MessageText], has_substeps: bool
) -> None:
    key = thread.key
    is_there = select(threads.c.id).where(
        threads.c.owner == key.owner,
        threads.c.id == key.thread_id,
        threads.c.run_id == thread.run_id,
        threads.c.run_state != "live",
    )
    # A run that begins on the thread waits until this transaction is over.
    if connection.scalar(is_there.with_for_update()) is None:
        return
    indexed = _indexed(connection, key)
    assert indexed is not None
    added, removed = _difference(whole, _known(connection, key, indexed))
    writes = [*_replacing(key, removed, added), *_noting(key, thread.run_id, indexed)]
    if not _has_title(indexed):
        writes += _replacing_title(key, indexed.title)
    if has_substeps:
        writes.append((_MARK, _of(key)))
    for statement, parameters in writes:
        connection.execute(statement, parameters)


def _behind(connection: Connection, limit: int, after: Behind | None) -> Sequence[Behind]:
    place = tuple_(threads.c.owner, threads.c.id)
    is_behind = or_(
        followed.c.run_id.is_distinct_from(threads.c.run_id),
        followed.c.indexed_for.is_distinct_from(threads.c.owner),
    )
    rows = connection.execute(
        select(threads.c.owner, threads.c.id, threads.c.run_id)
        .select_from(threads)
        .outerjoin(followed, _HAS_FOLLOWED)
        .where(
            threads.c.run_state != "live",
            IS_THERE,
            is_behind,
            *([place > (after.key.owner, after.key.thread_id)] if after else []),
        )
        .order_by(threads.c.owner, threads.c.id)
        .limit(limit)
    )
    return [Behind(ThreadKey(row.owner, row.id), row.run_id) for row in rows]


def _of(key: ThreadKey) -> dict[str, str]:
    return {"of_owner": key.owner, "of_thread": key.thread_id}


def _has_title(indexed: Indexed) -> bool:
    return indexed.run_id is not None and indexed.title == indexed.indexed_title


def _storable(text: str) -> str:
    """Postgres stores no NUL, and no database what is not Unicode."""
    return text[:MAX_TEXT_CHARS].replace("\0", "").encode(errors="replace").decode()
