"""Threads in which words were found, and where: conditions and queries of one transaction."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    cast,
    column,
    func,
    literal,
    select,
    table,
)
from sqlalchemy.types import UserDefinedType

from turnstream.server.storage.searching import Found
from turnstream.server.storage.tables import threads
from turnstream.server.storage.thread_texts import TITLE, texts
from turnstream.server.storage.words import Wanted, owner_word

_words = table("thread_words", column("rowid"), column("thread_words"))


class _Query(UserDefinedType[str]):
    """Postgres' own."""

    cache_ok = True

    def get_col_spec(self, **_options: Any) -> str:
        return "TSQUERY"


def has_words(connection: Connection, owner: str, wanted: Wanted) -> Sequence[ColumnElement[bool]]:
    """Conditions on a row of the list: its thread has each of the words somewhere."""
    terms = _terms(connection, wanted)
    with_term = (_texts_with(connection, owner, [term], texts.c.thread_id) for term in terms)
    return [threads.c.id.in_(query) for query in with_term]


def in_titles(wanted: Wanted) -> Sequence[ColumnElement[bool]]:
    """The same where there is no index: titles alone, by the letters of the words."""
    words = [*wanted.words, *([wanted.beginning] if wanted.beginning else [])]
    return [func.lower(threads.c.title).contains(word, autoescape=True) for word in words]


def found_in(
    connection: Connection, owner: str, wanted: Wanted, thread_ids: Sequence[str]
) -> Mapping[str, Found]:
    """What the words were found in, by the ids of the threads; without those of which only the
    title has them."""
    places = _places(connection, owner, wanted, thread_ids)
    rows = connection.execute(
        select(texts.c.thread_id, texts.c.shown_id, texts.c.text).where(
            texts.c.number.in_(places.values())
        )
    )
    return {row.thread_id: Found(row.shown_id, row.text) for row in rows}


def _places(
    connection: Connection, owner: str, wanted: Wanted, thread_ids: Sequence[str]
) -> Mapping[str, int]:
    """The newest text of each thread that has all words, or else one of them."""
    terms = _terms(connection, wanted)
    newest: dict[str, int] = {}
    columns = texts.c.thread_id, func.max(texts.c.number).label("number")
    for has_all in (True, False):
        missing = [id for id in thread_ids if id not in newest]
        if missing:
            with_words = _texts_with(connection, owner, terms, *columns, has_all=has_all)
            those = (_without_index("thread_id").in_(missing), texts.c.message_id != TITLE)
            rows = connection.execute(with_words.where(*those).group_by(texts.c.thread_id))
            newest |= {row.thread_id: row.number for row in rows}
    return newest


def _texts_with(
    connection: Connection,
    owner: str,
    terms: Iterable[str],
    *columns: Any,
    has_all: bool = True,
) -> Any:
    """The texts of an owner that have all of the terms, or one of them."""
    if _is_postgres(connection):
        looked_for = f" {'&' if has_all else '|'} ".join(terms)
        vector = cast(literal(f"'{owner_word(owner)}' & ({looked_for})"), _Query)
        return select(*columns).where(texts.c.owner == owner, texts.c.words.op("@@")(vector))
    looked_for = f" {'AND' if has_all else 'OR'} ".join(terms)
    query = f'"{owner_word(owner)}" AND ({looked_for})'
    return (
        select(*columns)
        .join_from(_words, texts, texts.c.number == _words.c.rowid)
        .where(_words.c.thread_words.op("MATCH")(query), _without_index("owner") == owner)
    )


def _without_index(name: str) -> ColumnElement[str]:
    """So that the words are looked up first, and once: SQLite would look them up for each text of
    an owner."""
    return texts.c[name].concat("")


def _terms(connection: Connection, wanted: Wanted) -> list[str]:
    """In the database's own syntax. No word has a character that means something in it."""
    quote, begins = ("'", ":*") if _is_postgres(connection) else ('"', " *")
    terms = [f"{quote}{word}{quote}" for word in wanted.words]
    if wanted.beginning is not None:
        terms.append(f"{quote}{wanted.beginning}{quote}{begins}")
    return terms


def _is_postgres(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"
