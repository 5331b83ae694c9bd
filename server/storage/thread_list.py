"""The list of threads, newest activity first: functions of one transaction each.

LangGraph's own store cannot page by last activity, nor keep its times through a rename.

Activity is a counter over all threads. The table of activities remembers a thread's earlier places
for a while: see `thread_pages`.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Connection,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    text,
    update,
)

from turnstream.server.storage.engine_statements import statements_of
from turnstream.server.storage.interfaces import (
    MAX_PINNED,
    Created,
    LostRun,
    ThreadEntry,
    ThreadRunState,
    TooManyPinned,
)
from turnstream.server.storage.tables import activities, threads
from turnstream.server.storage.titles import FirstWords, is_first_title, numbered, short_title
from turnstream.server.turns.header import ThreadKey

NO_RUN = ""
"""The run id of a thread that has had none."""
REMEMBERED_ACTIVITIES = 10_000
FORGET_EVERY = 16
"""Activities between two looks at what can be forgotten of the thread that moves."""

LISTED = [
    threads.c.id,
    threads.c.title,
    threads.c.created_at,
    threads.c.updated_at,
    threads.c.run_id,
    threads.c.run_state,
    threads.c.graph,
    func.coalesce(threads.c.pinned, literal(value=False)).label("pinned"),
    func.coalesce(threads.c.archived, literal(value=False)).label("archived"),
]
"""Columns of an entry in a page of the list."""
ENTRY = [*LISTED, threads.c.allowed_tools]
SHOWN = threads.c.forget_at.is_(None)
"""A condition: the thread is not deleted, or was brought back."""

# Of every turn: to make a statement takes longer than to execute it.
_MINE = (threads.c.owner == bindparam("of_owner"), threads.c.id == bindparam("of_thread"))
_FIND = select(*ENTRY, threads.c.forget_at).where(*_MINE)
_ADD = insert(threads)
_OF_MINE = update(threads).where(*_MINE)
_BEGIN = _OF_MINE.where(threads.c.run_id != NO_RUN)
_BEGIN_FIRST = text(
    "INSERT INTO threads "
    "(owner, id, title, created_at, updated_at, run_id, run_state, graph, run_base) VALUES "
    "(:owner, :id, :title, :created_at, :updated_at, :run_id, :run_state, :graph, :run_base) "
    "ON CONFLICT (owner, id) DO UPDATE SET title = excluded.title, archived = NULL, "
    "updated_at = excluded.updated_at, run_id = excluded.run_id, run_state = excluded.run_state, "
    "graph = excluded.graph, run_base = excluded.run_base"
)
_RETITLE = _OF_MINE.where(SHOWN, threads.c.title == bindparam("before"))
_END = _OF_MINE.where(threads.c.run_id == bindparam("of_run"))
_MOVE = insert(activities)


def create(connection: Connection, key: ThreadKey, graph: str | None) -> Created | None:
    """Add a thread without a run, made for a graph, to the top; one that is there stays as it is.
    None: the id is that of a hidden one."""
    statements_of(connection).await_turn(connection, key.owner)
    entry, is_hidden = find(connection, key)
    if is_hidden:
        return None
    if entry is not None:
        return Created(entry, is_new=False)
    now = _now()
    entry = ThreadEntry(key.thread_id, "", now, now, NO_RUN, "finished", graph)
    row = {column.name: getattr(entry, column.name) for column in ENTRY}
    connection.execute(_ADD, {"owner": key.owner, **row})
    _move_to_top(connection, key)
    return Created(entry, is_new=True)


def add_copy(
    connection: Connection, key: ThreadKey, source: ThreadEntry, title: str
) -> ThreadEntry:
    """Add a thread that is as another one, at the top of the list."""
    now, kept = _now(), {"pinned": None, "archived": None}
    row = {column.name: getattr(source, column.name) for column in ENTRY} | kept
    row |= {"id": key.thread_id, "title": title, "created_at": now, "updated_at": now}
    connection.execute(_ADD, {"owner": key.owner, **row})
    _move_to_top(connection, key)
    entry, _ = find(connection, key)
    assert entry is not None, "it was just added"
    return entry


def begin_run(
    connection: Connection,
    key: ThreadKey,
    run_id: str,
    title: str,
    graph: str | None,
    base: str | None,
) -> str | None:
    """Note a live run: the thread moves to the top, out of the archive if it was there. With its
    first run it gets the title, made distinct, which is returned. In the owner's turn."""
    now = _now()
    begun = {
        "run_id": run_id,
        "run_state": "live",
        "graph": graph,
        "updated_at": now,
        "run_base": None if base is None else f"{run_id} {base}",
    }
    named = None
    if not connection.execute(_BEGIN, {**of(key), **begun, "archived": None}).rowcount:
        mine = {"owner": key.owner, "id": key.thread_id, "created_at": now}
        named = free_title(connection, key.owner, short_title(title))
        connection.execute(_BEGIN_FIRST, {**mine, **begun, "title": named})
    _move_to_top(connection, key)
    return named


