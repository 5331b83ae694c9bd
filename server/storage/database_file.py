"""The database's file: locked, checked, and watched while the server has it open."""

import fcntl
import logging
import os
import shutil
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

from turnstream.server.storage import unused_space
from turnstream.server.storage.faults import faults_named
from turnstream.server.storage.findings import Finding, Level
from turnstream.server.storage.interfaces import StorageError, StorageFault, StorageUnavailable
from turnstream.server.storage.tables import SCHEMA_VERSION

LOOK_EVERY_SECONDS = 1.0
PRIVATE = 0o600
"""The mode of new files."""
ENOUGH_BYTES, LEAST_BYTES = 1_000_000_000, 100_000_000
"""Bytes of free disk below which there is a warning, or a fault."""

logger = logging.getLogger(__name__)

_ANOTHER_FILE = "Set TURNSTREAM_DATABASE to another file, or to one that does not exist yet."
_ADVICE: Mapping[StorageFault, str] = {
    "storage_busy": "Wait until the other program has ended its transaction.",
    "storage_full": "Free space on its disk.",
}

Identity = tuple[int, int]
"""Device and inode: what a file is, whatever its name."""


class DatabaseFile:
    """Knows whether the files that were opened still have their names.

    SQLite itself goes on with a deleted file, and what it writes is lost.
    """

    def __init__(self, path: Path, look_every_seconds: float = LOOK_EVERY_SECONDS) -> None:
        self._opened = {name: _identity(name) for name in _names(path)}
        self._look_every_seconds = look_every_seconds
        self._looked = float("-inf")
        self._gone = False

    @property
    def gone(self) -> bool:
        """True if the file, its write-ahead log or its index was deleted or replaced."""
        now = time.monotonic()
        if now - self._looked >= self._look_every_seconds:
            self._looked = now
            self._note([name for name, was in self._opened.items() if _identity(name) != was])
        return self._gone

    def require(self) -> None:
        """Raises StorageUnavailable if what is written now would be lost."""
        if self.gone:
            raise StorageUnavailable("database_gone", store="sqlite")

    def _note(self, missing: list[Path]) -> None:
        if missing and not self._gone:
            names = ", ".join(map(str, missing))
            logger.error("the database was deleted or replaced (%s): nothing can be saved", names)
        elif self._gone and not missing:
            logger.info("the database is back")
        self._gone = bool(missing)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Have a database to this process alone. Raises StorageError.

    The file is made if it is not there. On Linux the lock is on the database itself, which may have
    several names; `flock` and SQLite's own locks do not see each other there. Elsewhere they do,
    and the lock is on a file beside it.
    """
    try:
        real = _regular(path)
        make_private(real)
        lock = os.open(_lock_path(real), os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        cause = getattr(error, "strerror", None) or error
        raise StorageError(
            f"{path} cannot be opened: {cause}. Set TURNSTREAM_DATABASE to a file in a folder that "
            "exists and can be written."
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # Left open: to close it would drop SQLite's locks, if the other server is in this process.
        raise StorageError(
            f"{path} is in use by another turnstream process. Stop it, or set "
            "TURNSTREAM_DATABASE to another file; for several processes on one database, to "
            "postgresql://USER@HOST/NAME, with TURNSTREAM_REDIS."
        ) from None
    try:
        yield
    finally:
        os.close(lock)


def make_private(path: Path) -> None:
    """Create a database's file for its owner alone; a file that exists keeps its mode. SQLite gives
    its other files the mode of this one. Raises OSError."""
    with suppress(FileExistsError):
        os.close(os.open(path.resolve(), os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE))


def warn_of_readers(path: Path) -> None:
    """Warn of files that all users of the machine can read: an older version made them so."""
    open_to_all = _open_to_all(path)
    if open_to_all:
        names = " ".join(open_to_all)
        logger.warning("every user of this machine can read the database: chmod 600 %s", names)


def _open_to_all(path: Path) -> list[str]:
    return [str(name) for name in _names(path) if name.exists() and _others_read(name)]


def _others_read(path: Path) -> bool:
    return bool(path.stat().st_mode & stat.S_IROTH)


def check(path: Path, busy_seconds: float) -> None:
    """Raises StorageError if the file is not a database that this server can write.

    With a connection that needs no thread: aiosqlite's outlives a connection that fails.
    """
    opened = partial(sqlite3.connect, timeout=busy_seconds, isolation_level=None)
    with usable(path), closing(opened(path)) as connection:
        unused_space.enable(connection)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("CREATE TABLE can_be_written (x)")
        connection.execute("ROLLBACK")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        _require_known(path, version)
        if version < SCHEMA_VERSION:
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _require_known(path: Path, version: int) -> None:
    """Raises StorageError for the version of a schema that is newer than this server."""
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"{path} has schema version {version}, this server knows {SCHEMA_VERSION}: it is of a "
            "newer turnstream, or of another program. Set TURNSTREAM_DATABASE to another file."
        )


def examine(path: Path, busy_seconds: float) -> list[Finding]:
    """Look at a file that a server may have open, for `turnstream doctor`. Changes nothing."""
    try:
        real = _regular(path)
        state = _state(path, real, busy_seconds)
        free = shutil.disk_usage(real.parent).free
    except (StorageError, OSError, RuntimeError) as error:
        return [Finding("fault", "database", str(error))]
    found = []
    if free < ENOUGH_BYTES:
        level: Level = "fault" if free < LEAST_BYTES else "warning"
        text = f"{free // 1_000_000} MB are left on the disk of {path}: free some"
        found.append(Finding(level, "database", text))
    if _open_to_all(path):
        text = f"every user of this machine can read the database: chmod 600 {path}*"
        found.append(Finding("warning", "database", text))
    text = f"{path} {state}; {free / 1e9:.1f} GB are left on its disk"
    return found or [Finding("ok", "database", text)]


def _state(path: Path, real: Path, busy_seconds: float) -> str:
    """Raises StorageError, OSError."""
    if not real.exists():
        if not os.access(real.parent, os.W_OK | os.X_OK):
            raise StorageError(
                f"{path} cannot be made: {real.parent} does not exist or cannot be written"
            )
        return "is made when the server starts"
    opened = partial(sqlite3.connect, uri=True, timeout=busy_seconds, isolation_level=None)
    with usable(path), closing(opened(f"{real.as_uri()}?mode=rw")) as connection:
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute("ROLLBACK")
    _require_known(path, version)
    if version < SCHEMA_VERSION:
        return f"can be written; the next start migrates it from schema version {version}"
    return "can be written"


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """Raise StorageError, in words for who starts the server, for what SQLite refuses."""
    try:
        with faults_named():
            yield
    except StorageUnavailable as error:
        advice = _ADVICE.get(error.code, _ANOTHER_FILE)
        cause = str(error.cause or error).removesuffix(".")
        raise StorageError(f"{path} cannot be used as a database: {cause}. {advice}") from None


def _regular(path: Path) -> Path:
    """The file that a path leads to, which may not exist yet. Raises StorageError, OSError."""
    if str(path) == ":memory:":
        raise StorageError(
            "TURNSTREAM_DATABASE cannot be ':memory:': threads would not outlive the server. "
            "Name a file."
        )
    real = path.resolve()
    if real.exists() and not stat.S_ISREG(real.stat().st_mode):
        kind = "a folder" if real.is_dir() else "not a regular file"
        raise StorageError(
            f"{path} cannot be used as a database: it is {kind}. Set TURNSTREAM_DATABASE to a file."
        )
    return real


def _lock_path(database: Path) -> Path:
    return database if sys.platform == "linux" else database.with_name(database.name + ".lock")


def _names(path: Path) -> list[Path]:
    real = path.resolve()
    return [real.with_name(real.name + suffix) for suffix in ("", "-wal", "-shm")]


def _identity(path: Path) -> Identity | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
