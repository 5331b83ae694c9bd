"""One statement for all rows that LangGraph's Postgres saver writes, with the fence.

LangGraph's own code makes the rows and the statements, for its own tables; here they are collected,
and those of a transaction put together. A statement of its own for each row, as LangGraph (read in
1.2.22) executes them, made half of the statements of a turn.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.base import BasePostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from turnstream.server.extensions.workers.postgres.held_claims import FAILING_FENCE, HeldClaim

Statement = tuple[str, Sequence[Any]]
"""With the values of its parameters."""
MOST_VALUES = 30_000
"""Parameters of one statement. Postgres takes 65,535."""

_INSERT = re.compile(
    r"(INSERT INTO (\w+) \(([\w, ]+)\)) VALUES (\((?:%s, )*%s\)) (ON CONFLICT \(([\w, ]+)\)[^;]*)"
)


class CollectingSaver(PostgresSaver):
    """LangGraph's own saver, for `put` and `put_writes`: it executes nothing."""

    def __init__(self, serde: SerializerProtocol) -> None:
        """To make one takes an eighth of the time of a write: `anew` copies it."""
        BasePostgresSaver.__init__(self, serde=serde)
        self.collected = _Collected()

    def anew(self) -> Self:
        one = copy(self)
        one.collected = _Collected()
        return one

    @contextmanager
    def _cursor(self, *, pipeline: bool = False) -> Iterator[Any]:  # noqa: ARG002
        yield self.collected


class _Collected(list[Statement]):
    """Stands for a cursor."""

    def execute(self, query: str, values: Sequence[Any]) -> None:
        self.append((query, values))

    def executemany(self, query: str, rows: Sequence[Sequence[Any]]) -> None:
        self.extend((query, values) for values in rows)


Put = Callable[[PostgresSaver], Any]


def putting(*arguments: Any) -> Callable[[PostgresSaver], RunnableConfig]:
    """`put`, to be done later."""
    return lambda saver: saver.put(*arguments)


def putting_writes(*arguments: Any) -> Callable[[PostgresSaver], None]:
    return lambda saver: saver.put_writes(*arguments)


def send(connection: psycopg.Connection[Any], claim: HeldClaim, collected: list[Statement]) -> None:
    """Execute what was collected in a transaction under a claim. The fence fails in the same
    statement, or in one that is sent ahead of the others."""
    together = put_together(collected)
    if together is None:
        together = FAILING_FENCE, ()
        behind = collected
    else:
        behind = []
    query, values = together
    connection.execute(query.encode(), (*values, *claim.values))
    for query, values in behind:
        connection.execute(query.encode(), values)


def put_together(collected: Sequence[Statement]) -> Statement | None:
    """Return one statement that inserts the rows of all, and ends with the fence.

    None: their order counts, since one changes a row of another, or they are no such statements.
    """
    rows: dict[str, list[Sequence[Any]]] = {}
    taken = set()
    for query, row in collected:
        insert = _insert(query)
        if insert is None:
            return None
        taken.add((insert.table, *(row[place] for place in insert.key)))
        rows.setdefault(query, []).append(row)
    values = [value for of_query in rows.values() for row in of_query for value in row]
    if len(taken) < len(collected) or len(values) > MOST_VALUES:
        return None
    return _text(tuple((query, len(of_query)) for query, of_query in rows.items())), values


@dataclass(frozen=True, slots=True)
class _Insert:
    """The parts of an INSERT of one row."""

    table: str
    head: str
    row: str
    on_conflict: str
    key: Sequence[int]
    """The places of the values by which rows are the same."""

    def of_rows(self, count: int) -> str:
        return f"{self.head} VALUES {', '.join([self.row] * count)} {self.on_conflict}"


@lru_cache(maxsize=16)
def _insert(query: str) -> _Insert | None:
    found = _INSERT.fullmatch(" ".join(query.split()).rstrip("; "))
    if found is None:
        return None
    head, table, columns, row, on_conflict, key = found.groups()
    named = columns.split(", ")
    return _Insert(table, head, row, on_conflict, [named.index(name) for name in key.split(", ")])


@lru_cache(maxsize=128)
def _text(counts: Sequence[tuple[str, int]]) -> str:
    """The statement for so many rows of each query."""
    inserts = [insert.of_rows(count) for query, count in counts if (insert := _insert(query))]
    named = ", ".join(f"written_{place} AS ({text})" for place, text in enumerate(inserts))
    return f"WITH {named} {FAILING_FENCE}" if named else FAILING_FENCE
