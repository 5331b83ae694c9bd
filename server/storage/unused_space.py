"""Unused pages of the database file, given back to the disk while the server runs.

SQLite keeps the pages of what was deleted for what comes. In a file with `auto_vacuum =
INCREMENTAL`, which new files have, a transaction can cut some of them off.
"""

import sqlite3

from sqlalchemy import Connection

PAGES_AT_ONCE = 500
"""2 MB: some milliseconds of the write lock."""
KEPT_SHARE = 10
"""One page in so many may be unused: new threads take them."""

INCREMENTAL = 2
"""The value of `PRAGMA auto_vacuum`."""


def enable(connection: sqlite3.Connection) -> None:
    """Enable it for a file that is still empty; in another file this changes nothing."""
    connection.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}")


def give_back(connection: Connection) -> bool:
    """Cut some unused pages off. True: there are more."""
    if _pragma(connection, "auto_vacuum") != INCREMENTAL:
        return False
    spare = _spare(connection)
    if spare <= 0:
        return False
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    # Not `execute`: that makes one step of the statement, which is one page.
    driver.executescript(f"PRAGMA incremental_vacuum({min(spare, PAGES_AT_ONCE)})")
    return spare > PAGES_AT_ONCE


def _spare(connection: Connection) -> int:
    """Return the number of unused pages that are too many."""
    unused = _pragma(connection, "freelist_count")
    return unused - _pragma(connection, "page_count") // KEPT_SHARE


def _pragma(connection: Connection, name: str) -> int:
    return int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
