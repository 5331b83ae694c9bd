"""The interface to other workers that runs use; the extension `workers` implements it."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from turnstream.graphs.stored import Ended
from turnstream.server.runs.claims import Claim
from turnstream.server.turns.header import ThreadKey


class OtherWorkers(Protocol):
    """Runs and deletions of other workers. Each method may raise StorageUnavailable."""

    takeovers: int
    """Claims of other workers that this one took over."""

    async def check(self) -> None:
        """Raises StorageUnavailable if no run can be streamed now."""

    async def live_runs(self, owner: str) -> int:
        """Return the number of an owner's runs that are live, or have their requests checked, at
        all workers."""

    def ask_to_stop(self, key: ThreadKey, run_id: str, reason: Ended) -> None:
        """Ask a run to end, and wait for nothing."""

    async def is_live(self, key: ThreadKey, run_id: str) -> bool:
        """Return True if a run of the thread is live, once the outcome is known of a request that
        is being checked."""

    async def is_claimed(self, key: ThreadKey, run_id: str) -> bool:
        """Return True if the thread is claimed for this run. A claim whose lease has lapsed is
        taken over, and its run ended."""

    async def end(self, key: ThreadKey, run_id: str | None, reason: Ended) -> None:
        """End a run, wherever it is, and return when the thread is saved and free. None: it is a
        deletion, which is waited for."""

    async def complete_deletion(self, key: ThreadKey) -> bool:
        """Do what a worker that is gone has left of a deletion. False: it is under way."""

    async def leave(self, claim: Claim) -> None:
        """Leave a run of this process, whose lease has lapsed, to the first worker that ends it."""

    async def hand_over(self, run_id: str) -> None:
        """Leave the log of a run of this process to whoever takes its claim over."""

    def sweeping(self) -> AbstractAsyncContextManager[None]:
        """End what workers that are gone have left, beside the server."""

    async def close(self) -> None:
        """End what has been taken over, and take over nothing more."""
