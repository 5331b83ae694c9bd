"""LangGraph SDK: a thread as it is saved, and the branches that it has left."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

from turnstream.server.formats.langgraph.states import SavedThread, unknown_checkpoint
from turnstream.server.http.state import ApiRequest, thread_key
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.turns.header import ThreadKey
from turnstream.tools.threads import beside_loop


@dataclass(frozen=True, slots=True)
class Found:
    entry: ThreadEntry
    thread: SavedThread


async def find_thread(request: ApiRequest, key: ThreadKey) -> Found | None:
    """The thread of one moment, a live run as far as it goes: read again if a run began or ended.
    None: no run has begun it."""
    store = request.state["store"]
    entry = await store.get(key)
    while entry is not None:
        thread = await _read(request, key, entry)
        again = await store.get(key)
        if again == entry:
            return Found(entry, thread)
        entry = again
    return None


async def _read(request: ApiRequest, key: ThreadKey, entry: ThreadEntry) -> SavedThread:
    reader = request.state["reader"]
    live = await reader.find(key, entry.run_id) if entry.run_state == "live" else None
    if live is not None:
        progress = await reader.progress(live)
        of_run = partial(SavedThread.of, key.thread_id, progress.turns)
        return await beside_loop(
            len(progress.turns), partial(of_run, graph_state=progress.graph_state)
        )
    saved = await reader.state(key, entry.graph)
    return await beside_loop(
        len(saved.messages),
        lambda: SavedThread.of(
            key.thread_id, reader.shown(saved), saved.interrupts, saved.graph_state
        ),
    )


async def branch_at(request: ApiRequest, found: Found, checkpoint_id: str) -> SavedThread:
    """The thread, or a branch that it has left, whichever has the checkpoint.

    Raises InvalidRequest if none has.
    """
    async with aclosing(branches_of(request, found)) as branches:
        async for branch in branches:
            if branch.has(checkpoint_id):
                return branch
    raise unknown_checkpoint(checkpoint_id)


async def branches_of(request: ApiRequest, found: Found) -> AsyncGenerator[SavedThread]:
    """The thread, then the branches that it has left; these are read when they are asked for."""
    yield found.thread
    reader, id = request.state["reader"], found.thread.thread_id
    left = reader.left_branches(thread_key(request), found.entry.graph)
    async with aclosing(left) as branches:
        async for head, turns in branches:
            yield await beside_loop(len(turns), partial(SavedThread.of, id, turns, head=head))
