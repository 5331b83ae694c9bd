"""Threads in which words were found, and where."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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

from turnstream.server.extensions.search.excerpts import Segment, excerpt, marked
from turnstream.server.extensions.search.index import TITLE
from turnstream.server.extensions.search.tables import texts
from turnstream.server.extensions.search.words import Wanted, owner_word
from turnstream.server.extensions.tables import threads

_words = table("search_words", column("rowid"), column("search_words"))


class _Query(UserDefinedType[str]):
    """Postgres' own."""

    cache_ok = True

    def get_col_spec(self, **_options: Any) -> str:
        return "TSQUERY"


@dataclass(frozen=True, slots=True)
class Place:
    """The newest message of a thread that has all the words, or else one of them."""

    message_id: str
    """The id that clients know."""
    text: str
    """All of it: to look for the words in it takes longer than to read it."""


@dataclass(frozen=True, slots=True)
class WordSearch:
    """Implements `Search`. `has_texts` False: there is no index, and titles alone are searched, by
    the letters of the words."""

    wanted: Wanted
    has_texts: bool

    def conditions(self, connection: Connection, owner: str) -> Sequence[ColumnElement[bool]]:
        """Return conditions on a row of the list: its thread has each of the words somewhere."""
        if not self.has_texts:
            return _in_titles(self.wanted)
        terms = _terms(connection, self.wanted)
        with_term = (_texts_with(connection, owner, [term], texts.c.thread_id) for term in terms)
        return [threads.c.id.in_(query) for query in with_term]

    def places(
        self, connection: Connection, owner: str, thread_ids: Sequence[str]
    ) -> Mapping[str, Place]:
        if not self.has_texts:
            return {}
        numbers = _places(connection, owner, self.wanted, thread_ids)
        rows = connection.execute(
            select(texts.c.thread_id, texts.c.shown_id, texts.c.text).where(
                texts.c.number.in_(numbers.values())
            )
        )
        return {row.thread_id: Place(row.shown_id, row.text) for row in rows}

    def shown(self, title: str, place: Place | None) -> dict[str, Any]:
        shown: dict[str, Any] = {"title": _segments(marked(title, self.wanted))}
        if place:
            shown["text"] = _segments(excerpt(place.text, self.wanted))
            shown["message_id"] = place.message_id
        return shown


def _segments(segments: Sequence[Segment]) -> list[dict[str, Any]]:
    return [
        {"text": one.text, "is_match": True} if one.is_match else {"text": one.text}
        for one in segments
    ]


def _in_titles(wanted: Wanted) -> Sequence[ColumnElement[bool]]:
    words = [*wanted.words, *([wanted.beginning] if wanted.beginning else [])]
    return [func.lower(threads.c.title).contains(word, autoescape=True) for word in words]


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
        .where(_words.c.search_words.op("MATCH")(query), _without_index("owner") == owner)
    )


def _without_index(name: str) -> ColumnElement[str]:
    """A column without its index, so that the words are looked up first, and once: SQLite would
    look them up for each text of an owner."""
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
