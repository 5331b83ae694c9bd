"""New database files for servers of tests: each is a copy of the first of its kind.

To make the tables of a new file takes as long as a short turn.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from turnstream.server.extensions.base import Extension
from turnstream.server.extensions.built_in import BUILT_IN
from turnstream.server.storage.location import Location

_files: dict[tuple[str, ...], bytes] = {}
"""By the names of the extensions whose tables they have."""
HAS_GRAPH_STORE = "SELECT 1 FROM sqlite_master WHERE name = 'store'"
"""LangGraph's tables, which a server makes for the graphs of a user: most servers have none."""
_OURS = {each.name for each in BUILT_IN}


def put(
    location: Location, extensions: Iterable[Extension | type[Extension]]
) -> Callable[[], None]:
    """Put a file where there is none, if one of this kind was made before. Return what is called
    once the server has opened its database: it keeps a copy of a file that the server has made."""
    kind = tuple(each.name for each in extensions if each.tables)
    if not isinstance(location, Path) or location.exists() or not _OURS.issuperset(kind):
        return _nothing
    if kind not in _files:
        return partial(_keep, kind, location)
    if location.parent.exists():
        with os.fdopen(os.open(location, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(_files[kind])
    return _nothing


def _nothing() -> None: ...


def _keep(kind: tuple[str, ...], path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        if not connection.execute(HAS_GRAPH_STORE).fetchone():
            _files[kind] = _copy(connection)


def _copy(connection: sqlite3.Connection) -> bytes:
    with TemporaryDirectory() as folder:
        copied = Path(folder, "new.db")
        connection.execute("VACUUM INTO ?", (str(copied),))
        with closing(sqlite3.connect(copied)) as own:
            own.execute("DELETE FROM cursor_secret")  # each server has its own
            own.commit()
        return copied.read_bytes()
