"""What keeps the storage from doing its work, in words for clients and for who runs the server."""

from collections.abc import Mapping
from typing import Literal, Protocol


class StorageError(Exception):
    """The database cannot be opened; the message is one line."""


StorageFault = Literal[
    "storage_busy",
    "storage_full",
    "storage_unreachable",
    "database_gone",
    "storage_failed",
    "streams_unavailable",
]

STORAGE_FAULTS: Mapping[str, str] = {
    "storage_busy": "The server's database is locked by another program, or has too much to do. "
    "Try again in a moment.",
    "storage_full": "The disk of the server's database is full. Free space on it, then try again; "
    "the server needs no restart.",
    "storage_unreachable": "The server's database cannot be reached. Try again in a moment: the "
    "server connects again by itself.",
    "database_gone": "The server's database file was deleted or replaced. Put the file back, or "
    "restart the server on the one that is there now.",
    "storage_failed": "The server's database cannot be read or written; the server's log says why.",
    "streams_unavailable": "The server's Redis cannot be reached, or takes nothing more, so no "
    "answer can be streamed. Try again in a moment; threads can be read meanwhile.",
}


class StorageUnavailable(StorageError):
    """A transaction could not be done, and has changed nothing.

    `message` is for clients; the text of the exception, still one line, has the cause too.
    """

    def __init__(
        self, code: StorageFault, cause: object = None, *, store: str = "", state: str | None = None
    ) -> None:
        """`store`: sqlite, postgres or redis; `state`: its own name of the error, such as an
        SQLSTATE."""
        self.code = code
        self.message = STORAGE_FAULTS[code]
        self.cause = cause
        self.log_text = " ".join(filter(None, (code, store, state)))
        """Safe to log: contains no text from the database or Redis."""
        super().__init__(self.message if cause is None else f"{self.message} ({cause})")


class LeaseLost(StorageError):
    """Another worker has the claim on the thread, or may have it: nothing was written."""


class Database(Protocol):
    @property
    def gone(self) -> bool:
        """Whether the file that was opened was deleted or replaced."""
