"""After a crash: the runs that were live when the process died."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage

from turnstream.graphs import stored
from turnstream.graphs.history import from_user
from turnstream.server.runs.approvals import may_have_run
from turnstream.server.runs.endings import ENDS_FROM_OUTSIDE, broke_off
from turnstream.server.runs.first_words import changed_words, first_words, follow_words
from turnstream.server.runs.hooks import RunHooks
from turnstream.server.runs.kept_words import restored
from turnstream.server.runs.served_graphs import ServedGraphs
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.runs.waiting_approvals import waiting_approvals
from turnstream.server.storage.interfaces import LostRun, StorageError, ThreadRunState, ThreadStore
from turnstream.server.storage.titles import is_first_title

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recovered:
    """A lost run as its thread shows it."""

    end: ThreadRunState
    state: ThreadState
    has_request: bool = True
    """True if the thread has what the run's request brought."""

    @property
    def is_empty(self) -> bool:
        """True if the thread has nothing at all."""
        return self.state.checkpoint_id is None


class LostRuns:
    """Gives a run whose process died the end that its thread shows."""

    def __init__(
        self,
        store: ThreadStore,
        graphs: ServedGraphs,
        hooks: RunHooks | None = None,
        approval_seconds: float = 0,
    ) -> None:
        self._store = store
        self._graphs = graphs
        self._audit = (hooks or RunHooks()).audit
        self._approval_seconds = approval_seconds

    async def recover(self, lost: LostRun) -> Recovered:
        """Recover a run. An answer that was being written gets the words that are kept
        (`kept_words`). Raises what reading the thread raises."""
        checkpoints = self._graphs.checkpoints(lost.graph)
        state = await checkpoints.with_input(lost.key)
        end, has_request = _end_of(state), state.checkpoint_id != (lost.base or None)
        if state.checkpoint_id is not None and end == "interrupted":
            words = await self._store.words(lost.key, lost.run_id)
            if words:
                state = await restored(words, state, lost.key, checkpoints)
        return Recovered(end, state, has_request or lost.base is None)

    async def has_request(self, lost: LostRun) -> bool:
        """Return True if a part of the run's request is saved. Writes nothing; raises what reading
        the thread raises."""
        state = await self._graphs.checkpoints(lost.graph).load(lost.key)
        return state.checkpoint_id != (lost.base or None)

    async def end(self, lost: LostRun, found: Recovered) -> None:
        """Note the end, and release the claim. A thread with nothing saved is deleted, unless
        requests wait for it. A request that was not saved was never accepted, so its idempotency
        key is freed; one that was queued waits again."""
        if found.is_empty:
            also = self._audit.lost(lost, "interrupted")
            if await self._store.delete(lost.key, also, unless_queued=True):
                await self._store.release(lost.key, lost.run_id)
                return
        if not found.has_request:
            await self._store.forget_requests(lost.key, lost.run_id)
        await self._store.forget_words(lost.key)
        await self._try_to_follow_words(lost, found.state)
        also = self._audit.lost(lost, found.end, found.state)
        waiting = waiting_approvals(found.state, lost.key, self._approval_seconds)
        await self._store.end_run(lost.key, lost.run_id, found.end, also, waiting)

    async def _try_to_follow_words(self, lost: LostRun, state: ThreadState) -> None:
        """Raises StorageError alone: a graph that cannot read its checkpoints keeps its title."""
        try:
            await self._follow_words(lost, state)
        except StorageError:
            raise
        except Exception:
            logger.exception("run %(run)s: its thread keeps its title", {"run": lost.run_id})

    async def _follow_words(self, lost: LostRun, state: ThreadState) -> None:
        """Title a thread whose graph may have redacted the words that it began with."""
        asked, entry = from_user(state.shown), await self._store.get(lost.key)
        words = first_words(state.shown)
        if entry is None or is_first_title(entry.title, words or ""):
            return
        checkpoints = self._graphs.checkpoints(lost.graph)
        before: Sequence[AnyMessage] = ()
        if lost.base:
            before = (await checkpoints.load(lost.key, lost.base)).shown
        elif asked:
            before = await checkpoints.as_brought(lost.key, asked[0].id)
        changed = changed_words(before, state.shown)
        if changed:
            await follow_words(self._store, lost.key, changed)

    async def give_up(self, lost: LostRun) -> None:
        """The same for a thread that cannot be read."""
        logger.exception("thread %(thread)s cannot be read", {"thread": lost.key.thread_id})
        also = self._audit.lost(lost, "interrupted")
        await self._store.end_run(lost.key, lost.run_id, "interrupted", also)

    async def end_all(self) -> None:
        """End each run that was live. Needs the store and the checkpoints to itself, before the
        first request."""
        for lost in await self._store.recover():
            try:
                found = await self.recover(lost)
            except Exception:  # noqa: BLE001  one thread keeps no server from starting; it is logged
                await self.give_up(lost)
            else:
                await self.end(lost, found)


def _end_of(state: ThreadState) -> ThreadRunState:
    """Decide how the thread's last run ended. It may have finished without the store knowing, or
    never started; then the thread is as the run before left it."""
    last = next((m for m in reversed(state.messages) if isinstance(m, AIMessage)), None)
    ended = stored.ended(last) if last else None
    approvals = state.pending("approval")
    if state.interrupts or any(may_have_run(call, state) for call in approvals):
        return "waiting"
    if state.unfinished:
        return "interrupted"
    if last and stored.error(last):
        return "failed"
    if ended:
        return "stopped" if ended.get("limit") in ENDS_FROM_OUTSIDE else "finished"
    if approvals or state.pending("client"):
        return "waiting"
    return "interrupted" if broke_off(state.messages) else "finished"
