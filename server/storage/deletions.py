"""The part of storage for threads that are deleted, and hidden until they are forgotten."""

from collections.abc import Sequence
from typing import Protocol

from turnstream.server.storage.also import Also
from turnstream.server.storage.interfaces import ClaimResult, ThreadEntry, ThreadStore
from turnstream.server.turns.header import ThreadKey


class DeletionStore(ThreadStore, Protocol):
    """A hidden thread is as good as deleted for every other method of the store, but that its id is
    taken. Every method is one transaction. Raises StorageUnavailable."""

    async def hide(
        self, key: ThreadKey, deletion_id: str, until: float, also: Also = ()
    ) -> float | None:
        """Hide a thread that is claimed for its deletion until a Unix time, when it is to be
        forgotten, and release the claim. One that is hidden already stays so until its own time,
        and nothing is recorded. The time; None: there is no such thread, and the claim stays."""

    async def restore(self, key: ThreadKey, also: Also = ()) -> ThreadEntry | None:
        """Show a hidden thread again; one that is not hidden stays as it is, and nothing is
        recorded. None: there is none, or it is being forgotten."""

    async def hidden(
        self, limit: int, owner: str | None = None, after: tuple[ThreadKey, float] | None = None
    ) -> Sequence[tuple[ThreadKey, float]]:
        """The threads that are to be forgotten next, and when; of all owners, or of one. `after` is
        the last one of the page before."""

    async def claim_hidden(self, key: ThreadKey, deletion_id: str, now: float) -> ClaimResult:
        """Take a thread that is hidden, and due at `now`, to forget it; else Held."""
