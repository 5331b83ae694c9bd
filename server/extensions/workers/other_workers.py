"""Runs and deletions of other workers: stopped by a message, and ended here when their worker is
gone.

A worker holds a claim as long as it renews its lease. Whoever needs a thread whose claim's lease is
over takes the claim over; so does a sweep, for threads that nobody needs. Then the run has the end
that its thread shows, as after a crash, and its log gets what is left to say.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from turnstream.graphs.classify import Classifier
from turnstream.graphs.stored import Ended
from turnstream.server.extensions.workers.leases import Holder, Inbox, Leases
from turnstream.server.extensions.workers.lost_logs import LostLogs
from turnstream.server.extensions.workers.lost_work import LostWork
from turnstream.server.runs.claims import Claim, Claims
from turnstream.server.runs.deletions import Forgetting
from turnstream.server.runs.recovery import LostRuns
from turnstream.server.runs.retries import Retries
from turnstream.server.runs.start import RunSettings
from turnstream.server.storage.interfaces import LostRun, StorageUnavailable
from turnstream.server.storage.run_logs import SharedLogs
from turnstream.server.turns.header import RunHeader, ThreadKey

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""Between looks at a claim of another worker: messages and logs can get lost, the store cannot."""
DELETION_POLL_SECONDS = 0.05
SWEEP_LIMIT = 100
AT_ONCE = 8
"""Claims that are taken over together."""
SETTLE_SECONDS = 4.0
"""Seconds that runs which were taken over may take at the end of the process."""


@dataclass(frozen=True, slots=True)
class Shared:
    """The parts that this worker shares with others."""

    leases: Leases
    inbox: Inbox
    logs: SharedLogs
    lease_seconds: float


