"""The claims of this process: the right to run a thread, and what a run of it needs."""

import asyncio
import secrets
import string
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial

from turnstream.graphs.stored import Ended
from turnstream.server.runs.plan import Plan
from turnstream.server.runs.retries import Retries, Write
from turnstream.server.runs.signals import StopSignal, StopSignals
from turnstream.server.storage.also import Also
from turnstream.server.storage.interfaces import (
    ClaimResult,
    Granted,
    Held,
    Hidden,
    LeaseLost,
    Repeated,
    ThreadEntry,
    ThreadStore,
)
from turnstream.server.storage.queued_requests import QueuedRequest
from turnstream.server.storage.run_logs import RunLog, RunLogs
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import IdempotencyKey

_ALPHABET = string.ascii_letters + string.digits


def new_run_id() -> str:
    """11 letters and digits: it is in every event of the run."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(11))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    run_id: str
    key: ThreadKey
    thread: ThreadEntry | None = None
    """As the list has it; None: it is new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(NewRun):
    log: RunLog
    stop: StopSignal


@dataclass(slots=True)
class _Active:
    """A run of this process, from ahead of its claim until the claim is released."""

    log: RunLog | None = None
    """None: it has none yet."""
    owner: str | None = None
    """The owner of the run; None: the claim is not granted yet."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    is_lost: bool = False


@dataclass(slots=True)
class _HeldClaim:
    """A claim of this process, from its grant until the store has released it or it is lost."""

    key: ThreadKey
    thread: ThreadEntry | None
    plan: Plan | None = None
    """The plan of the run; None: it has not begun."""
    since: float = field(default_factory=time.monotonic)
    released: asyncio.Event = field(default_factory=asyncio.Event)


class Claims:
    """`interrupted` returns the writes for a run that has begun, and cannot go on."""

    def __init__(
        self,
        store: ThreadStore,
        logs: RunLogs,
        retries: Retries,
        interrupted: Callable[[ThreadKey, str], Also],
    ) -> None:
        self._store = store
        self._logs = logs
        self._retries = retries
        self._interrupted = interrupted
        self._signals = StopSignals()
        self._active: dict[str, _Active] = {}
        self._held: dict[str, _HeldClaim] = {}
        """By run id. A run may be over while the release of its claim is still retried."""
        self._telling: set[str] = set()
        self.leases_lost = 0
        """Runs of this process, so far, whose leases lapsed."""

    @property
    def run_ids(self) -> Sequence[str]:
        """The ids of the runs that are live here, or whose requests are being checked."""
        return [*self._active]

    def __len__(self) -> int:
        """The number of claims that were granted: a request that finds its thread taken does not
        count."""
        return sum(one.owner is not None for one in self._active.values())

    def of_owner(self, owner: str) -> int:
        """Return the number of an owner's claims."""
        return sum(one.owner == owner for one in self._active.values())

    @property
    def oldest_seconds(self) -> float:
        """The age of the oldest claim; 0 if there is none. May be called on any thread."""
        begun = [held.since for held in self._held.copy().values()]
        return time.monotonic() - min(begun) if begun else 0.0

    def is_held(self, run_id: str) -> bool:
        """Return True while a run of this process has an unreleased claim; the run may be over."""
        return run_id in self._held

    def holds(self, run_id: str) -> bool:
        """Check that the run is live here, or its request is being checked."""
        return run_id in self._active

    def tells(self, run_id: str) -> bool:
        """Check that this process writes the run's log: also its end, when the claim is
        released."""
        return run_id in self._active or run_id in self._telling

    @asynccontextmanager
    async def take(
        self, key: ThreadKey, idempotency: IdempotencyKey | None
    ) -> AsyncIterator[Claim | Held | Repeated | Hidden]:
        """The claim, given back if the block raises; or what is in its way."""
        run_id = new_run_id()
        # Log and signal come first: who finds the claim finds them too.
        log = await self._logs.create(run_id)
        claim = Claim(run_id=run_id, key=key, log=log, stop=self._signals.create(run_id))
        active = self._active[run_id] = _Active(claim.log)
        claiming = asyncio.create_task(self._store.claim(key, run_id, idempotency))
        result = None
        try:
            result = await asyncio.shield(claiming)
            if isinstance(result, Granted):
                active.owner = key.owner
                self._held[run_id] = _HeldClaim(key, result.thread)
                yield replace(claim, thread=result.thread)
            else:
                yield result
        except BaseException:
            await self._discard(run_id)
            if isinstance(result, Granted):
                with suppress(LeaseLost):
                    await self.release(run_id, partial(self.refuse, run_id))
            elif result is None:
                self._retries.begin(partial(self._refuse_when_granted, key, run_id, claiming))
            raise
        if not isinstance(result, Granted):
            await self._discard(run_id)

    @asynccontextmanager
    async def take_queued(
        self, key: ThreadKey, run_id: str
    ) -> AsyncIterator[tuple[Claim, QueuedRequest] | None]:
        """The claim for a queued request, which waits again if the block raises. None: it is not
        its turn."""
        stop = self._signals.create(run_id)
        active = self._active[run_id] = _Active()
        claiming = asyncio.create_task(self._store.claim_queued(key, run_id))
        claimed = None
        try:
            claimed = await asyncio.shield(claiming)
            if claimed is None:
                yield None
            else:
                granted, queued = claimed
                active.owner = key.owner
                self._held[run_id] = _HeldClaim(key, granted.thread)
                # Not ahead of the claim: another worker may write a log of this id.
                active.log = log = await self._logs.create(run_id)
                thread = granted.thread
                yield Claim(run_id=run_id, key=key, log=log, stop=stop, thread=thread), queued
        except BaseException:
            if active.log:
                await self._logs.discard(run_id)
            self.forget(run_id)
            if claimed:
                with suppress(LeaseLost):
                    await self.release(run_id, partial(self.refuse, run_id))
            else:
                self._retries.begin(partial(self._refuse_when_granted, key, run_id, claiming))
            raise
        if claimed is None:
            self.forget(run_id)

    async def _refuse_when_granted(
        self,
        key: ThreadKey,
        run_id: str,
        claiming: "asyncio.Task[ClaimResult] | asyncio.Task[tuple[Granted, QueuedRequest] | None]",
    ) -> None:
        """Release a claim whose caller has left before it was granted."""
        await asyncio.wait({claiming})
        if claiming.exception() is None and isinstance(claiming.result(), Granted | tuple):
            await self._store.refuse_run(key, run_id)

    def set_plan(self, run_id: str, plan: Plan) -> None:
        """Keep the plan of a run that is about to begin, to undo its beginning by."""
        self._held[run_id].plan = plan

    async def refuse(self, run_id: str) -> None:
        """Release a claim whose request is not kept, and undo what its run has begun. Raises as the
        store does."""
        held = self._held[run_id]
        await self._store.refuse_run(
            held.key,
            run_id,
            held.thread,
            self._interrupted(held.key, run_id),
            closes_approvals=held.plan is not None and held.plan.closes_approvals,
            words=held.plan.first_words if held.plan else None,
        )

    async def release(self, run_id: str, write: Write) -> None:
        """Do the write that releases a claim; while the store fails, it is retried without the
        caller. Raises LeaseLost if another worker is to end the run."""
        await self._retries.write(partial(self._release, run_id, write))

    async def _release(self, run_id: str, write: Write) -> None:
        try:
            await write()
        except LeaseLost:
            self._released(run_id)
            raise
        self._released(run_id)

    def _released(self, run_id: str) -> None:
        held = self._held.pop(run_id, None)
        if held:
            held.released.set()

    async def released(self, run_id: str) -> bool:
        """Return when the claim of a run of this process is released or lost. False: this process
        has no such claim."""
        held = self._held.get(run_id)
        if held:
            await held.released.wait()
        return held is not None

    async def _discard(self, run_id: str) -> None:
        """No run came of a claim."""
        self.forget(run_id)
        await self._logs.discard(run_id)

    def forget(self, run_id: str) -> None:
        """The run is over, and its claim released."""
        self._signals.remove(run_id)
        active = self._active.pop(run_id, None)
        if active:
            active.over.set()

    @contextmanager
    def telling_end(self, run_id: str) -> Iterator[None]:
        """Forget the run, and write the end of its log meanwhile."""
        self._telling.add(run_id)
        self.forget(run_id)
        try:
            yield
        finally:
            self._telling.discard(run_id)

    def lose(self, run_id: str) -> None:
        """Another worker may have the thread of a run of this process: it ends without a word."""
        active = self._active.get(run_id)
        if active:
            self.leases_lost += not active.is_lost
            active.is_lost = True
            self._signals.lose(run_id)

    def ask_to_stop(self, run_id: str, reason: Ended) -> None:
        """Ask a run of this process to end, and wait for nothing."""
        self._signals.send(run_id, reason)

    async def stop(self, run_id: str, reason: Ended) -> None:
        """End a run of this process, and return when it has told its readers, or is lost."""
        self._signals.send(run_id, reason)
        await self.ended(run_id)

    async def ended(self, run_id: str) -> None:
        """Return when a run of this process has ended and told its readers, or is lost."""
        active = self._active.get(run_id)
        if active:
            # Not the log alone: it can be gone while its run goes on.
            await active.over.wait()
            if active.log and not active.is_lost:
                await active.log.ended()
