"""The whole life of each run of this process: its work, its end, and the log line about it."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from turnstream.server.runs.claims import Claim, Claims
from turnstream.server.runs.first_words import changed_words, follow_words
from turnstream.server.runs.hooks import HookedRun, RunHooks
from turnstream.server.runs.lost_chunks import LOST_END
from turnstream.server.runs.other_workers import OtherWorkers
from turnstream.server.runs.recovery import LostRuns, Recovered
from turnstream.server.runs.run import RequestNotSaved, Run
from turnstream.server.runs.start import RunSettings
from turnstream.server.runs.summary import all_chunks, summary
from turnstream.server.storage.also import Also
from turnstream.server.storage.interfaces import (
    LeaseLost,
    LostRun,
    StorageError,
    StorageUnavailable,
    ThreadStore,
    WaitingApproval,
)
from turnstream.server.storage.run_logs import RunLogs
from turnstream.server.turns.chunks import Chunk, Done, MessageFinish, Usage
from turnstream.server.turns.header import ThreadKey
from turnstream.tools.threads import beside_loop

logger = logging.getLogger(__name__)

Callback = Callable[[], None]
OUTCOME_SECONDS = 15.0
"""Limit on the wait for the outcome of a request while the storage cannot say."""
REFUSED_END: Sequence[Chunk] = (MessageFinish("error", Usage(0, 0)), Done())
"""The end of a run whose request was not kept."""


class StreamLost(Exception):
    """The request is accepted, and its run cannot be streamed: the thread has what came of it."""

    def __init__(self, key: ThreadKey, run_id: str) -> None:
        super().__init__(f"run {run_id} has no log")
        self.key = key
        self.run_id = run_id


class Lives:
    """`others` None: this process has the database to itself."""

    def __init__(
        self,
        store: ThreadStore,
        logs: RunLogs,
        claims: Claims,
        lost_runs: LostRuns,
        settings: RunSettings,
        hooks: RunHooks,
        others: OtherWorkers | None,
    ) -> None:
        self._store = store
        self._logs = logs
        self._claims = claims
        self._lost_runs = lost_runs
        self._settings = settings
        self._hooks = hooks
        self._others = others
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def begin(self, run: Run, claim: Claim, worked: Callback, over: Callback) -> None:
        """Set a run going. `worked` is called when its graph is at rest, `over` when its thread is
        free, unless no request is queued behind it."""
        life = self._see_through(run, claim, worked, over)
        task = asyncio.create_task(life, name=f"run {claim.run_id}, its life")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def cancel(self) -> None:
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _see_through(self, run: Run, claim: Claim, worked: Callback, over: Callback) -> None:
        try:
            hooked = self._hooks.begin(run)
            try:
                chunks = await self._end_of(run, claim, hooked, worked)
            except LeaseLost as lost:
                assert self._others is not None, "one process alone has no leases"
                await self._others.leave(claim)
                run.set_outcome(lost)
                chunks = LOST_END
        finally:
            run.set_outcome(
                StreamLost(claim.key, claim.run_id)
                if run.request_saved
                else StorageUnavailable("storage_unreachable")
            )
            # A request that could not be saved is left to the sweep: the next one fails as fast.
            if run.is_followed and not run.is_refused:
                over()
        hooked.end(chunks)

    async def _end_of(
        self, run: Run, claim: Claim, hooked: HookedRun, worked: Callback
    ) -> Sequence[Chunk]:
        """See a run to its end. Returns all of its chunks. Raises LeaseLost."""
        try:
            await self._live(run, claim, hooked, worked)
        except RequestNotSaved as refused:
            await self._refuse(run, refused.cause)
            return REFUSED_END
        await self._logs.keep(claim.run_id, self._settings.retention_seconds)
        chunks = await all_chunks(claim.log)
        logger.info(summary(run, chunks))
        return chunks

    async def _refuse(self, run: Run, cause: Exception) -> None:
        """Keep nothing of a request that could not be saved, and answer it: as soon as it is known
        whether a part of it was committed nevertheless, or after OUTCOME_SECONDS. Raises
        LeaseLost."""
        run_id, thread = run.start.run_id, run.start.key.thread_id
        run.is_refused = True
        named = {"run": run_id, "thread": thread, "cause": cause}
        logger.warning("run %(run)s of thread %(thread)s was not saved: %(cause)s", named)
        await self._claims.release(run_id, partial(self._undo, run, cause))
        try:
            if not run.accepted.done():
                run.set_outcome(await self._outcome(run, cause))
        finally:
            self._claims.forget(run_id)
            await self._logs.discard(run_id)

    async def _undo(self, run: Run, cause: Exception) -> None:
        """Undo `begin_run` and refuse the request. If the request was committed after all, end the
        run and accept it. Raises as the store does."""
        lost = _as_lost(run)
        if not await self._store.holds_alone(lost.key, lost.run_id):
            return  # An earlier try was committed without an answer.
        found = await self._found(lost)
        if found and found.has_request:
            await self._lost_runs.end(lost, found)
            run.set_outcome(StreamLost(lost.key, lost.run_id))
        else:
            await self._claims.refuse(lost.run_id)
            run.set_outcome(cause)

    async def _found(self, lost: LostRun) -> Recovered | None:
        """Recover a run; None if its graph cannot take what the request brings."""
        try:
            return await self._lost_runs.recover(lost)
        except StorageError:
            raise
        except Exception:
            logger.exception("run %(run)s cannot be saved", {"run": lost.run_id})
            return None

    async def _outcome(self, run: Run, cause: Exception) -> Exception:
        """Look up, while the undoing is retried, whether the request was committed. If it was,
        others see it in the thread once the run has been ended: wait for that."""
        kept: bool | None = None
        with suppress(StorageUnavailable):
            kept = await self._lost_runs.has_request(_as_lost(run))
        if kept is False:
            return cause
        with suppress(TimeoutError):
            async with asyncio.timeout(OUTCOME_SECONDS):
                await self._claims.released(run.start.run_id)
            return LeaseLost()  # No effect if `_undo` has set the outcome.
        return StreamLost(run.start.key, run.start.run_id) if kept else cause

    async def _live(self, run: Run, claim: Claim, hooked: HookedRun, worked: Callback) -> None:
        """It works, the thread is saved and free, then its readers hear. Raises LeaseLost."""
        last: list[Chunk] = [MessageFinish("error", Usage(0, 0)), Done()]
        try:
            try:
                last = await run.work()
            finally:
                worked()
            after = await hooked.after_run(last)
            also = [*self._hooks.audit.ended(run, last), *after]
            await self._claims.release(claim.run_id, partial(self._end, run, also))
        except (LeaseLost, RequestNotSaved):
            last = []
            raise
        except Exception:
            logger.exception("run %(run)s broke off", {"run": claim.run_id})
            await self._break_off(claim)
        finally:
            await self._charge(run)
            if last:
                with self._claims.telling_end(claim.run_id):
                    await run.log.write(last)

    async def _charge(self, run: Run) -> None:
        """Count the tokens of a run, however it ended."""
        try:
            if run.tokens:
                await run.start.rights.charge_tokens(await run.tokens.total())
        except Exception:
            logger.exception("run %(run)s: its tokens are not counted", _named(run))

    async def _break_off(self, claim: Claim) -> None:
        """Release the claim of a run whose end could not be made."""
        if self._claims.is_held(claim.run_id):
            also = self._hooks.audit.interrupted(claim.key, claim.run_id)
            release = partial(self._store.release, claim.key, claim.run_id, also)
            await self._claims.release(claim.run_id, release)

    async def _end(self, run: Run, also: Also) -> None:
        """Note the end of a run, behind the title that its thread has then: a process that dies
        between them leaves a live run, which is recovered."""
        waiting: Sequence[WaitingApproval] = ()
        try:
            await self._follow_words(run)
            waiting = await run.waiting_approvals(self._settings.approval_seconds)
        except StorageError:
            raise
        except Exception:
            logger.exception("run %(run)s ends without a look at its thread", _named(run))
        key, run_id = run.start.key, run.start.run_id
        run.is_followed = await self._store.end_run(key, run_id, run.state, also, waiting)

    async def _follow_words(self, run: Run) -> None:
        thread = run.translator.thread
        if run.translator.added is not None:
            before = run.start.plan.after.messages
            words = await beside_loop(len(thread), partial(changed_words, before, thread))
            if words:
                await follow_words(self._store, run.start.key, words)


def _named(run: Run) -> dict[str, str]:
    return {"run": run.start.run_id}


def _as_lost(run: Run) -> LostRun:
    start = run.start
    return LostRun(start.key, start.run_id, start.graph, base=start.plan.base or "")