class OtherWorkers:
    def __init__(
        self,
        shared: Shared,
        claims: Claims,
        work: LostWork,
        lost_logs: LostLogs,
        retries: Retries,
    ) -> None:
        self._leases, self._inbox, self._logs = shared.leases, shared.inbox, shared.logs
        self._lease_seconds = shared.lease_seconds
        self._claims = claims
        self._work = work
        self._lost_logs = lost_logs
        self._retries = retries
        self._settling: dict[str, asyncio.Task[None]] = {}
        self._closing = False
        self.takeovers = 0
        self._leases.on_lost(claims.lose)
        self._leases.on_stop(claims.ask_to_stop)
        self._inbox.on_stop(claims.ask_to_stop)
        self._logs.on_silence(self.look_after)

    async def check(self) -> None:
        """Raises StorageUnavailable if no run can be streamed now."""
        await self._logs.check()

    async def live_runs(self, owner: str) -> int:
        """Return the number of an owner's runs that are live, or have their requests checked, at
        all workers."""
        return await self._leases.live_runs(owner)

    def ask_to_stop(self, key: ThreadKey, run_id: str, reason: Ended) -> None:
        """Ask a run to end, and wait for nothing."""
        self._retries.begin(partial(self._ask, key, run_id, reason))

    async def _ask(self, key: ThreadKey, run_id: str, reason: Ended) -> None:
        holder = await self._leases.holder(key)
        if holder and holder.run_id == run_id:
            await self._leases.request_stop(key, run_id, reason)
            await self._inbox.ask_to_stop(holder.worker, run_id, reason)

    async def is_live(self, key: ThreadKey, run_id: str) -> bool:
        """Return True if a run of the thread is live, once the outcome is known of a request that
        is being checked. A run whose end is told is over, though its claim could not be released
        yet."""
        while await self._holder(key, run_id):
            log = await self._logs.get(run_id)
            state = (await log.status()).state if log else "lost"
            if state == "ended":
                return False
            if log is None or state == "lost":
                # It goes on without; or it was refused, and its claim is gone in a moment.
                await asyncio.sleep(POLL_SECONDS)
                return await self._holder(key, run_id) is not None
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    if await log.header():
                        return True
        return False

    async def is_claimed(self, key: ThreadKey, run_id: str) -> bool:
        """Return True if the thread is claimed for this run. A claim whose lease has lapsed is
        taken over, and its run ended."""
        holder = await self._leases.holder(key)
        if holder is None or holder.run_id != run_id:
            return False
        if holder.lapsed:
            await self._settle(LostRun(key, run_id))
        return True

    async def _holder(self, key: ThreadKey, run_id: str) -> Holder | None:
        """Whoever has the thread for this run, and is alive."""
        holder = await self._leases.holder(key)
        return holder if holder and holder.run_id == run_id and not holder.lapsed else None

    async def end(self, key: ThreadKey, run_id: str | None, reason: Ended) -> None:
        """End a run, wherever it is, and return when the thread is saved and free. None: it is a
        deletion, which is waited for."""
        has_asked = False
        while holder := await self._leases.holder(key):
            if holder.run_id != run_id and (run_id or holder.purpose == "run"):
                return
            if holder.lapsed:
                await self._settle(LostRun(key, holder.run_id, purpose=holder.purpose))
                continue
            if run_id and not has_asked and holder.worker != self._leases.worker:
                await self._leases.request_stop(key, run_id, reason)
                await self._inbox.ask_to_stop(holder.worker, run_id, reason)
                has_asked = True
            await self._wait(run_id)

    async def _wait(self, run_id: str | None) -> None:
        """Until the run has told its readers of its end, or it is time to look at its claim. None:
        the claim is a deletion's."""
        if run_id is None:
            await asyncio.sleep(DELETION_POLL_SECONDS)
            return
        log = await self._logs.get(run_id)
        if log is None or (await log.status()).state != "live":
            await asyncio.sleep(POLL_SECONDS)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS):
                await log.ended()

    async def complete_deletion(self, key: ThreadKey) -> bool:
        """Do what a worker that is gone has left of a deletion. False: it is under way."""
        holder = await self._leases.holder(key)
        if holder and holder.lapsed:
            await self._settle(LostRun(key, holder.run_id, purpose=holder.purpose))
        return holder is None or holder.lapsed

    async def leave(self, claim: Claim) -> None:
        """Leave a run of this process, whose lease has lapsed, to the first worker that ends it;
        readers here get that end."""
        self._claims.lose(claim.run_id)
        self._claims.forget(claim.run_id)
        self._leases.let_go(claim.key, claim.run_id)
        logger.warning("run %(run)s has lost its lease, and ends itself", {"run": claim.run_id})
        await self.hand_over(claim.run_id)
        self._begin(LostRun(claim.key, claim.run_id))

    async def hand_over(self, run_id: str) -> None:
        """Leave the log of a run of this process to whoever takes its claim over."""
        await self._logs.hand_over(run_id)

    async def look_after(self, header: RunHeader) -> None:
        """End a log that is silent because its run is over, or its worker gone."""
        key, run_id = header.key, header.run_id
        if self._closing or self._claims.tells(run_id) or run_id in self._settling:
            return
        holder = await self._leases.holder(key)
        if holder is None or holder.run_id != run_id:
            await self._lost_logs.end(header)
        elif holder.lapsed:
            await self._settle(LostRun(key, run_id, header.graph))

    @asynccontextmanager
    async def sweeping(self) -> AsyncIterator[None]:
        """Sweep beside the server, now and whenever a lease may be over."""
        work = asyncio.create_task(self._sweep(), name="sweep")
        try:
            yield
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _sweep(self) -> None:
        while True:
            try:
                await self.sweep()
            except StorageUnavailable as error:
                logger.warning("claims of lost workers wait: %(error)s", {"error": error})
            except Exception:
                logger.exception("claims of lost workers wait")
            await asyncio.sleep(self._lease_seconds)

    async def sweep(self) -> None:
        """End what workers that are gone have left. Raises StorageUnavailable."""
        lapsed = iter(await self._leases.lapsed(SWEEP_LIMIT))

        async def settle() -> None:
            for lost in lapsed:
                await self._settle(lost)

        await asyncio.gather(*(settle() for _ in range(AT_ONCE)))

    async def close(self) -> None:
        """End what has been taken over, and take over nothing more. What takes too long is left to
        another worker, when the lease is over."""
        self._closing = True
        if self._settling:
            _, late = await asyncio.wait(self._settling.values(), timeout=SETTLE_SECONDS)
            for task in late:
                task.cancel()

    async def _settle(self, lost: LostRun) -> None:
        await asyncio.shield(self._begin(lost))

    def _begin(self, lost: LostRun) -> asyncio.Task[None]:
        """Once a claim, however many need it."""
        task = self._settling.get(lost.run_id)
        if task is None:
            task = asyncio.create_task(_logged(self._settled(lost)))
            self._settling[lost.run_id] = task
            task.add_done_callback(lambda _: self._settling.pop(lost.run_id, None))
        return task

    async def _settled(self, lost: LostRun) -> None:
        if self._claims.holds(lost.run_id):
            self._claims.lose(lost.run_id)
        elif self._claims.is_held(lost.run_id):
            with suppress(TimeoutError):  # Its release is retried, and finds the lease lapsed.
                async with asyncio.timeout(POLL_SECONDS):
                    await self._claims.released(lost.run_id)
        elif await self._leases.take_over(lost.key, lost.run_id):
            self.takeovers += 1
            named = {"run": lost.run_id, "thread": lost.key.thread_id}
            logger.warning("run %(run)s of thread %(thread)s has lost its worker", named)
            await self._work.settle(lost)


def join(
    shared: Shared,
    claims: Claims,
    forgetting: Forgetting,
    classifier: Classifier,
    settings: RunSettings,
) -> OtherWorkers:
    store, graphs, retries = forgetting.store, forgetting.graphs, forgetting.retries
    lost_runs = LostRuns(store, graphs, forgetting.hooks, settings.approval_seconds)
    lost_logs = LostLogs(store, graphs, shared.logs, classifier, settings.retention_seconds)
    work = LostWork(store, lost_runs, lost_logs, forgetting, retries)
    return OtherWorkers(shared, claims, work, lost_logs, retries)


async def _logged(work: Coroutine[None, None, None]) -> None:
    """It is tried again by whoever needs the thread, and by the sweep."""
    try:
        await work
    except StorageUnavailable as error:
        logger.warning("a claim could not be taken over: %(error)s", {"error": error})
    except Exception:
        logger.exception("a claim could not be taken over")
