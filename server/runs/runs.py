"""Starting, stopping and deleting: at most one live run a thread.

A start claims the thread in the store, plans the request on the thread's state, and sets the run
going. Everything else sees a run through its log and the store.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from uuid import uuid4

from turnstream.server.callers.principal import Principal
from turnstream.server.callers.rights import Rights
from turnstream.server.runs.busy_threads import BusyThreads, RunInProgress
from turnstream.server.runs.capacity import Capacity
from turnstream.server.runs.claims import Claim, Claims
from turnstream.server.runs.deletions import Deletions, Forgetting
from turnstream.server.runs.endings import told_end
from turnstream.server.runs.hooks import RunHooks
from turnstream.server.runs.lives import Lives, StreamLost
from turnstream.server.runs.lost_chunks import told_so_far
from turnstream.server.runs.other_workers import OtherWorkers
from turnstream.server.runs.queue import QueuedRun, RunQueue, may_wait, poster
from turnstream.server.runs.reach import ThreadReach
from turnstream.server.runs.reader import LoggedRun, RunReader
from turnstream.server.runs.recovery import LostRuns
from turnstream.server.runs.retries import Retries
from turnstream.server.runs.run import Run
from turnstream.server.runs.run_starts import RunStarts
from turnstream.server.runs.shutdown import Shutdown
from turnstream.server.runs.signals import STOPPED
from turnstream.server.runs.start import Equipment, RunSettings, RunStart
from turnstream.server.runs.thread_version import QuestionWaits, UnknownThread
from turnstream.server.storage.interfaces import (
    Held,
    Hidden,
    LeaseLost,
    Repeated,
    ThreadEntry,
    ThreadStore,
    ignored,
)
from turnstream.server.storage.run_logs import RunLogs
from turnstream.server.storage.thread_metadata import Metadata
from turnstream.server.storage.workers import Workers
from turnstream.server.turns.header import LOCAL_OWNER, ThreadKey
from turnstream.server.turns.requests import (
    IdempotencyKey,
    InvalidRequest,
    StateUpdate,
    TurnRequest,
)

logger = logging.getLogger(__name__)

UNREAD_POLL_SECONDS = 0.1
"""Between two looks at whether a run that is over still has readers."""


class Runs:
    """The runs of a server; `hooks` are those of its extensions."""

    def __init__(
        self,
        equipment: Equipment,
        store: ThreadStore,
        logs: RunLogs,
        settings: RunSettings,
        hooks: RunHooks,
        workers: Workers | None = None,
    ) -> None:
        self._hooks = hooks
        self._graphs = graphs = equipment.graphs
        self._starts = RunStarts(equipment, settings, hooks.versions)
        self._held_calls = equipment.catalogue.held_calls
        self._store = store
        self._settings = settings
        self._retries = Retries()
        audit = self._hooks.audit
        self._claims = Claims(store, logs, self._retries, audit.interrupted)
        lost_runs = LostRuns(store, graphs, self._hooks, settings.approval_seconds)
        self._capacity = Capacity(settings.max_live, settings.max_new_threads)
        forgetting = Forgetting(graphs, store, logs, self._retries, self._hooks)
        self.others: OtherWorkers | None = None
        """None: this process has the database to itself."""
        if workers:
            classifier = equipment.classifier
            self.others = workers.join(self._claims, forgetting, classifier, settings)
        self.reader = RunReader(graphs, store, logs, self._hooks.versions)
        self.reach = ThreadReach(store, graphs, hooks)
        self._busy = BusyThreads(self._claims, self.reader, store, self.others)
        self.deletions = Deletions(store, forgetting, self._busy.end)
        cut_off = self.others.hand_over if self.others else logs.discard
        self._shutdown = Shutdown(self._claims, cut_off)
        self.queue = RunQueue(
            store,
            self.reader,
            self._retries,
            self._begin_queued,
            audit,
            most=settings.max_queued_requests,
            is_shared=self.others is not None,
        )
        self._lives = Lives(
            store,
            logs,
            self._claims,
            lost_runs,
            settings,
            self._hooks,
            self.others,
        )

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
        ThreadChanged if it cannot take the request, ShuttingDown, ThreadStillBusy,
        StorageUnavailable if the request cannot be kept or no run can be streamed, StreamLost if it
        is kept and cannot be streamed, and by the policy Forbidden or LimitExceeded, and by a guard
        GuardFailed.
        """
        rights, by = self._hooks.rights(principal), decider or principal
        key = ThreadKey(principal.owner, request.thread_id or f"thread_{uuid4().hex[:20]}")
        stopped: list[str] = []
        over: str | None = None
        async with AsyncExitStack() as until_begun:
            while True:
                begin = partial(self._planned, request, wire_format, rights, by, stopped)
                result = await self._take(key, idempotency, begin)
                match result:
                    case LoggedRun():
                        return result
                    case Repeated(run_id=run_id):
                        if request.thread_id is None:
                            earlier = ThreadKey(key.owner, result.thread_id)
                            await self.reach.check(principal, earlier, "read")
                        if repeated := await self._repeated(key.owner, result, over):
                            return repeated
                        over = run_id
                    case Held(run_id):
                        request = await self.reach.start_on_known(principal, request)
                        if request.on_busy in ("stop", "rollback") and not stopped:
                            await until_begun.enter_async_context(self.queue.holding(key))
                        await self._busy.make_way(key, result, request)
                        stopped.append(run_id or "")
                        if request.on_busy == "rollback" and request.head is None and run_id:
                            base = await self._store.run_base(key, run_id)
                            # A run that has begun and ended since is not taken back.
                            request = replace(request, head=base, drops_left=True, based_on=run_id)
                    case Hidden():
                        await self._starts.check_new(key, request, wire_format, rights, by)
                        await self._capacity.take_new_thread(rights)
                        await self.deletions.make_way(key)

    async def start_or_queue(
        self,
        principal: Principal,
        request: TurnRequest,
        wire_format: str,
        idempotency: IdempotencyKey | None = None,
    ) -> LoggedRun | QueuedRun:
        """Start a run, or queue one behind the live run of its thread if the request asks for that
        (`on_busy`) and can wait (`may_wait`), and if the rules on threads let the caller. Raises
        what `start` does, Refusal and QueueFull."""
        request = await self.reach.start(principal, request)
        if request.after_seconds is not None:
            return await self._queue_later(principal, request, wire_format, idempotency)
        if request.on_busy != "queue" or request.thread_id is None or not may_wait(request):
            return await self.start(principal, request, wire_format, idempotency)
        key, message = ThreadKey(principal.owner, request.thread_id), request.message
        self._shutdown.check()
        if queued := await self.queue.repeated(key.owner, idempotency):
            return queued
        start = partial(self.start, principal, request, wire_format, idempotency)
        if not await self.queue.is_behind(key, request):
            with suppress(RunInProgress, QuestionWaits):
                return await start()
        if request.branch and message and await self.queue.holds(key, message.id):
            return await start()
        entry = await self._store.get(key)
        self._starts.check_queued(request, entry, self._hooks.rights(principal))
        request = await self.reach.start_on_known(principal, request)
        queued = await self.queue.add(principal, key, request, wire_format, idempotency)
        # Otherwise the thread is gone, or the key names a request: one that waits, or a run.
        return queued or await self.queue.repeated(key.owner, idempotency) or await start()

    async def _queue_later(
        self,
        principal: Principal,
        request: TurnRequest,
        wire_format: str,
        idempotency: IdempotencyKey | None,
    ) -> QueuedRun:
        """Queue a request that is due later, on a new thread too. Where it does not wait for others
        (`on_busy`), it stops the live run or takes it back, and takes the place of requests that
        are not due yet. Raises as `start_or_queue` does."""
        key = ThreadKey(principal.owner, request.thread_id or "")
        self._shutdown.check()
        if queued := await self.queue.repeated(key.owner, idempotency):
            return queued
        if not may_wait(request):
            raise InvalidRequest(
                "unsupported_option", "after_seconds is for runs that may wait: leave it out."
            )
        entry = await self._store.get(key)
        self._starts.check_queued(request, entry, self._hooks.rights(principal))
        if entry is None and not request.begins_thread:
            raise UnknownThread(key)
        replaces = request.on_busy in ("stop", "rollback")
        replaced = await self.queue.to_replace(key) if replaces else ()
        is_new = entry is None and await self.create(
            principal, key.thread_id, request.graph, request.thread_metadata
        )
        if not is_new:
            request = await self.reach.start_on_known(principal, request)
        live = await self._store.holder(key)
        if replaces and live and request.on_busy == "rollback":
            await self.roll_back(principal, key, live, wire_format)
        elif replaces and live:
            await self.stop(key, live)
        asked = (principal, key, request, wire_format, idempotency)
        queued = await self.queue.add(*asked, replaced)
        if queued is None:
            queued = await self.queue.repeated(key.owner, idempotency)
        if queued is None:
            raise UnknownThread(key)
        return queued

    async def _begin_queued(self, key: ThreadKey, run_id: str, by: Principal | None) -> bool:
        """Begin the run of a queued request, and return when the request is kept. `by` posted it;
        None: the caller as they are stored. False: it is not its turn. Raises as `start` does."""
        self._shutdown.check()
        if self.others:
            await self.others.check()
        self._capacity.check_room(self._claims)
        async with self._claims.take_queued(key, run_id) as taken:
            if taken is None:
                return False
            claim, queued = taken
            if queued.problem:
                raise InvalidRequest(*queued.problem, 409)
            if by is None or by.owner != key.owner:  # The thread has another owner by now.
                by = poster(queued)
            rights, format = self._hooks.rights(by), queued.wire_format
            run = await self._planned(queued.request, format, rights, by, (), claim)
        with suppress(StreamLost):
            await self._accepted(run, claim, is_keyed=True)
        return True

    async def _planned(
        self,
        request: TurnRequest,
        wire_format: str,
        rights: Rights,
        by: Principal,
        stopped: Collection[str],
        claim: Claim,
    ) -> Run:
        """Plan a request on its thread, which is claimed, and set its run going."""
        await self._capacity.check_live(self._claims, rights, self.others)
        if claim.thread is not None:
            request = await self.reach.start_on_known(rights.principal, request)
        start = await self._starts.make(claim, request, wire_format, rights, by, stopped)
        start = await self._hooks.admit(start)
        return await self._begin(start, claim, request, by)

    async def _take(
        self,
        key: ThreadKey,
        idempotency: IdempotencyKey | None,
        begin: Callable[[Claim], Awaitable[Run]],
    ) -> LoggedRun | Held | Repeated | Hidden:
        """Claim the thread, begin the run and wait until its request is on disk; or return what is
        in the way."""
        while True:
            self._shutdown.check()
            if self.others:
                await self.others.check()
            try:
                async with self._claims.take(key, idempotency) as result:
                    if not isinstance(result, Claim):
                        return result
                    run = await begin(result)
                return await self._accepted(run, result, is_keyed=idempotency is not None)
            except LeaseLost:
                continue  # Nothing was written, or the key tells what was.

    async def _begin(
        self, start: RunStart, claim: Claim, request: TurnRequest, by: Principal
    ) -> Run:
        if start.plan.is_new_thread and claim.thread is None:
            await self._capacity.take_new_thread(start.rights)
        audit = self._hooks.audit
        also = [*audit.started(start, by.id), *await self._hooks.run_begins(start)]
        self._claims.set_plan(claim.run_id, start.plan)
        checkpoints, plan = self._graphs.checkpoints(start.graph), start.plan
        run = Run(start, checkpoints, self._store, claim.log, claim.stop, audit.watch(start))
        await self._store.begin_run(
            claim.key,
            claim.run_id,
            request.title,
            start.graph,
            also,
            # Without new messages, a newer checkpoint comes only when the graph has worked.
            base=None if plan.new is None else plan.base or "",
            closes_approvals=plan.closes_approvals,
            words=plan.first_words,
            record=request.record,
            metadata=request.thread_metadata,
            begun=run.begun if claim.thread is None else ignored,
            joins_next=plan.brings_input,
        )
        goes_on = plan.new is None and plan.point is None
        self._held_calls.begin_run(claim.key.checkpoint_key, goes_on=goes_on)
        worked = partial(self._held_calls.end_run, claim.key.checkpoint_key)
        self._lives.begin(run, claim, worked, partial(self.queue.wake, claim.key))
        return run

    async def _accepted(self, run: Run, claim: Claim, *, is_keyed: bool) -> LoggedRun:
        """The run, once its request is on disk. Raises StreamLost, and why it is not kept; of a
        request under an idempotency key LeaseLost."""
        refusal = await asyncio.shield(run.accepted)
        if isinstance(refusal, LeaseLost) and not is_keyed:
            return await self._busy.await_takeover(
                claim.key, claim.run_id, run.start.plan.new_message_ids
            )
        if refusal:
            raise refusal
        header = await claim.log.header()
        if header is None:
            raise StreamLost(claim.key, claim.run_id)
        return LoggedRun(header, claim.log)

    async def _repeated(self, owner: str, earlier: Repeated, over: str | None) -> LoggedRun | None:
        """The run of an earlier request. None: it is over, or its request was not kept, and then
        its key is free. Raises StreamLost if the key still names a run that is `over`."""
        key = ThreadKey(owner, earlier.thread_id)
        if earlier.run_id == over:
            raise StreamLost(key, earlier.run_id)
        if not earlier.same_body:
            raise InvalidRequest(
                "idempotency_key_reused",
                "The Idempotency-Key was used for another body; take a new key.",
            )
        return await self._busy.find_repeated(key, earlier.run_id)

    async def check(self) -> None:
        """Raises ShuttingDown, or StorageUnavailable, if no run can begin now."""
        self._shutdown.check()
        if self.others:
            await self.others.check()
        await self._store.holder(ThreadKey(LOCAL_OWNER, ""))

    async def create(
        self,
        principal: Principal,
        thread_id: str,
        graph: str | None = None,
        metadata: Metadata | None = None,
    ) -> ThreadEntry | None:
        """Make a thread without a run, for a graph. None: there is one. Raises ShuttingDown,
        TooManyRuns, Forbidden, LimitExceeded."""
        self._shutdown.check()
        await self._capacity.take_new_thread(self._hooks.rights(principal))
        key = ThreadKey(principal.owner, thread_id)
        while (created := await self._store.create(key, graph, metadata)) is None:
            await self.deletions.delete(key, at_once=True)
        return created.entry if created.is_new else None

    async def copy(
        self, principal: Principal, source: ThreadKey, thread_id: str
    ) -> ThreadEntry | None:
        """Copy a thread. None: there is no such thread. Raises RunInProgress, and as `create`
        does."""
        self._shutdown.check()
        if await self._store.get(source) is None:
            return None
        await self._capacity.take_new_thread(self._hooks.rights(principal))
        copied = await self._store.copy(source, ThreadKey(source.owner, thread_id))
        if copied is not None and copied.run_state == "live":
            raise RunInProgress(source, copied.run_id)
        return copied

    async def stop(self, key: ThreadKey, only: str | None = None) -> ThreadEntry | None:
        """End the thread's live run, if it has one, and wait until the thread is saved and free;
        `only`: if it is this one, since one that has waited may be live by now.

        The thread's entry then says how that run ended, though another may have begun behind it;
        without one, how the last run did. None: there is no such thread.
        """
        run_id = await self._store.holder(key)
        if only is not None and only != run_id:
            return await self._store.get(key)
        if run_id:
            await self._busy.end(key, run_id)
        self._held_calls.abandon(key.checkpoint_key)
        entry = await self._store.get(key)
        if entry and run_id and entry.run_id != run_id:
            stopped = await self.reader.find(key, run_id)
            if stopped:
                end = told_end(await told_so_far(stopped.log))
                return replace(entry, run_id=run_id, run_state=end)
        return entry

    async def roll_back(
        self, principal: Principal, key: ThreadKey, run_id: str, wire_format: str
    ) -> None:
        """End a live run, and take the thread back to where the run began; one that is over stays.
        Raises InvalidRequest if it cannot be taken back, and what `start` does."""
        if await self._store.holder(key) != run_id:
            return
        base = await self._busy.base_of(key, run_id)
        async with self.queue.holding(key):
            await self.stop(key, run_id)
            back = TurnRequest(
                key.thread_id, update=StateUpdate(), head=base, drops_left=True, based_on=run_id
            )
            run = await self.start(principal, back, wire_format)
            await run.log.ended()

    def ask_to_stop(self, key: ThreadKey, run_id: str) -> None:
        """Ask a run to end, and wait for nothing; it may be over."""
        if self.others and not self._claims.holds(run_id):
            self.others.ask_to_stop(key, run_id, STOPPED)
        self._claims.ask_to_stop(run_id, STOPPED)

    def abandon(self, key: ThreadKey, run_id: str, *, is_listed: bool = True) -> None:
        """Ask a run to end, or withdraw its request if it waits for its turn (`is_listed`: see
        `QueueStore.withdraw`), and wait for nothing."""

        async def withdraw() -> None:
            if not await self.queue.withdraw(key, run_id, is_listed=is_listed):
                self.ask_to_stop(key, run_id)

        self._retries.begin(withdraw)

    async def delete(self, key: ThreadKey, *, at_once: bool = False) -> float | None:
        """Its live run is stopped first, and none can begin. The Unix time until which the thread
        can be brought back; None: it cannot, or there is none."""
        self._held_calls.abandon(key.checkpoint_key)
        async with self.queue.holding(key):
            return await self.deletions.delete(key, at_once=at_once)

    def delete_at_end(self, run: LoggedRun) -> None:
        """Delete the run's thread as soon as the run is over and nobody reads it here, and wait for
        nothing. If the server ends before, the thread stays."""

        async def delete() -> None:
            await run.log.ended()
            while (await run.log.status()).readers:  # noqa: ASYNC110  readers leave without a word
                await asyncio.sleep(UNREAD_POLL_SECONDS)
            await self.delete(run.header.key, at_once=True)

        self._retries.begin(delete)

    def hurry(self) -> None:
        """Let no live run finish that `drain` waits for: stop them now."""
        self._shutdown.hurry()

    async def drain(self, seconds: float) -> None:
        """Take no new runs, let the live ones finish, and stop those that take longer."""
        draining = asyncio.create_task(self._shutdown.drain(seconds))
        await asyncio.sleep(0)
        self.queue.stop_waiting()
        await draining

    @property
    def live(self) -> int:
        """The number of runs that are live, or have their requests checked."""
        return len(self._claims)

    @property
    def oldest_claim_seconds(self) -> float:
        """The age of the oldest claim of this process, also of a run that is over and whose claim
        cannot be released. May be called on any thread."""
        return self._claims.oldest_seconds

    @property
    def leases_lost(self) -> int:
        """The number of runs of this process, so far, whose leases lapsed."""
        return self._claims.leases_lost

    @property
    def unsaved(self) -> int:
        """After `drain`: how many runs still work, though nobody waits for them any more."""
        return len(self._lives)

    async def close(self) -> None:
        """`drain`, and cancel what could not be saved: the storage is closed next."""
        await self.drain(0)
        await self._lives.cancel()
        if self.others:
            await self.others.close()
        await self._retries.close()
