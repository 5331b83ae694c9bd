"""The list of threads as tables: what is not a checkpoint.

SQLAlchemy's core, so that another database is another URL. LangGraph's own store cannot page by
last activity, nor keep its times through a rename.

Activity is a counter over all threads. The table of activities remembers a thread's earlier places
for a while, so that a reader who pages through the list sees it as it was at its first page: no
thread is skipped or repeated while threads move.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    delete,
    func,
    insert,
    select,
    update,
)

ThreadRunState = Literal["live", "finished", "stopped", "failed", "interrupted"]

TITLE_CHARS = 60
REMEMBERED_ACTIVITIES = 10_000
FORGET_EVERY = 16
"""Activities between two looks at what can be forgotten of the thread that moves."""
LOCAL_OWNER = "local"
"""The owner of every thread until there are users."""

_CURSOR_NUMBER = re.compile("[0-9]{1,18}")

_metadata = MetaData()
_threads = Table(
    "threads",
    _metadata,
    Column("owner", String, primary_key=True),
    Column("id", String, primary_key=True),
    Column("title", String, nullable=False),
    Column("created_at", String, nullable=False),
    Column("updated_at", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("run_state", String, nullable=False),
)
_activities = Table(
    "thread_activities",
    _metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("owner", String, nullable=False),
    Column("thread_id", String, nullable=False),
    Index("thread_activities_by_thread", "owner", "thread_id", "number"),
    sqlite_autoincrement=True,
)


@dataclass(frozen=True, slots=True)
class ThreadEntry:
    """Times are UTC, ISO 8601. `run_id` and `run_state` are of the last run."""

    id: str
    title: str
    created_at: str
    updated_at: str
    run_id: str
    run_state: ThreadRunState


@dataclass(frozen=True, slots=True)
class Page:
    entries: Sequence[ThreadEntry]
    cursor: str | None
    """Of the next page; None on the last."""


class ThreadTable:
    """The threads of one owner. Each method is one transaction."""

    def __init__(self, engine: Engine, owner: str = LOCAL_OWNER) -> None:
        self._engine = engine
        self._owner = owner
        _metadata.create_all(engine)

    def begin_run(self, thread_id: str, run_id: str, title: str) -> None:
        """Note a live run: the thread moves to the top. A new thread gets the title."""
        now = _now()
        with self._engine.begin() as connection:
            known = connection.execute(
                update(_threads)
                .where(*self._is(thread_id))
                .values(run_id=run_id, run_state="live", updated_at=now)
            )
            if not known.rowcount:
                connection.execute(
                    insert(_threads).values(
                        owner=self._owner,
                        id=thread_id,
                        title=short_title(title),
                        created_at=now,
                        updated_at=now,
                        run_id=run_id,
                        run_state="live",
                    )
                )
            self._move_to_top(connection, thread_id)

    def end_run(self, thread_id: str, run_id: str, state: ThreadRunState) -> None:
        """Note how a run ended. The thread keeps its place: activity is what a user does."""
        with self._engine.begin() as connection:
            connection.execute(
                update(_threads)
                .where(*self._is(thread_id), _threads.c.run_id == run_id)
                .values(run_state=state)
            )

    def live(self) -> Sequence[ThreadEntry]:
        """The threads that have a live run, or had one when the last process died."""
        with self._engine.connect() as connection:
            found = connection.execute(
                select(*_ENTRY).where(
                    _threads.c.owner == self._owner, _threads.c.run_state == "live"
                )
            )
            return [_entry(row) for row in found]

    def get(self, thread_id: str) -> ThreadEntry | None:
        with self._engine.connect() as connection:
            return self._find(connection, thread_id)

    def page(self, limit: int, cursor: str | None = None) -> Page:
        """The threads by last activity, newest first; `cursor` is that of the page before.

        Raises ValueError for a cursor that is none of ours.
        """
        with self._engine.connect() as connection:
            as_of, before = _parse_cursor(cursor) if cursor else self._newest(connection)
            place = (
                select(func.max(_activities.c.number))
                .where(
                    _activities.c.owner == self._owner,
                    _activities.c.thread_id == _threads.c.id,
                    _activities.c.number <= as_of,
                )
                .scalar_subquery()
            )
            found = connection.execute(
                select(*_ENTRY, place.label("place"))
                .where(_threads.c.owner == self._owner, place < before)
                .order_by(place.desc())
                .limit(limit + 1)
            )
            rows = found.all()
        entries = [_entry(row) for row in rows[:limit]]
        more = f"{as_of}.{rows[limit - 1].place}" if len(rows) > limit else None
        return Page(entries, more)

    def rename(self, thread_id: str, title: str) -> ThreadEntry | None:
        """A thread keeps its place and its times when it is renamed. None: there is none."""
        with self._engine.begin() as connection:
            connection.execute(update(_threads).where(*self._is(thread_id)).values(title=title))
            return self._find(connection, thread_id)

    def delete(self, thread_id: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(delete(_threads).where(*self._is(thread_id)))
            connection.execute(delete(_activities).where(*self._was(thread_id)))

    def _find(self, connection: Connection, thread_id: str) -> ThreadEntry | None:
        row = connection.execute(select(*_ENTRY).where(*self._is(thread_id))).first()
        return _entry(row) if row else None

    def _newest(self, connection: Connection) -> tuple[int, int]:
        newest = connection.scalar(select(func.max(_activities.c.number))) or 0
        return newest, newest + 1

    def _move_to_top(self, connection: Connection, thread_id: str) -> None:
        added = connection.execute(
            insert(_activities).values(owner=self._owner, thread_id=thread_id)
        )
        (number,) = added.inserted_primary_key or (0,)
        if number % FORGET_EVERY:
            return
        oldest = (
            select(func.max(_activities.c.number))
            .where(*self._was(thread_id), _activities.c.number <= number - REMEMBERED_ACTIVITIES)
            .scalar_subquery()
        )
        connection.execute(
            delete(_activities).where(*self._was(thread_id), _activities.c.number < oldest)
        )

    def _is(self, thread_id: str) -> tuple[Any, Any]:
        return _threads.c.owner == self._owner, _threads.c.id == thread_id

    def _was(self, thread_id: str) -> tuple[Any, Any]:
        return _activities.c.owner == self._owner, _activities.c.thread_id == thread_id


def short_title(text: str) -> str:
    """The first words of a message, on one line, 60 characters at most."""
    line = " ".join(text.split()) or "New thread"
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"


_ENTRY = [
    _threads.c[name] for name in ("id", "title", "created_at", "updated_at", "run_id", "run_state")
]


def _entry(row: Any) -> ThreadEntry:
    return ThreadEntry(row.id, row.title, row.created_at, row.updated_at, row.run_id, row.run_state)


def _parse_cursor(cursor: str) -> tuple[int, int]:
    as_of, _, before = cursor.partition(".")
    if not all(_CURSOR_NUMBER.fullmatch(number) for number in (as_of, before)):
        raise ValueError(f"{cursor[:50]!r} is no cursor of the thread list")
    return int(as_of), int(before)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
