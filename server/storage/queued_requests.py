"""Requests that wait for their turn on a thread: the part of the store."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import IdempotencyKey, RunRecord, TurnRequest

MAX_WITHDRAWN = 20
"""Withdrawn runs that are listed of a thread, the last ones."""

if TYPE_CHECKING:
    from turnstream.server.storage.also import Also
    from turnstream.server.storage.interfaces import Granted


@dataclass(frozen=True, slots=True)
class QueuedRequest:
    """A request that waits until the runs ahead of it are over."""

    key: ThreadKey
    run_id: str
    """The id that its run gets."""
    wire_format: str
    request: TurnRequest
    queued_at: float
    """Unix time."""
    roles: tuple[str, ...] = ()
    """The roles of the caller, who is the owner of the thread."""
    display_name: str = ""
    problem: tuple[str, str] | None = None
    """The code and the sentence of why its run could not begin: it waits until it is edited or
    withdrawn. None: it waits for its turn."""
    has_begun: bool = False
    """True if its run has claimed the thread."""
    due_at: float | None = None
    """Unix time, before which its run does not begin."""

    @property
    def is_later(self) -> bool:
        """True if it is not due yet: it holds up no other."""
        return self.due_at is not None and self.due_at > time.time()


@dataclass(frozen=True, slots=True)
class WithdrawnRun:
    """A run that was cancelled before its turn: it has said nothing."""

    run_id: str
    withdrawn_at: float
    """Unix time."""
    record: RunRecord | None


class QueueFull(Exception):
    """As many requests wait for the thread as may."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} requests wait")
        self.limit = limit


class QueueStore(Protocol):
    """The part of the store that keeps queued requests. A row is deleted when its request is on
    disk as a part of the thread, at the latest with the end of its run (`end_run`, `release`).
    Raises StorageUnavailable."""

    async def enqueue(
        self, queued: QueuedRequest, most: int, idempotency: IdempotencyKey | None = None
    ) -> int | None:
        """Keep a request behind those that wait, and its idempotency key with it: all or nothing.
        Return its place, 1: the next one. None: there is no such thread, or the key names a
        request. Raises QueueFull if `most` requests wait."""

    async def queue(self, key: ThreadKey) -> Sequence[QueuedRequest]:
        """Return the requests of a thread, in order."""

    async def queued(self, key: ThreadKey, run_id: str) -> QueuedRequest | None:
        """None: the request was withdrawn, or its run has it."""

    async def queued_state(
        self, key: ThreadKey, run_id: str
    ) -> tuple[tuple[str, str] | None, bool] | None:
        """Return the problem of a request, and True if its run has begun: whoever waits for it asks
        often, and a request may be long. None as of `queued`, or the thread is deleted and can be
        brought back."""

    async def queued_of(self, owner: str, limit: int) -> Sequence[tuple[ThreadKey, str]]:
        """Return the threads and the run ids of an owner's requests that have not begun."""

    async def queued_under(
        self, owner: str, idempotency: IdempotencyKey
    ) -> tuple[QueuedRequest, bool] | None:
        """Return the queued request that a key names, and True if the body is the same."""

    async def edit_queued(
        self,
        key: ThreadKey,
        run_id: str,
        request: TurnRequest,
        roles: Sequence[str],
        display_name: str,
        also: "Also" = (),
    ) -> QueuedRequest | None:
        """Replace a request, and who posted it, in its place; it waits for its turn again if it had
        a problem. None: it does not wait any more."""

    async def move_queued(self, key: ThreadKey, run_id: str, place: int) -> QueuedRequest | None:
        """Give a request another place among those that wait; 1: it is the next one. None: it does
        not wait any more."""

    async def withdraw(
        self, key: ThreadKey, run_id: str, also: "Also" = (), *, is_listed: bool = False
    ) -> bool:
        """Forget a request, and its idempotency key; with `is_listed`, its run is one of the
        thread's withdrawn ones. False: it does not wait any more."""

    async def withdrawn(self, key: ThreadKey) -> Sequence[WithdrawnRun]:
        """Return the last MAX_WITHDRAWN withdrawn runs of a thread that are listed, the last one
        first."""

    async def forget_withdrawn(self, key: ThreadKey, run_id: str) -> bool:
        """List a withdrawn run no more. False: it is not listed."""

    async def next_queued(self, key: ThreadKey) -> str | None:
        """Return the id of the run that is to begin when the thread is free. While somebody is to
        answer the graph or a call of the thread, that is the first one that answers; approvals
        that have expired are waited for no more."""

    async def claim_queued(
        self, key: ThreadKey, run_id: str
    ) -> "tuple[Granted, QueuedRequest] | None":
        """Take the thread for a request that is the next one. None: it is not, or the thread is
        not free."""

    async def refuse_queued(self, key: ThreadKey, run_id: str, problem: tuple[str, str]) -> None:
        """Note why the run of a request cannot begin, unless it has begun."""

    async def hold_queue(self, key: ThreadKey, until: float | None) -> None:
        """Have no worker begin the requests that wait for a thread until a Unix time; None: they
        may begin."""

    async def forget_queued(self, key: ThreadKey, run_id: str) -> None:
        """Delete a request that is on disk as a part of its thread."""

    async def due_queues(self, limit: int) -> Sequence[ThreadKey]:
        """Return threads whose next request could begin, as far as the list of threads tells, or
        that have something to settle."""

    async def settle_queues(self) -> None:
        """Have requests wait again whose runs have no claim: whoever released it did not say what
        became of them."""
