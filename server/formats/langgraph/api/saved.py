"""LangGraph SDK: a thread as it is saved, the branches that it has left, and their states as JSON.
Each message is written once, however many states have it."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any

from turnstream.server.formats.langgraph.snapshot import messages
from turnstream.server.formats.langgraph.states import (
    SavedThread,
    checkpoints,
    state,
    unknown_checkpoint,
)
from turnstream.server.http.state import ApiRequest, thread_key
from turnstream.server.http.thread_json import as_json, written
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.messages import Turn
from turnstream.tools.threads import beside_loop

MAX_HISTORY_BYTES = 20_000_000
"""The size of a history, whose states each have all messages up to a boundary. Older states are
left out."""


@dataclass(frozen=True, slots=True)
class Found:
    entry: ThreadEntry
    thread: SavedThread


async def find_thread(request: ApiRequest) -> Found | None:
    """The thread of one moment, a live run as far as it goes: read again if a run began or ended.
    None: no run has begun it."""
    store, key = request.state["store"], thread_key(request)
    entry = await store.get(key)
    while entry is not None:
        thread = await _read(request, key, entry)
        again = await store.get(key)
        if again == entry:
            return Found(entry, thread)
        entry = again
    return None


async def _read(request: ApiRequest, key: ThreadKey, entry: ThreadEntry) -> SavedThread:
    reader, id = request.state["reader"], key.thread_id
    live = await reader.find(key, entry.run_id) if entry.run_state == "live" else None
    if live is not None:
        told = await reader.progress(live)
        show = partial(_shown, id, told.turns, graph_state=told.graph_state)
        return await beside_loop(len(told.turns), show)
    saved = await reader.state(key, entry.graph)
    rest = {"interrupts": saved.interrupts, "graph_state": saved.graph_state}
    return await beside_loop(len(saved.messages), lambda: _shown(id, reader.shown(saved), **rest))


def _shown(thread_id: str, turns: Sequence[Turn], **rest: Any) -> SavedThread:
    return SavedThread(thread_id, turns, messages(turns), **rest)


async def branch_at(request: ApiRequest, found: Found, checkpoint_id: str) -> SavedThread:
    """The thread, or a branch that it has left, whichever has the checkpoint.

    Raises InvalidRequest if none has.
    """
    async with aclosing(branches_of(request, found)) as branches:
        async for branch in branches:
            if checkpoint_id in dict(checkpoints(branch.messages)):
                return branch
    raise unknown_checkpoint(checkpoint_id)


async def branches_of(request: ApiRequest, found: Found) -> AsyncGenerator[SavedThread]:
    """The thread, then the branches that it has left; these are read when they are asked for."""
    yield found.thread
    reader, id = request.state["reader"], found.thread.thread_id
    left = reader.left_branches(thread_key(request), found.entry.graph)
    async with aclosing(left) as branches:
        async for head, turns in branches:
            yield await beside_loop(len(turns), partial(_shown, id, turns, head=head))


async def history_json(
    branches: AsyncIterator[SavedThread], limit: int, before: str | None, created_at: str
) -> bytes:
    """List at most `limit` states: those of the first branch, then the new states of each further
    branch. With `before`, the list begins after the state of that checkpoint; without it, the
    states have the order in which clients find where a message is first seen. A branch that goes on
    where the thread ends is left out: clients would take it for the thread.

    Raises InvalidRequest if no state has the checkpoint `before`.
    """
    known, pieces, size = set[str](), dict[str, bytes](), 0
    paths: list[list[str]] = []
    is_behind = before is None
    async for thread in branches:
        path = [id for id, _ in checkpoints(thread.messages)][::-1]
        if paths and paths[0][-1] in path:
            continue
        paths.append(path)
        states = _new_states(thread, known)
        if not is_behind:
            ids = [id for id, _ in states]
            is_behind = before in ids
            states = states[ids.index(before) + 1 :] if before in ids else []
        texts = await written(thread.messages if states else ())
        for id, count in states[: limit - len(pieces)]:
            piece = _with_values(thread, texts[:count], state(thread, count, created_at))
            size += len(piece)
            if pieces and size > MAX_HISTORY_BYTES:
                break
            pieces[id] = piece
        if len(pieces) == limit or size > MAX_HISTORY_BYTES:
            break
    if before is not None and not is_behind:
        raise unknown_checkpoint(before)
    ids = [*pieces] if before is not None else _ancestors_last(pieces, paths)
    return b"[" + b",".join(pieces[id] for id in ids) + b"]"


def _ancestors_last(ids: Iterable[str], paths: Sequence[Sequence[str]]) -> list[str]:
    """Order the states so that each comes after its descendants; of two siblings, the one of the
    earlier branch comes first. `paths` are the branches, each from its beginning.

    `useStream` takes the last state that has a message for the one that it is first seen in, and
    the first that follows a state for the way to the thread as it is.
    """
    first = {id: place for place, path in [*enumerate(paths)][::-1] for id in path}
    in_order = sorted(paths, key=lambda path: [first[id] for id in path])
    places = {
        id: (place, -depth) for place, path in enumerate(in_order) for depth, id in enumerate(path)
    }
    return sorted(ids, key=places.__getitem__)


def _new_states(thread: SavedThread, known: set[str]) -> Sequence[tuple[str, int]]:
    """Add the unknown states to `known` and return them, the newest first. Each is the id of its
    checkpoint and the number of its messages. All branches that have a message have the same
    messages before it."""
    states = checkpoints(thread.messages)
    new = next((place for place, (id, _) in enumerate(states) if id in known), len(states))
    known |= {id for id, _ in states[:new]}
    return states[:new]


async def state_json(thread: SavedThread, count: int, rest: Mapping[str, Any]) -> bytes:
    """Write one object: the `values` after the first `count` messages, and `rest`."""
    return _with_values(thread, await written(thread.messages[:count]), rest)


def _with_values(thread: SavedThread, texts: Sequence[bytes], rest: Mapping[str, Any]) -> bytes:
    """Only the newest state has the graph's own values."""
    is_newest = len(texts) == len(thread.messages) and not thread.head
    own = thread.graph_state if is_newest else None
    members = (b",", as_json(own)[1:-1]) if own else ()
    values = b"".join((b'{"messages":[', b",".join(texts), b"]", *members, b"}"))
    return b"".join((b'{"values":', values, b",", as_json(rest)[1:]))
