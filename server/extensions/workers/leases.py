"""The claims of several workers under leases, and messages between these, as interfaces.

A worker is one process; its id is new at each start.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from turnstream.graphs.stored import Ended
from turnstream.server.storage.interfaces import LostRun
from turnstream.server.turns.header import ThreadKey


@dataclass(frozen=True, slots=True)
class Holder:
    """The run or the deletion that has claimed a thread."""

    run_id: str
    worker: str
    lapsed: bool
    """True if the lease is over: the claim may be taken over."""
    purpose: Literal["run", "deletion"] = "run"


class Leases(Protocol):
    """The claims of several workers on one database.

    A claim holds until its lease is over, by the database's clock, and its worker renews it. What
    is written under a claim whose lease is over raises LeaseLost and changes nothing.
    """

    @property
    def worker(self) -> str:
        """The id of this worker."""

    def on_lost(self, call: Callable[[str], None]) -> None:
        """Have `call` told the run id of a claim of this worker that is lost, once."""

    def on_stop(self, call: Callable[[str, Ended], None]) -> None:
        """Have `call` told which run of this worker is asked to end, and why."""

    async def holder(self, key: ThreadKey) -> Holder | None:
        """Return the holder of the thread's claim."""

    async def lapsed(self, limit: int) -> Sequence[LostRun]:
        """Claims whose leases are over, of runs and of deletions."""

    async def take_over(self, key: ThreadKey, run_id: str) -> bool:
        """Make a claim this worker's. False: its lease is not over, or another worker has it."""

    def let_go(self, key: ThreadKey, run_id: str) -> None:
        """Renew a claim of this worker no longer, so that whoever is first takes it over."""

    async def live_runs(self, owner: str) -> int:
        """Return the number of an owner's runs that are live, or whose requests are being checked,
        at all workers."""

    async def request_stop(self, key: ThreadKey, run_id: str, reason: Ended) -> None:
        """Note that a run is to end: its worker reads that when it renews its leases."""


class Inbox(Protocol):
    """Messages between workers: quick, but they can get lost, unlike `Leases.request_stop`."""

    def on_stop(self, call: Callable[[str, Ended], None]) -> None:
        """Have `call` told which run of this worker is asked to end, and why."""

    async def ask_to_stop(self, worker: str, run_id: str, reason: Ended) -> None:
        """Ask a worker to end a run; raises nothing, whether the message arrives or not."""
