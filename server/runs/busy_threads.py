"""Threads that are taken when a request wants them: by a run of this process or of another worker,
or by one that is over and could not be noted."""

import asyncio
from collections.abc import Collection

from turnstream.server.runs.claims import Claims
from turnstream.server.runs.deadline import in_time
from turnstream.server.runs.lives import StreamLost
from turnstream.server.runs.other_workers import OtherWorkers
from turnstream.server.runs.reader import LoggedRun, RunReader
from turnstream.server.runs.signals import STOPPED
from turnstream.server.runs.thread_version import check_may_stop
from turnstream.server.storage.interfaces import Held, StorageUnavailable, ThreadStore
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import InvalidRequest, TurnRequest

POLL_SECONDS = 0.5


class RunInProgress(Exception):
    """The thread has a live run."""

    def __init__(self, key: ThreadKey, run_id: str) -> None:
        super().__init__(f"run {run_id} is live")
        self.key = key
        self.run_id = run_id


class BusyThreads:
    """`others` None: this process has the database to itself."""

    def __init__(
        self,
        claims: Claims,
        reader: RunReader,
        store: ThreadStore,
        others: OtherWorkers | None,
    ) -> None:
        self._claims = claims
        self._reader = reader
        self._store = store
        self._others = others

    async def make_way(self, key: ThreadKey, held: Held, request: TurnRequest) -> None:
        """Return when the claim may be tried again. Raises RunInProgress if a live run is not to be
        stopped, ThreadChanged if it may not be by this request, InvalidRequest if the thread is
        being deleted."""
        if held.run_id is None:
            if self._others and await self._others.complete_deletion(key):
                return
            raise InvalidRequest(
                "thread_being_deleted", "The thread is being deleted; start a new one.", 409
            )
        stops = request.on_busy in ("stop", "rollback")
        if not stops and await self._is_live(key, held.run_id):
            raise RunInProgress(key, held.run_id)
        await check_may_stop(request, key, held, self._store)
        if request.on_busy == "rollback" and await self._is_live(key, held.run_id):
            await self.base_of(key, held.run_id)
        await self.end(key, held.run_id)

    async def base_of(self, key: ThreadKey, run_id: str) -> str:
        """The checkpoint to which the thread goes back without this run; empty: it began the
        thread. Raises InvalidRequest if the run brought nothing, and goes on from another one."""
        base = await self._store.run_base(key, run_id)
        if base is None:
            raise InvalidRequest(
                "value_not_allowed",
                "The live run goes on from where an earlier one stopped: it can be interrupted, "
                "not rolled back.",
            )
        return base

    async def end(self, key: ThreadKey, run_id: str | None) -> None:
        """Stop the run that has claimed the thread, and return when the thread is saved and free.
        None: it is a deletion of another worker, which is waited for. Raises ThreadStillBusy; the
        run is still asked to end."""
        async with in_time():
            if run_id and self._claims.holds(run_id):
                await self._claims.stop(run_id, STOPPED)
            elif self._others:
                await self._others.end(key, run_id, STOPPED)
            elif run_id and not await self._claims.released(run_id):
                await self._release(key, run_id)

    async def _release(self, key: ThreadKey, run_id: str) -> None:
        """Release a claim that nothing in this process holds."""
        entry = await self._store.get(key)
        if entry and entry.run_id == run_id:
            await self._store.release(key, run_id)
        else:
            await self._store.refuse_run(key, run_id)

    async def find_repeated(self, key: ThreadKey, run_id: str) -> LoggedRun | None:
        """The run of an earlier request, once it is known whether that request is kept. None: the
        run is over, or the request was not kept. Raises StreamLost if the request is kept, and its
        run goes on without a log; ThreadStillBusy."""
        async with in_time():
            while True:
                run = await self._reader.find(key, run_id)
                if run or not await self._has_claim(key, run_id):
                    return run
                if await self._reader.has_request(key, run_id) is not False:
                    raise StreamLost(key, run_id)
                await asyncio.sleep(POLL_SECONDS)

    async def await_takeover(
        self, key: ThreadKey, run_id: str, new_ids: Collection[str]
    ) -> LoggedRun:
        """The run that this process has lost, once another worker has ended it; its request brings
        new messages of these ids. Raises StreamLost if the request is kept and the run has no log,
        StorageUnavailable if it is not kept, ThreadStillBusy."""
        run = await self.find_repeated(key, run_id)
        if run:
            return run
        has_request = await self._reader.has_request(key, run_id)
        if has_request or await self._reader.has_messages(key, new_ids):
            raise StreamLost(key, run_id)
        raise StorageUnavailable("storage_unreachable")

    async def _has_claim(self, key: ThreadKey, run_id: str) -> bool:
        """Return True while the run has its claim. Ends the run if its worker is gone."""
        if self._others:
            return await self._others.is_claimed(key, run_id)
        return await self._store.holder(key) == run_id

    async def _is_live(self, key: ThreadKey, run_id: str) -> bool:
        """Check that a run is live. Of one whose request is being checked it awaits the outcome."""
        if self._claims.holds(run_id):
            run = await self._reader.find(key, run_id)
            # One whose log is lost goes on without.
            return run is not None or self._claims.holds(run_id)
        return self._others is not None and await self._others.is_live(key, run_id)
