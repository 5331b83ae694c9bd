"""The runs of this process: at most one live run a thread.

The claim of a thread, the runs' logs and the signal to stop stand behind this one class; another
with the same methods could share them among processes.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import uuid4

from graphs.context import TurnContext
from server.protocols.chunks import Chunk, Done, MessageFinish, Usage
from server.protocols.requests import IdempotencyKey, InvalidRequest, TurnRequest
from server.runs.checkpoints import NEW_THREAD, Checkpoints, ThreadState
from server.runs.client_tools import as_ui_tools
from server.runs.forks import cut_of, with_answers
from server.runs.idempotency import IdempotencyKeys
from server.runs.plan import Plan, plan
from server.runs.run import Run
from server.runs.summary import summary
from server.store import ThreadStore
from tools.catalogue import Catalogue

logger = logging.getLogger(__name__)

STOPPED = {"reason": "stopped"}
SHUTDOWN = {"reason": "shutdown"}


class RunInProgress(Exception):
    """The thread has a live run."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"run {run.id} is live")
        self.run = run


class ShuttingDown(Exception):
    """The server takes no new runs."""


class Runs:
    def __init__(
        self,
        checkpoints: Checkpoints,
        catalogue: Catalogue,
        store: ThreadStore,
        *,
        max_run_seconds: float,
        retention_seconds: float,
        unread_seconds: float = 0,
    ) -> None:
        self.checkpoints = checkpoints
        self._catalogue = catalogue
        self._store = store
        self._max_run_seconds = max_run_seconds
        self._retention_seconds = retention_seconds
        self._unread_seconds = unread_seconds
        self._live: dict[str, Run] = {}
        self._kept: dict[str, Run] = {}
        self._keys = IdempotencyKeys()
        self._deleting: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._draining = False

    @property
    def live(self) -> Mapping[str, Run]:
        """The live runs, by thread."""
        return self._live

    @property
    def kept(self) -> Mapping[str, Run]:
        """The live runs and those that ended a short while ago, by run id."""
        return self._kept

    async def live_run(self, thread_id: str) -> Run | None:
        """The thread's live run; of one whose request is being checked it awaits the outcome."""
        while (run := self._live.get(thread_id)) and run.id not in self._kept:
            await run.decided.wait()
        return run

    async def start(
        self, thread_id: str | None, request: TurnRequest, key: IdempotencyKey | None = None
    ) -> Run:
        """Claim the thread, check the request against it, set the run going, and wait until what
        the request brought is on disk. None: a new thread.

        The same key with the same digest gives the same run. Raises RunInProgress if the thread
        has a live run that is not to be stopped, InvalidRequest if the thread cannot take the
        request, ShuttingDown.
        """
        start = partial(self._start, thread_id, request)
        run = await (self._keys.once(key, start) if key else start())
        await run.begun.wait()
        return run

    async def _start(self, given_id: str | None, request: TurnRequest) -> Run:
        thread_id = given_id or f"thread_{uuid4().hex[:20]}"
        run = await self._claim(thread_id, request)
        try:
            client_tools = as_ui_tools(request.client_tools, self._catalogue)
            run.context = TurnContext(run_id=run.id, client_tools=client_tools)
            state = await self.checkpoints.load(thread_id) if given_id else NEW_THREAD
            run.plan = await self._plan(thread_id, request, state)
            title = request.message.text if request.message else ""
            await self._store.begin_run(thread_id, run.id, title)
        except BaseException:
            self._release(run)
            run.decided.set()
            run.done.set()
            raise
        self._kept[run.id] = run
        run.decided.set()
        task = asyncio.create_task(self._see_through(run), name=f"run {run.id}, its life")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return run

    async def _claim(self, thread_id: str, request: TurnRequest) -> Run:
        while live := await self.live_run(thread_id):
            if request.on_busy != "stop":
                raise RunInProgress(live)
            live.end(STOPPED)
            await live.done.wait()
        if self._draining:
            raise ShuttingDown
        if self._deleting[thread_id]:
            raise InvalidRequest(
                "thread_being_deleted", "The thread is being deleted; start a new one.", 409
            )
        run = self._live[thread_id] = Run(
            thread_id, request.protocol, unread_seconds=self._unread_seconds
        )
        return run

    async def _plan(self, thread_id: str, request: TurnRequest, state: ThreadState) -> Plan:
        """What a broken run left half done is let go of, unless it is to go on; but only for a
        request that holds: one that is refused changes nothing."""
        planned = await self._plan_on(thread_id, request, state)
        if state.unfinished and not request.resume:
            rested = await self.checkpoints.rest(thread_id)
            return await self._plan_on(thread_id, request, rested)
        return planned

    async def _plan_on(self, thread_id: str, request: TurnRequest, state: ThreadState) -> Plan:
        request, cut = cut_of(request, state.messages)
        if cut is None:
            return plan(request, state, self._catalogue)
        if cut.checkpoint_id is None:
            before = NEW_THREAD
        else:
            before = await self.checkpoints.load(thread_id, cut.checkpoint_id)
        cut = with_answers(cut, before.messages, state.messages)
        return plan(request, before, self._catalogue, cut)

    async def _see_through(self, run: Run) -> None:
        """A run's whole life: it works, the thread is saved and free, then its readers hear."""
        last: list[Chunk] = [MessageFinish("error", Usage(0, 0)), Done()]
        try:
            assert run.plan is not None
            last = await run.work(
                self.checkpoints,
                run.plan,
                self._catalogue.awaits_client,
                context=run.context,
                max_seconds=self._max_run_seconds,
            )
            await self._store.end_run(run.thread_id, run.id, run.state)
        except Exception:
            logger.exception("the end of run %s could not be saved", run.id)
        finally:
            self._release(run)
            run.log.extend(last)
            run.begun.set()
            run.done.set()
        loop = asyncio.get_running_loop()
        loop.call_later(self._retention_seconds, self._forget, run)
        logger.info("%s", summary(run))

    def _release(self, run: Run) -> None:
        if self._live.get(run.thread_id) is run:
            del self._live[run.thread_id]

    def _forget(self, run: Run) -> None:
        """Once: after that its key may be another run's."""
        if self._kept.pop(run.id, None):
            self._keys.forget(run)

    async def stop(self, thread_id: str, reason: dict[str, Any] | None = None) -> Run | None:
        """End the thread's live run and wait until the thread is saved and free.

        None: it has no live run, or one whose request was refused meanwhile.
        """
        run = self._live.get(thread_id)
        if run:
            run.end(reason or STOPPED)
            await run.done.wait()
        return run if run and run.state != "live" else None

    async def delete(self, thread_id: str) -> None:
        """Forget a thread for good: its live run is stopped first, and none can begin."""
        self._deleting[thread_id] += 1
        try:
            await self.stop(thread_id)
            for run in [run for run in self._kept.values() if run.thread_id == thread_id]:
                self._forget(run)
            await self.checkpoints.delete(thread_id)
            await self._store.delete(thread_id)
        finally:
            self._deleting -= Counter([thread_id])

    def stop_all(self) -> None:
        """End every live run; each saves what it has."""
        for run in list(self._live.values()):
            run.end(SHUTDOWN)

    async def drain(self, seconds: float) -> None:
        """Take no new runs, let the live ones finish, and stop those that take longer."""
        self._draining = True
        # Runs that are being accepted count too; they have no task yet.
        ends = [asyncio.create_task(run.done.wait()) for run in self._live.values()]
        if ends:
            await asyncio.wait(ends, timeout=seconds)
            self.stop_all()
            await asyncio.wait(ends)
