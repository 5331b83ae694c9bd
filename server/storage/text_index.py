"""The index of the texts in a SQLite file: FTS5, kept by triggers.

Words are made by `turnstream.server.storage.words`, in every database the same: FTS5 parts them at
blanks.
"""

import sqlite3

from sqlalchemy import Connection

PAGES_AT_ONCE = 500
"""Of the index, about a kilobyte each: some milliseconds of the write lock."""

_TABLE = (
    "CREATE VIRTUAL TABLE thread_words USING fts5(words, content='thread_texts', "
    "content_rowid='number', tokenize='ascii', detail=none, columnsize=0)"
)
_TRIGGERS = (
    "CREATE TRIGGER thread_texts_added AFTER INSERT ON thread_texts BEGIN "
    "INSERT INTO thread_words (rowid, words) VALUES (new.number, new.words); END",
    "CREATE TRIGGER thread_texts_removed AFTER DELETE ON thread_texts BEGIN "
    "INSERT INTO thread_words (thread_words, rowid, words) "
    "VALUES ('delete', old.number, old.words); END",
)
_NAMES = ("thread_texts_added", "thread_texts_removed")


def open_index(connection: Connection) -> bool:
    """Make the index if it is not there. False: this SQLite has no FTS5.

    Without FTS5 the triggers go, since no text could be removed any more; with it the index is made
    anew where they are missing.
    """
    if not has_fts5(connection):
        for name in _NAMES:
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
        return False
    there = {*connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars()}
    if there.issuperset({"thread_words", *_NAMES}):
        return True
    if "thread_words" not in there:
        connection.exec_driver_sql(_TABLE)
    for name, trigger in zip(_NAMES, _TRIGGERS, strict=True):
        if name not in there:
            connection.exec_driver_sql(trigger)
    connection.exec_driver_sql("INSERT INTO thread_words (thread_words) VALUES ('rebuild')")
    return True


def has_fts5(connection: Connection) -> bool:
    modules = "SELECT 1 FROM pragma_module_list WHERE name = 'fts5'"
    return connection.exec_driver_sql(modules).first() is not None


def forget_removed(connection: Connection, *, begins: bool) -> bool:
    """Take words of texts that were removed out of the index's own tables, so many pages at once.
    FTS5 notes a removal, and drops the words when it merges what has them; `begins` has it merge
    all. True: there is more to do."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    before = driver.total_changes
    pages = -PAGES_AT_ONCE if begins else PAGES_AT_ONCE
    driver.execute("INSERT INTO thread_words (thread_words, rank) VALUES ('merge', ?)", (pages,))
    return driver.total_changes - before >= 2
