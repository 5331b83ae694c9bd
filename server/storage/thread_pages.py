"""The list of threads, page by page, newest activity first.

A reader who pages through the list sees it as it was at its first page: the table of activities
remembers a thread's earlier places for a while, so that no thread is skipped or repeated while
threads move.
"""

import re
from typing import Any

from sqlalchemy import Connection, Select, and_, exists, func, select

from server.storage.interfaces import Page, ThreadRunState
from server.storage.tables import activities, threads
from server.storage.thread_list import ENTRY, entry_of

_CURSOR_NUMBER = re.compile("[0-9]{1,18}")


def page(
    connection: Connection,
    owner: str,
    limit: int,
    cursor: str | None = None,
    state: ThreadRunState | None = None,
) -> Page:
    """The threads, or those in a state, by last activity, newest first; `cursor` is that of the
    page before.

    Raises ValueError for an unknown cursor.
    """
    as_of, before = _parse_cursor(cursor) if cursor else _newest(connection, owner)
    select_page = _of_a_rare_state if state not in (None, "finished") else _of_all
    rows = connection.execute(select_page(owner, as_of, before, state).limit(limit + 1)).all()
    entries = [entry_of(row) for row in rows[:limit]]
    more = f"{as_of}.{rows[limit - 1].place}" if len(rows) > limit else None
    return Page(entries, more)


def _of_all(owner: str, as_of: int, before: int, state: str | None) -> Select[Any]:
    """From the newest activity downwards: a page costs its own length and the places that its
    threads have left since, however many threads there are."""
    later = activities.alias()
    moved_on = exists().where(
        later.c.owner == owner,
        later.c.thread_id == activities.c.thread_id,
        later.c.number > activities.c.number,
        later.c.number <= as_of,
    )
    return (
        select(*ENTRY, activities.c.number.label("place"))
        .select_from(activities)
        .join(threads, and_(threads.c.owner == owner, threads.c.id == activities.c.thread_id))
        .where(
            activities.c.owner == owner,
            activities.c.number < before,
            activities.c.number <= as_of,
            ~moved_on,
            *([threads.c.run_state == state] if state else []),
        )
        .order_by(activities.c.number.desc())
    )


def _of_a_rare_state(owner: str, as_of: int, before: int, state: str | None) -> Select[Any]:
    """From the threads of the state: a page costs as much as these are many."""
    place = (
        select(func.max(activities.c.number))
        .where(
            activities.c.owner == owner,
            activities.c.thread_id == threads.c.id,
            activities.c.number <= as_of,
        )
        .correlate(threads)
        .scalar_subquery()
    )
    return (
        select(*ENTRY, place.label("place"))
        .where(threads.c.owner == owner, threads.c.run_state == state, place < before)
        .order_by(place.desc())
    )


def _newest(connection: Connection, owner: str) -> tuple[int, int]:
    numbers = select(func.max(activities.c.number)).where(activities.c.owner == owner)
    newest = connection.scalar(numbers) or 0
    return newest, newest + 1


def _parse_cursor(cursor: str) -> tuple[int, int]:
    as_of, _, before = cursor.partition(".")
    if not all(_CURSOR_NUMBER.fullmatch(number) for number in (as_of, before)):
        raise ValueError(f"{cursor[:50]!r} is not a cursor of the thread list")
    return int(as_of), int(before)