def has_begun(connection: Connection, key: ThreadKey, run_id: str) -> bool:
    return connection.scalar(select(threads.c.run_id).where(*_is(key))) == run_id


def undo_run(
    connection: Connection, key: ThreadKey, run_id: str, before: ThreadEntry | None
) -> bool:
    """Undo `begin_run` for a thread as it was before; None: there was none. False: the run has not
    begun."""
    live = (*_is(key), threads.c.run_id == run_id, threads.c.run_state == "live")
    if before is None:
        undone = connection.execute(delete(threads).where(*live))
        if undone.rowcount:
            connection.execute(delete(activities).where(*_was(key)))
        return bool(undone.rowcount)
    restored = {
        "run_id": before.run_id,
        "run_state": before.run_state,
        "graph": before.graph,
        "updated_at": before.updated_at,
        **({"archived": True} if before.archived else {}),
        **({"title": before.title} if before.run_id == NO_RUN else {}),
    }
    undone = connection.execute(update(threads).where(*live).values(restored))
    if undone.rowcount:
        newest = select(func.max(activities.c.number)).where(*_was(key)).scalar_subquery()
        connection.execute(delete(activities).where(activities.c.number == newest))
    return bool(undone.rowcount)


def end_run(connection: Connection, key: ThreadKey, run_id: str, state: ThreadRunState) -> bool:
    """Note how a run ended. The thread keeps its place: activity is what a user does. False:
    another run has begun since."""
    noted = connection.execute(_END, {**of(key), "of_run": run_id, "run_state": state})
    return bool(noted.rowcount)


def interrupt_run(connection: Connection, key: ThreadKey, run_id: str) -> bool:
    """Note that a run never came to its end. One that has ended stays as it is: False."""
    live = connection.execute(
        update(threads)
        .where(*_is(key), threads.c.run_id == run_id, threads.c.run_state == "live")
        .values(run_state="interrupted")
    )
    return bool(live.rowcount)


def live_runs(connection: Connection) -> Sequence[LostRun]:
    fields = (threads.c.owner, threads.c.id, threads.c.run_id, threads.c.graph, threads.c.run_base)
    return [
        LostRun(ThreadKey(owner, id), run_id, graph, base=_base_of(run_id, base))
        for owner, id, run_id, graph, base in connection.execute(
            select(*fields).where(threads.c.run_state == "live")
        )
    ]


def run_base(connection: Connection, key: ThreadKey, run_id: str) -> str | None:
    """The newest checkpoint when the thread's last run began; None: unknown, or another run."""
    return _base_of(run_id, connection.scalar(select(threads.c.run_base).where(*_is(key))))


def _base_of(run_id: str, run_base: str | None) -> str | None:
    """An older server does not write `run_base`: the column may still name an earlier run."""
    named, space, base = (run_base or "").partition(" ")
    return base if space and named == run_id else None


def get(connection: Connection, key: ThreadKey) -> ThreadEntry | None:
    return find(connection, key)[0]


def find(connection: Connection, key: ThreadKey) -> tuple[ThreadEntry | None, bool]:
    """The thread, and whether there is one that is hidden."""
    row = connection.execute(_FIND, of(key)).first()
    is_hidden = row is not None and row.forget_at is not None
    return (entry_of(row) if row and not is_hidden else None), is_hidden


def hold(connection: Connection, key: ThreadKey) -> bool:
    """Check that there is such a thread, and keep it from being deleted until the end of the
    transaction."""
    is_it = threads.c.owner == key.owner, threads.c.id == key.thread_id
    found = select(threads.c.id).where(*is_it, threads.c.forget_at.is_(None))
    return connection.scalar(found.with_for_update(key_share=True)) is not None


def rename(connection: Connection, key: ThreadKey, title: str) -> ThreadEntry | None:
    """A thread keeps its place and its times when it is renamed. None: there is none."""
    return _change(connection, key, title=title)


def arrange(
    connection: Connection, key: ThreadKey, pinned: bool | None, archived: bool | None
) -> ThreadEntry | None:
    """Pin or archive a thread, or do the contrary; None: that stays. It keeps its place among the
    others. None as the answer: there is none. Raises TooManyPinned."""
    if pinned and _pinned_beside(connection, key) >= MAX_PINNED:
        raise TooManyPinned(f"{MAX_PINNED} threads are pinned")
    changes = {"pinned": pinned, "archived": archived}
    named = {name: value for name, value in changes.items() if value is not None}
    return _change(connection, key, **named)


