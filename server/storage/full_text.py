"""Full-text indexes (FTS5) in a SQLite file: the words of rows that were removed.

FTS5 notes that a row was removed, and drops its words when it merges the parts of the index that
have them.
"""

import sqlite3
from collections.abc import Sequence

from sqlalchemy import Connection

PAGES_AT_ONCE = 500
"""Pages of an index, about a kilobyte each: some milliseconds of the write lock."""


def forget_removed(connection: Connection, *, begins: bool) -> bool:
    """Take words of removed rows out of the indexes, PAGES_AT_ONCE of each. `begins` has FTS5 merge
    all parts of an index. Returns True if there is more to do."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    pages = -PAGES_AT_ONCE if begins else PAGES_AT_ONCE
    is_more = False
    for name in _indexes(connection):
        before = driver.total_changes
        driver.execute(f'INSERT INTO "{name}" ("{name}", rank) VALUES (\'merge\', ?)', (pages,))
        is_more |= driver.total_changes - before >= 2
    return is_more


def drop_indexes(connection: Connection, table: str) -> None:
    """Drop the indexes of the texts of a table."""
    for name in _indexes(connection, f"%content='{table}'%"):
        connection.exec_driver_sql(f'DROP TABLE "{name}"')


def _indexes(connection: Connection, like: str = "%") -> Sequence[str]:
    """The names of the indexes, if this SQLite has FTS5."""
    found = connection.exec_driver_sql(
        "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%' "
        "AND sql LIKE ? AND EXISTS (SELECT 1 FROM pragma_module_list WHERE name = 'fts5')",
        (like,),
    )
    return list(found.scalars())
