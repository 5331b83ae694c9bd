"""Titles that no other thread of an owner has."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, select

from turnstream.server.storage.tables import threads
from turnstream.server.storage.titles import numbered

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
