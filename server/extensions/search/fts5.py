"""The index of the words in a SQLite file: FTS5, kept by triggers.

Words are made by `turnstream.server.extensions.search.words`, in every database the same: FTS5
parts them at blanks.
"""

import logging

from sqlalchemy import Connection

_TABLE = (
    "CREATE VIRTUAL TABLE search_words USING fts5(words, content='search_texts', "
    "content_rowid='number', tokenize='ascii', detail=none, columnsize=0)"
)
_TRIGGERS = (
    "CREATE TRIGGER search_texts_added AFTER INSERT ON search_texts BEGIN "
    "INSERT INTO search_words (rowid, words) VALUES (new.number, new.words); END",
    "CREATE TRIGGER search_texts_removed AFTER DELETE ON search_texts BEGIN "
    "INSERT INTO search_words (search_words, rowid, words) "
    "VALUES ('delete', old.number, old.words); END",
)
_NAMES = ("search_texts_added", "search_texts_removed")

logger = logging.getLogger(__name__)


def open_index(connection: Connection) -> bool:
    """Make the index of a SQLite file if it is not there. Returns False if texts cannot be
    searched, because this SQLite has no FTS5. Postgres has an index of its own.

    Without FTS5 the triggers go, since no text could be removed any more; with it the index is made
    anew where they are missing.
    """
    if connection.dialect.name != "sqlite":
        return True
    if not has_fts5(connection):
        for name in _NAMES:
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
        logger.warning("this SQLite has no FTS5: threads are searched by their titles alone")
        return False
    there = {*connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars()}
    if there.issuperset({"search_words", *_NAMES}):
        return True
    if "search_words" not in there:
        connection.exec_driver_sql(_TABLE)
    for name, trigger in zip(_NAMES, _TRIGGERS, strict=True):
        if name not in there:
            connection.exec_driver_sql(trigger)
    connection.exec_driver_sql("INSERT INTO search_words (search_words) VALUES ('rebuild')")
    return True


def has_fts5(connection: Connection) -> bool:
    modules = "SELECT 1 FROM pragma_module_list WHERE name = 'fts5'"
    return connection.exec_driver_sql(modules).first() is not None
