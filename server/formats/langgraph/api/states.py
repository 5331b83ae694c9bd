"""LangGraph SDK: states as JSON. Each message is written once, however many states have it."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from turnstream.server.formats.langgraph.states import (
    SavedThread,
    checkpoints,
    state,
    unknown_checkpoint,
)
from turnstream.server.http.thread_json import as_json, written
from turnstream.server.turns.graph_state import Values

MAX_HISTORY_BYTES = 20_000_000
"""The size of a history, whose states each have all messages up to a boundary. Older states are
left out."""


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
            values = state(thread, thread.messages, count, created_at)
            piece = _with_messages(values, texts[:count], _own_state(thread, len(texts) - count))
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


async def state_json(thread: SavedThread, rest: Mapping[str, Any], count: int | None) -> bytes:
    """Write one object: the `values` after the first `count` messages (None: all) and `rest`."""
    messages = thread.messages
    left = 0 if count is None else len(messages) - count
    return _with_messages(rest, await written(messages[:count]), _own_state(thread, left))


def _own_state(thread: SavedThread, left: int) -> Values:
    """The graph's own values of the state without the last `left` messages. Only the newest state
    has any."""
    return {} if left or thread.head else thread.graph_state or {}


def _with_messages(state: Mapping[str, Any], texts: Sequence[bytes], own: Values) -> bytes:
    values = b"".join((b'{"messages":[', b",".join(texts), b"]", *_members(own), b"}"))
    return b"".join((b'{"values":', values, b",", as_json(state)[1:]))


def _members(own: Values) -> Sequence[bytes]:
    return (b",", as_json(own)[1:-1]) if own else ()
