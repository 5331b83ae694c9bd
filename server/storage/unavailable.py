"""The reasons why storage cannot do its work, in words for clients and for the operator."""

from collections.abc import Mapping
from typing import Literal, Protocol

from turnstream.server.turns.problem_codes import STORAGE


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

STORAGE_FAULTS: Mapping[str, str] = {one.code: one.sentences for one in sorted(STORAGE)}


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
        """True if the file that was opened was deleted or replaced."""
