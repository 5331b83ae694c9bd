"""The titles that threads get by themselves: no two threads of an owner get the same."""

import re
from typing import Any

from sqlalchemy import Connection, bindparam, select

from server.storage.tables import threads

TITLE_CHARS = 60

_TAKEN: Any = (
    select(threads.c.id)
    .where(threads.c.owner == bindparam("of_owner"), threads.c.title == bindparam("of_title"))
    .limit(1)
)


def short_title(text: str) -> str:
    """The first words of a message, on one line, 60 characters at most."""
    return _cut(" ".join(text.split()) or "New thread", TITLE_CHARS)


def is_first_title(title: str, text: str) -> bool:
    """Whether a thread that begins with this message has got the title by itself."""
    number = re.search(r" \(([1-9][0-9]{0,8})\)$", title)
    first = short_title(text)
    return title == first or bool(number and title == numbered(first, int(number[1])))


def numbered(title: str, number: int) -> str:
    suffix = f" ({number})"
    return _cut(title, TITLE_CHARS - len(suffix)) + suffix


def free_title(connection: Connection, owner: str, title: str) -> str:
    """The title, with a number behind it if another thread of the owner has it.

    Doubles the number until it is free, then halves the gap: so many threads of one title cost few
    looks. Numbers of threads that are gone may stay free.
    """

    def is_taken(one: str) -> bool:
        return connection.execute(_TAKEN, {"of_owner": owner, "of_title": one}).first() is not None

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


def _cut(line: str, most: int) -> str:
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
