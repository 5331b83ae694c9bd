"""The whole life of each run of this process: its work, its end, what is said of it afterwards."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from server.runs.capacity import charge
from server.runs.claims import Claim, Claims
from server.runs.lost_chunks import LOST_END
from server.runs.other_workers import OtherWorkers
from server.runs.retries import Retries
from server.runs.run import Run
from server.runs.run_audit import RunAudit
from server.runs.searchable import changes
from server.runs.start import RunSettings
from server.runs.summary import all_chunks, summary
from server.storage.audit_records import Records
from server.storage.interfaces import LeaseLost, ThreadStore
from server.storage.run_logs import RunLogs
from server.turns.chunks import Chunk, Done, MessageFinish, Usage

logger = logging.getLogger(__name__)

Observer = Callable[[Run], Callable[[Sequence[Chunk]], None]]
"""Gets a run that begins, in the context that this run has to itself. Gives what gets all that the
run has said, once it is over."""


class Lives:
    """`others` None: this process has the database to itself."""

    def __init__(
        self,
        store: ThreadStore,
        logs: RunLogs,
        claims: Claims,
        retries: Retries,
        audit: RunAudit,
        settings: RunSettings,
        observers: Sequence[Observer],
        others: OtherWorkers | None,
    ) -> None:
        self._store = store
        self._logs = logs
        self._claims = claims
        self._retries = retries
        self._audit = audit
        self._settings = settings
        self._observers = observers
        self._others = others
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def begin(self, run: Run, claim: Claim, *, keyed: bool) -> None:
        """Set a run going; `keyed`: its request came under an idempotency key."""
        life = self._see_through(run, claim, keyed=keyed)
        task = asyncio.create_task(life, name=f"run {claim.run_id}, its life")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def cancel(self) -> None:
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _see_through(self, run: Run, claim: Claim, *, keyed: bool) -> None:
        observed = [observe(run) for observe in self._observers]
        try:
            await self._live(run, claim)
        except LeaseLost:
            assert self._others is not None, "one process alone has no leases"
            await self._others.leave(claim)
            chunks: Sequence[Chunk] = LOST_END
        else:
            await self._retain(claim.run_id, keyed=keyed)
            chunks = await all_chunks(claim.log)
            logger.info(summary(run, chunks))
        for see_end in observed:
            see_end(chunks)

    async def _live(self, run: Run, claim: Claim) -> None:
        """It works, the thread is saved and free, then its readers hear. Raises LeaseLost."""
        last: list[Chunk] = [MessageFinish("error", Usage(0, 0)), Done()]
        try:
            last = await run.work()
            records = await self._audit.ended(run, last)
            await self._retries.write(partial(self._end, run, records))
            await self._note_texts(run, claim)
            await charge(run.start.rights, last)
        except LeaseLost:
            last = []
            raise
        except Exception:
            logger.exception("run %(run)s broke off", {"run": claim.run_id})
        finally:
            if last:
                with self._claims.telling_end(claim.run_id):
                    await run.log.write(last)

    async def _end(self, run: Run, records: Records) -> None:
        waiting = await run.waiting_approvals(self._settings.approval_seconds)
        await self._store.end_run(run.start.key, run.start.run_id, run.state, records, waiting)

    async def _note_texts(self, run: Run, claim: Claim) -> None:
        """Have the search find what the run brought. What fails here is made up for later."""
        # A thread that was made without a run has none before this one either.
        before = (claim.thread.run_id or None) if claim.thread else None
        try:
            changed = changes(run.start, run.translator, before)
            if changed:
                await self._store.note_texts(claim.key, claim.run_id, changed)
        except Exception:
            logger.exception("run %(run)s cannot be searched yet", {"run": claim.run_id})

    async def _retain(self, run_id: str, *, keyed: bool) -> None:
        """Keep a run's log, and the key of its request, for the retention time."""
        seconds = self._settings.retention_seconds
        await self._logs.keep(run_id, seconds)
        if keyed:
            forget = partial(self._store.forget_requests, run_id)
            asyncio.get_running_loop().call_later(seconds, self._retries.begin, forget)
