"""What a process that died left behind: runs that were live, and are no longer."""

import logging

from langchain_core.messages import AIMessage

from server.runs.checkpoints import Checkpoints, ThreadState
from server.runs.finish import broke_off, ended_mark, error_mark
from server.store import ThreadStore
from server.thread_table import ThreadRunState

logger = logging.getLogger(__name__)

_FROM_OUTSIDE = (None, "max_run_seconds", "unread_seconds")
"""What ends a run without its graph: a stop, and the limits that are not the graph's."""


async def settle_lost_runs(store: ThreadStore, checkpoints: Checkpoints) -> None:
    """Give each run that was live the end that its thread tells of.

    A thread with nothing saved goes: its first request was not answered yet. Needs the store and
    the checkpoints to itself, before the first request.
    """
    for entry in await store.live():
        try:
            state = await checkpoints.load(entry.id)
        except Exception:
            # One thread that cannot be read keeps no server from starting.
            logger.exception("thread %s cannot be read", entry.id)
            await store.end_run(entry.id, entry.run_id, "interrupted")
            continue
        if state.checkpoint_id is None:
            await store.delete(entry.id)
        else:
            await store.end_run(entry.id, entry.run_id, _end_of(state))


def _end_of(state: ThreadState) -> ThreadRunState:
    """How the run ended that worked on a thread last. It may have been over, and only not noted; or
    not begun, and the thread is as the run before it left it."""
    last = next((m for m in reversed(state.messages) if isinstance(m, AIMessage)), None)
    ended = ended_mark(last) if last else None
    if state.unfinished:
        return "interrupted"
    if last and error_mark(last):
        return "failed"
    if ended:
        return "stopped" if ended.get("limit") in _FROM_OUTSIDE else "finished"
    return "interrupted" if broke_off(state.messages) else "finished"