def _pinned_beside(connection: Connection, key: ThreadKey) -> int:
    others = (threads.c.owner == key.owner, threads.c.id != key.thread_id, SHOWN)
    pinned = select(func.count()).where(*others, threads.c.pinned.is_(True))
    return connection.scalar(pinned) or 0


def give_title(
    connection: Connection, key: ThreadKey, title: str, before: str
) -> ThreadEntry | None:
    """Rename a thread that still has the title `before`; the new one is made distinct. None: it has
    another by now, is hidden or gone."""
    statements_of(connection).await_turn(connection, key.owner)
    distinct = free_title(connection, key.owner, title)
    renamed = connection.execute(_RETITLE, {**of(key), "before": before, "title": distinct})
    return get(connection, key) if renamed.rowcount else None


def follow_words(connection: Connection, key: ThreadKey, words: FirstWords) -> None:
    """Title a thread that nobody has named by the words that it begins with from now on."""
    entry = get(connection, key)
    if not entry or is_first_title(entry.title, words.after):
        return
    if is_first_title(entry.title, words.before):
        give_title(connection, key, short_title(words.after), entry.title)


def allow_tools(
    connection: Connection, key: ThreadKey, names: Sequence[str] | None
) -> ThreadEntry | None:
    """Keep a JSON list of names, or nothing. None: there is no such thread."""
    kept = None if names is None else json.dumps(list(names))
    return _change(connection, key, allowed_tools=kept)


def _change(connection: Connection, key: ThreadKey, **values: Any) -> ThreadEntry | None:
    connection.execute(update(threads).where(*_is(key), SHOWN).values(values))
    return get(connection, key)


def remove(connection: Connection, key: ThreadKey) -> bool:
    """Remove a thread. False: there was none."""
    removed = connection.execute(delete(threads).where(*_is(key)))
    connection.execute(delete(activities).where(*_was(key)))
    return bool(removed.rowcount)


def _move_to_top(connection: Connection, key: ThreadKey) -> None:
    added = connection.execute(_MOVE, {"owner": key.owner, "thread_id": key.thread_id})
    (number,) = added.inserted_primary_key or (0,)
    if number % FORGET_EVERY:
        return
    oldest = (
        select(func.max(activities.c.number))
        .where(*_was(key), activities.c.number <= number - REMEMBERED_ACTIVITIES)
        .scalar_subquery()
    )
    connection.execute(delete(activities).where(*_was(key), activities.c.number < oldest))


def of(key: ThreadKey) -> dict[str, str]:
    """A thread's key, as the statements that are made once take it."""
    return {"of_owner": key.owner, "of_thread": key.thread_id}


def _is(key: ThreadKey) -> tuple[Any, Any]:
    return threads.c.owner == key.owner, threads.c.id == key.thread_id


def _was(key: ThreadKey) -> tuple[Any, Any]:
    return activities.c.owner == key.owner, activities.c.thread_id == key.thread_id


def entry_of(row: Any) -> ThreadEntry:
    entry = listed_entry(row)
    names = row.allowed_tools
    if not names:
        return entry
    # An older version may have stored a name many times.
    return replace(entry, allowed_tools=tuple(dict.fromkeys(json.loads(names))))


def listed_entry(row: Any) -> ThreadEntry:
    return ThreadEntry(*row[: len(LISTED)])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


GROWING = [2 * 8**power for power in range(10)]
LOOKS = 16
"""Numbers that are looked at in one statement."""

_TAKEN = select(threads.c.title).where(
    threads.c.owner == bindparam("owner"),
    threads.c.title.in_(bindparam("titles", expanding=True)),
)


def free_title(connection: Connection, owner: str, title: str) -> str:
    """The title, with a number behind it if another thread of the owner has it.

    Looks at numbers that grow fast, then at some in the gap between a taken one and a free one: so
    many threads of one title cost few statements. Numbers of threads that are gone may stay free.
    """

    def taken_of(titles: Sequence[str]) -> set[str]:
        return {*connection.scalars(_TAKEN, {"owner": owner, "titles": titles})}

    if not taken_of([title]):
        return title
    taken, looked_at = 1, GROWING
    while True:
        found = taken_of([numbered(title, number) for number in looked_at])
        numbers = (number for number in looked_at if numbered(title, number) not in found)
        free = next(numbers, looked_at[-1] * 2)
        taken = max((number for number in looked_at if number < free), default=taken)
        if free - taken == 1:
            return numbered(title, free)
        step = -(-(free - taken) // LOOKS)
        looked_at = [*range(taken + step, free, step), free]
