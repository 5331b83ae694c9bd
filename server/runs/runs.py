"""Starting, stopping and deleting: at most one live run a thread.

A start claims the thread in the store, plans the request on the thread's state, and sets the run
going. Everything else sees a run through its log and the store.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from uuid import uuid4

from graphs.classify import Classifier
from server.runs.capacity import Capacity, charge
from server.runs.claims import Claim, Claims, RunInProgress
from server.runs.deletions import Deletions
from server.runs.reader import LoggedRun, RunReader
from server.runs.retries import Retries
from server.runs.run import Run
from server.runs.run_audit import RunAudit
from server.runs.run_starts import RunStarts
from server.runs.served_graphs import ServedGraphs
from server.runs.served_models import ServedModels
from server.runs.shutdown import Shutdown
from server.runs.signals import STOPPED
from server.runs.start import RunSettings, RunStart
from server.runs.summary import all_chunks, summary
from server.runs.thread_version import check_may_stop
from server.storage.audit_records import Records
from server.storage.interfaces import Held, Repeated, ThreadEntry, ThreadStore
from server.storage.run_logs import RunLogs
from server.turns.chunks import Chunk, Done, MessageFinish, Usage
from server.turns.header import ThreadKey
from server.turns.requests import IdempotencyKey, InvalidRequest, TurnRequest
from server.users.policy import NO_POLICY, Policy
from server.users.principal import Principal
from tools.current import CurrentCatalogue

logger = logging.getLogger(__name__)

Observer = Callable[[Run], Callable[[Sequence[Chunk]], None]]
"""Gets a run that begins, in the context that this run has to itself. Gives what gets all that the
run has said, once it is over."""


class Runs:
    """`classifier` has the rules for tool calls before a run's client tools are added; `catalogue`
    is the one that changes, if that of the classifier does."""

    def __init__(
        self,
        graphs: ServedGraphs,
        models: ServedModels,
        classifier: Classifier,
        store: ThreadStore,
        logs: RunLogs,
        settings: RunSettings,
        policy: Policy = NO_POLICY,
        audit: RunAudit | None = None,
        catalogue: CurrentCatalogue | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._graphs = graphs
        catalogue = catalogue or CurrentCatalogue(classifier.catalogue)
        self._starts = RunStarts(graphs, models, classifier, settings, catalogue)
        self._store = store
        self._logs = logs
        self._settings = settings
        self._policy = policy
        self._reader = RunReader(graphs, store, logs)
        self._retries = Retries()
        self._audit = audit or RunAudit()
        self._observers = observers
        self._claims = Claims(store, logs, self._retries, self._audit.interrupted)
        self._capacity = Capacity(settings.max_live, settings.max_new_threads)
        self._lives: set[asyncio.Task[None]] = set()
        self._deletions = Deletions(graphs, store, logs, self._claims, self._retries, self._audit)
        self._shutdown = Shutdown(self._claims, logs)

    async def start(
        self,
        principal: Principal,
        request: TurnRequest,
        wire_format: str,
        idempotency: IdempotencyKey | None = None,
        *,
        decider: Principal | None = None,
    ) -> LoggedRun:
        """Claim the thread, check the request against it, set the run going, and wait until what
        the request brought is on disk. `decider` gives the request's approvals; None: the
        principal.

        The same idempotency key with the same digest gives the same run. Raises RunInProgress if
        the thread has a live run that is not to be stopped, InvalidRequest, UnknownThread or
        ThreadChanged if it cannot take the request, ShuttingDown, Forbidden and LimitExceeded.
        """
        rights, by = self._policy.rights(principal), decider or principal
        key = ThreadKey(principal.owner, request.thread_id or f"thread_{uuid4().hex[:20]}")
        stopped: list[str] = []
        while True:
            self._shutdown.check()
            async with self._claims.take(key, idempotency) as result:
                if isinstance(result, Claim):
                    await self._capacity.check_live(self._claims, rights)
                    start = await self._starts.make(
                        result, request, wire_format, rights, by, stopped
                    )
                    await self._begin(start, result, request, by, keyed=idempotency is not None)
            match result:
                case Claim():
                    return await self._opened(result)
                case Repeated():
                    repeated = await self._repeated(key.owner, result)
                    if repeated:
                        return repeated
                case Held(run_id):
                    await self._make_way(key, result, request)
                    stopped.append(run_id or "")

    async def _begin(
        self, start: RunStart, claim: Claim, request: TurnRequest, by: Principal, *, keyed: bool
    ) -> None:
        if start.plan.is_new_thread and claim.thread is None:
            await self._capacity.take_new_thread(start.rights)
        title = request.message.text if request.message else ""
        records = self._audit.started(start, by.id)
        await self._store.begin_run(
            claim.key,
            claim.run_id,
            title,
            start.graph,
            records,
            closes_approvals=start.plan.closes_approvals,
        )
        checkpoints = self._graphs.checkpoints(start.graph)
        run = Run(start, checkpoints, self._store, claim.log, claim.stop, self._audit.watch(start))
        life = self._see_through(run, claim, keyed=keyed)
        task = asyncio.create_task(life, name=f"run {claim.run_id}, its life")
        self._lives.add(task)
        task.add_done_callback(self._lives.discard)

    async def _opened(self, claim: Claim) -> LoggedRun:
        header = await claim.log.header()
        assert header is not None, "a run that has begun opens its log"
        return LoggedRun(header, claim.log)

    async def _repeated(self, owner: str, earlier: Repeated) -> LoggedRun | None:
        """The run of an earlier request; None if that request was refused, or its run is gone."""
        if not earlier.same_body:
            raise InvalidRequest(
                "idempotency_key_reused",
                "The Idempotency-Key was used for another body; take a new key.",
            )
        run = await self._reader.find(ThreadKey(owner, earlier.thread_id), earlier.run_id)
        if run is None:
            await self._store.forget_requests(earlier.run_id)
        return run

    async def _make_way(self, key: ThreadKey, held: Held, request: TurnRequest) -> None:
        """Return when the claim may be tried again."""
        if held.run_id is None:
            raise InvalidRequest(
                "thread_being_deleted", "The thread is being deleted; start a new one.", 409
            )
        live = (
            await self._reader.find(key, held.run_id) if self._claims.holds(held.run_id) else None
        )
        if live and request.on_busy != "stop":
            raise RunInProgress(live.header)
        await check_may_stop(request, key, held, self._store)
        await self._claims.end(key, held.run_id, STOPPED)

    async def _see_through(self, run: Run, claim: Claim, *, keyed: bool) -> None:
        """A run's whole life: it works, the thread is saved and free, then its readers hear."""
        last: list[Chunk] = [MessageFinish("error", Usage(0, 0)), Done()]
        observed = [observe(run) for observe in self._observers]
        try:
            last = await run.work()
            records = await self._audit.ended(run, last)
            await self._retries.write(partial(self._end, run, records))
            await charge(run.start.rights, last)
        except Exception:
            logger.exception("run %(run)s broke off", {"run": claim.run_id})
        finally:
            self._claims.forget(claim.run_id)
            await run.log.write(last)
        await self._retain(claim.run_id, keyed=keyed)
        chunks = await all_chunks(claim.log)
        logger.info(summary(run, chunks))
        for see_end in observed:
            see_end(chunks)

    async def _end(self, run: Run, records: Records) -> None:
        waiting = await run.waiting_approvals(self._settings.approval_seconds)
        await self._store.end_run(run.start.key, run.start.run_id, run.state, records, waiting)

    async def _retain(self, run_id: str, *, keyed: bool) -> None:
        """Keep a run's log, and the key of its request, for the retention time."""
        seconds = self._settings.retention_seconds
        await self._logs.keep(run_id, seconds)
        if keyed:
            forget = partial(self._store.forget_requests, run_id)
            asyncio.get_running_loop().call_later(seconds, self._retries.begin, forget)

    async def create(self, principal: Principal, thread_id: str) -> ThreadEntry:
        """Make a thread without a run; one that is there stays. Raises ShuttingDown, TooManyRuns,
        Forbidden, LimitExceeded."""
        self._shutdown.check()
        await self._capacity.take_new_thread(self._policy.rights(principal))
        return await self._store.create(ThreadKey(principal.owner, thread_id))

    async def stop(self, key: ThreadKey) -> ThreadEntry | None:
        """End the thread's live run, if it has one, and wait until the thread is saved and free.

        The thread's entry then says how its last run ended. None: there is no such thread.
        """
        run_id = await self._store.holder(key)
        if run_id:
            await self._claims.end(key, run_id, STOPPED)
        return await self._store.get(key)

    def ask_to_stop(self, run_id: str) -> None:
        """Ask a run to end, and wait for nothing; it may be over."""
        self._claims.ask_to_stop(run_id, STOPPED)

    async def delete(self, key: ThreadKey) -> None:
        """Forget a thread for good: its live run is stopped first, and none can begin."""
        await self._deletions.delete(key)

    async def delete_idle(self, key: ThreadKey, since: float) -> bool:
        """Forget a thread without activity since a Unix time. False: it has some by now, a live
        run, or a call that waits for an approval."""
        return await self._deletions.delete_idle(key, since)

    def hurry(self) -> None:
        """Let no live run finish that `drain` waits for: stop them now."""
        self._shutdown.hurry()

    async def drain(self, seconds: float) -> None:
        """Take no new runs, let the live ones finish, and stop those that take longer."""
        await self._shutdown.drain(seconds)

    @property
    def live(self) -> int:
        """How many runs are live, or have their requests checked."""
        return len(self._claims)

    @property
    def unsaved(self) -> int:
        """After `drain`: how many runs still work, though nobody waits for them any more."""
        return len(self._lives)

    async def close(self) -> None:
        """`drain`, and cancel what could not be saved."""
        await self.drain(0)
        lives = [*self._lives]
        for life in lives:
            life.cancel()
        await asyncio.gather(*lives, return_exceptions=True)
