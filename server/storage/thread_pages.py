"""The list of threads, page by page, newest activity first, pinned ones before all others.

A reader who pages through the list sees it as it was at its first page: the table of activities
remembers a thread's earlier places for a while, so that no thread is skipped or repeated while
threads move.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, not_, or_, select

from turnstream.server.storage.interfaces import Page, ThreadEntry, ThreadRunState
from turnstream.server.storage.sealed_places import Place, seal, unseal
from turnstream.server.storage.search import Search
from turnstream.server.storage.tables import activities, cursor_secret, threads
from turnstream.server.storage.thread_list import LISTED, SHOWN, listed_entry

_PINNED = threads.c.pinned.is_(True)
_NOT_PINNED = or_(threads.c.pinned.is_(None), not_(threads.c.pinned))


@dataclass(frozen=True, slots=True)
class Listed:
    """Which threads: see `ThreadStore.page`."""

    state: ThreadRunState | None = None
    archived: bool | None = None
    search: Search | None = None

    @property
    def has_pinned_first(self) -> bool:
        return self.archived is False and self.state is None and self.search is None

    @property
    def are_few(self) -> bool:
        return self.state not in (None, "finished") or self.archived is True or bool(self.search)

    def conditions(self, connection: Connection, owner: str) -> Sequence[ColumnElement[bool]]:
        conditions: list[ColumnElement[bool]] = [SHOWN]
        if self.state is not None:
            conditions.append(threads.c.run_state == self.state)
        if self.archived is not None:
            is_archived = threads.c.archived.is_(True)
            not_archived = or_(threads.c.archived.is_(None), not_(threads.c.archived))
            conditions.append(is_archived if self.archived else not_archived)
        if self.search is not None:
            conditions += self.search.conditions(connection, owner)
        return conditions


def page(
    connection: Connection, owner: str, limit: int, cursor: str | None, listed: Listed
) -> Page:
    """`cursor` is that of the page before. Raises ValueError for an unknown cursor."""
    place = (
        unseal(cursor, _secret(connection), owner) if cursor else _first(connection, owner, listed)
    )
    conditions = listed.conditions(connection, owner)
    entries: list[ThreadEntry] = []
    behind: Place | None = place
    if place.is_pinned:
        pinned = [*conditions, _PINNED]
        entries, behind = _read(connection, _of_few(owner, place, pinned), place, limit)
        behind = behind or Place(place.as_of, place.as_of + 1)
    if behind and not behind.is_pinned:
        if listed.has_pinned_first:
            conditions = [*conditions, _NOT_PINNED]
        query = (_of_few if listed.are_few else _of_all)(owner, behind, conditions)
        others, behind = _read(connection, query, behind, limit - len(entries))
        entries += others
    more = seal(behind, _secret(connection), owner) if behind else None
    if listed.search is None:
        return Page(entries, more)
    ids = [entry.id for entry in entries]
    return Page(entries, more, listed.search.places(connection, owner, ids))


def _read(
    connection: Connection, query: Select[Any], place: Place, limit: int
) -> tuple[list[ThreadEntry], Place | None]:
    """Return at most `limit` threads, and the place behind them, if there are more."""
    rows = connection.execute(query.limit(limit + 1)).all()
    entries = [listed_entry(row) for row in rows[:limit]]
    if len(rows) <= limit:
        return entries, None
    last = rows[limit - 1].place if limit else place.before
    return entries, Place(place.as_of, last, place.is_pinned)


def _of_all(owner: str, place: Place, conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    """From the newest activity downwards: a page costs its own length and the places that its
    threads have left since, however many threads there are."""
    later = activities.alias()
    moved_on = exists().where(
        later.c.owner == owner,
        later.c.thread_id == activities.c.thread_id,
        later.c.number > activities.c.number,
        later.c.number <= place.as_of,
    )
    return (
        select(*LISTED, activities.c.number.label("place"))
        .select_from(activities)
        .join(threads, and_(threads.c.owner == owner, threads.c.id == activities.c.thread_id))
        .where(
            activities.c.owner == owner,
            activities.c.number < place.before,
            activities.c.number <= place.as_of,
            ~moved_on,
            *conditions,
        )
        .order_by(activities.c.number.desc())
    )


def _of_few(owner: str, place: Place, conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    """From the threads themselves: a page costs as much as those of the conditions are many."""
    number = (
        select(func.max(activities.c.number))
        .where(
            activities.c.owner == owner,
            activities.c.thread_id == threads.c.id,
            activities.c.number <= place.as_of,
        )
        .correlate(threads)
        .scalar_subquery()
    )
    return (
        select(*LISTED, number.label("place"))
        .where(threads.c.owner == owner, number < place.before, *conditions)
        .order_by(number.desc())
    )


def _first(connection: Connection, owner: str, listed: Listed) -> Place:
    numbers = select(func.max(activities.c.number)).where(activities.c.owner == owner)
    newest = connection.scalar(numbers) or 0
    return Place(newest, newest + 1, listed.has_pinned_first)


def _secret(connection: Connection) -> bytes:
    return bytes.fromhex(connection.execute(select(cursor_secret.c.secret)).scalar_one())
