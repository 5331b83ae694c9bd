"""Titles that no other thread of an owner has."""

from typing import Any

from sqlalchemy import Connection, bindparam, select

from server.storage.tables import threads
from server.storage.titles import numbered

_TAKEN: Any = (
    select(threads.c.id)
    .where(threads.c.owner == bindparam("owner"), threads.c.title == bindparam("title"))
    .limit(1)
)


def free_title(connection: Connection, owner: str, title: str) -> str:
    """The title, with a number behind it if another thread of the owner has it.

    Doubles the number until it is free, then halves the gap: so many threads of one title cost few
    looks. Numbers of threads that are gone may stay free.
    """

    def is_taken(one: str) -> bool:
        return connection.execute(_TAKEN, {"owner": owner, "title": one}).first() is not None

    if not is_taken(title):
        return title
    taken, free = 1, 2
    while is_taken(numbered(title, free)):
        taken, free = free, free * 2
    while free - taken > 1:
        middle = (taken + free) // 2
        if is_taken(numbered(title, middle)):
            taken = middle
        else:
            free = middle
    return numbered(title, free)
