"""Threads that are taken when a request wants them: by a run of this process or of another worker,
or by one that is over and could not be noted."""

from server.runs.claims import Claims
from server.runs.other_workers import OtherWorkers
from server.runs.reader import RunReader
from server.runs.signals import STOPPED
from server.runs.thread_version import check_may_stop
from server.storage.interfaces import Held, ThreadStore
from server.turns.header import ThreadKey
from server.turns.requests import InvalidRequest, TurnRequest


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
        if request.on_busy != "stop" and await self._is_live(key, held.run_id):
            raise RunInProgress(key, held.run_id)
        await check_may_stop(request, key, held, self._store)
        await self.end(key, held.run_id)

    async def end(self, key: ThreadKey, run_id: str | None) -> None:
        """Stop the run that has claimed the thread, and return when the thread is saved and free.
        None: it is a deletion of another worker, which is waited for."""
        if run_id and self._claims.holds(run_id):
            await self._claims.stop(run_id, STOPPED)
        elif self._others:
            await self._others.end(key, run_id, STOPPED)
        elif run_id:
            # The database is this process's own: the run is over, and could not be noted.
            await self._store.release(key, run_id)

    async def _is_live(self, key: ThreadKey, run_id: str) -> bool:
        """Of a run whose request is being checked it awaits the outcome."""
        if self._claims.holds(run_id):
            run = await self._reader.find(key, run_id)
            # One whose log is lost goes on without.
            return run is not None or self._claims.holds(run_id)
        return self._others is not None and await self._others.is_live(key, run_id)
