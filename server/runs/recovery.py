"""After a crash: the runs that were live when the process died."""

import logging

from langchain_core.messages import AIMessage

from graphs import stored
from server.runs.approvals import may_have_run
from server.runs.endings import broke_off
from server.runs.kept_words import restored
from server.runs.run_audit import RunAudit
from server.runs.served_graphs import ServedGraphs
from server.runs.thread_state import ThreadState
from server.runs.waiting_approvals import waiting_approvals
from server.storage.interfaces import ThreadRunState, ThreadStore

logger = logging.getLogger(__name__)

_ENDS_FROM_OUTSIDE = (None, "max_run_seconds", "unread_seconds")
"""What ends a run without its graph: a stop, and the limits that are not the graph's."""


async def end_lost_runs(
    store: ThreadStore,
    graphs: ServedGraphs,
    audit: RunAudit | None = None,
    approval_seconds: float = 0,
) -> None:
    """Give each run that was live the end that its thread shows.

    Of an answer that was being written the thread gets what is kept (`kept_words`).
    A thread with nothing saved is deleted: its first request was not answered yet. Needs the store
    and the checkpoints to itself, before the first request.
    """
    audit = audit or RunAudit()
    for lost in await store.recover():
        try:
            state = await graphs.checkpoints(lost.graph).with_input(lost.key)
        except Exception:
            # One thread that cannot be read keeps no server from starting.
            logger.exception("thread %(thread)s cannot be read", {"thread": lost.key.thread_id})
            records = audit.lost(lost, "interrupted")
            await store.end_run(lost.key, lost.run_id, "interrupted", records)
            continue
        if state.checkpoint_id is None:
            await store.delete(lost.key, audit.lost(lost, "interrupted"))
        else:
            end = _end_of(state)
            words = await store.words(lost.key, lost.run_id) if end == "interrupted" else None
            if words:
                state = await restored(words, state, lost.key, graphs.checkpoints(lost.graph))
            await store.forget_words(lost.key)
            records = audit.lost(lost, end, state)
            waiting = waiting_approvals(state, lost.key, approval_seconds)
            await store.end_run(lost.key, lost.run_id, end, records, waiting)


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
        return "stopped" if ended.get("limit") in _ENDS_FROM_OUTSIDE else "finished"
    if approvals or state.pending("client"):
        return "waiting"
    return "interrupted" if broke_off(state.messages) else "finished"
