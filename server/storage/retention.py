"""The part of storage that retention uses: old threads, and unused space."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from turnstream.server.turns.header import ThreadKey


@dataclass(frozen=True, slots=True)
class IdleThread:
    key: ThreadKey
    updated_at: str
    """As in its entry."""


class RetentionStore(Protocol):
    """Every method is one short transaction. Raises StorageUnavailable."""

    async def idle(
        self, since: float, now: float, limit: int, after: IdleThread | None = None
    ) -> Sequence[IdleThread]:
        """Threads of all owners without activity since a Unix time, the longest idle first; `after`
        is the last one of the page before. Not those that have a live run, or a call whose approval
        is open and has not expired at `now`."""

    async def forget_old_requests(self) -> None:
        """Forget the idempotency keys of requests that are older than a day."""

    async def shrink(self) -> bool:
        """Give some unused space of the database back to the disk, in a short transaction. True:
        there is more to give back."""
