"""LangGraph SDK: threads with their states and their history.

The state of a thread without a run is empty, as that of a thread that is not there: clients also
name threads that nobody has made yet.
"""

import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from pydantic import Field
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.formats import fields
from turnstream.server.formats.fields import Fields, Text, read
from turnstream.server.formats.langgraph import snapshot
from turnstream.server.formats.langgraph.api.assistants import graph_named
from turnstream.server.formats.langgraph.api.bodies import (
    LISTED,
    MAX_SEARCHED,
    METADATA,
    Limit,
    Nothing,
    Offset,
    has,
)
from turnstream.server.formats.langgraph.snapshot import SavedThread, checkpoints
from turnstream.server.http import operations
from turnstream.server.http.operations import Answer, Operation, component, says
from turnstream.server.http.problems import Problem, unknown_thread
from turnstream.server.http.state import ApiRequest, owner, principal, thread_key
from turnstream.server.http.thread_json import as_json, written
from turnstream.server.storage.interfaces import ThreadEntry, ThreadRunState
from turnstream.server.storage.thread_metadata import (
    MAX_METADATA_CHARS,
    Metadata,
    MetadataTooLarge,
    metadata_text,
)
from turnstream.server.turns import problem_codes
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.messages import Turn
from turnstream.server.turns.problem_codes import STORAGE, pick
from turnstream.server.turns.requests import InvalidRequest
from turnstream.tools.threads import beside_loop

MAX_HISTORY_BYTES = 20_000_000
"""The size of a history, whose states each have all messages up to a boundary. Older states are
left out."""


class Found(NamedTuple):
    entry: ThreadEntry
    thread: SavedThread


def new_thread_id() -> str:
    return f"thread_{secrets.token_hex(10)}"


async def find_thread(request: ApiRequest, key: ThreadKey | None = None) -> Found | None:
    """Load the thread, by default that of the address, as of one moment, a live run as far as it
    goes: once more if a run began or ended meanwhile. None: there is no such thread."""
    store, key = request.state["store"], key or thread_key(request)
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
    return SavedThread(thread_id, turns, snapshot.messages(turns), **rest)


async def branch_at(request: ApiRequest, found: Found, checkpoint_id: str) -> SavedThread:
    """Find the checkpoint in the thread, or in a branch that it has left. Raises InvalidRequest if
    none has it."""
    async with aclosing(branches_of(request, found)) as branches:
        async for branch in branches:
            if checkpoint_id in dict(checkpoints(branch.messages)):
                return branch
    raise snapshot.unknown_checkpoint(checkpoint_id)


async def branches_of(request: ApiRequest, found: Found) -> AsyncGenerator[SavedThread]:
    """The thread, then the branches that it has left; these are read when they are asked for."""
    (entry, thread), reader = found, request.state["reader"]
    yield thread
    left = reader.left_branches(thread_key(request), entry.graph)
    async with aclosing(left) as branches:
        async for head, turns in branches:
            show = partial(_shown, thread.thread_id, turns, head=head)
            yield await beside_loop(len(turns), show)


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
        states = checkpoints(thread.messages)
        path = [id for id, _ in states][::-1]
        if paths and paths[0][-1] in path:
            continue
        paths.append(path)
        # All branches that have a message have the same messages before it.
        new = [(id, count) for id, count in states if id not in known]
        known.update(path)
        if not is_behind:
            ids = [id for id, _ in new]
            is_behind = before in ids
            new = new[ids.index(before) + 1 :] if before in ids else []
        texts = await written(thread.messages if new else ())
        light = await beside_loop(len(texts), partial(_light, thread.messages, texts))
        for id, count in new[: limit - len(pieces)]:
            shown = texts if count == len(texts) else light[:count]
            piece = _with_values(thread, shown, snapshot.state(thread, count, created_at))
            size += len(piece)
            if pieces and size > MAX_HISTORY_BYTES:
                break
            pieces[id] = piece
        if len(pieces) == limit or size > MAX_HISTORY_BYTES:
            break
    if before is not None and not is_behind:
        raise snapshot.unknown_checkpoint(before)
    ids = [*pieces] if before is not None else _ancestors_last(pieces, paths)
    return b"[" + b",".join(pieces[id] for id in ids) + b"]"


def _light(messages: Sequence[Any], texts: Sequence[bytes]) -> Sequence[bytes]:
    """The texts of messages, without their images."""
    pairs = zip(messages, texts, strict=False)
    smaller = [(snapshot.without_images(message), message, text) for message, text in pairs]
    return [text if light is message else as_json(light) for light, message, text in smaller]


def _ancestors_last(ids: Iterable[str], paths: Sequence[Sequence[str]]) -> list[str]:
    """Order the states so that each comes after its descendants; of two siblings, the one of the
    earlier branch comes first. `paths` are the branches, each from its beginning.

    `useStream` takes the last state that has a message for the one that it is first seen in, and
    the first that follows a state for the way to the thread as it is.
    """
    first = {id: place for place, path in [*enumerate(paths)][::-1] for id in path}
    in_order = sorted(paths, key=lambda path: [first[id] for id in path])
    listed = [id for path in in_order for id in reversed(path)]
    last = {id: place for place, id in enumerate(listed)}
    return sorted(ids, key=last.__getitem__)


async def _state_response(thread: SavedThread, count: int, rest: Mapping[str, Any]) -> Response:
    """Answer with one object: the `values` after the first `count` messages, and `rest`."""
    body = _with_values(thread, await written(thread.messages[:count]), rest)
    return Response(body, media_type=operations.JSON)


def _with_values(thread: SavedThread, texts: Sequence[bytes], rest: Mapping[str, Any]) -> bytes:
    """Write a state whose messages are these; only the newest one has the graph's own values."""
    is_newest = len(texts) == len(thread.messages) and not thread.head
    own = thread.graph_state if is_newest else None
    members = (b",", as_json(own)[1:-1]) if own else ()
    values = b"".join((b'{"messages":[', b",".join(texts), b"]", *members, b"}"))
    return b"".join((b'{"values":', values, b",", as_json(rest)[1:]))


ThreadStatus = Literal["idle", "busy", "interrupted", "error"]
RunStatus = Literal["running", "success", "interrupted", "error"]
State = Annotated[Mapping[str, Any], component("LangGraph.State")]
Interrupts = list[Annotated[Mapping[str, Any], component("LangGraph.Interrupt")]]

PAGE_SIZE = 100
_GRAPH_KEYS = ("graph_id", "assistant_id")
"""The keys of a thread's metadata that name its graph."""
STATUSES: Mapping[ThreadRunState, tuple[ThreadStatus, RunStatus]] = {
    "live": ("busy", "running"),
    "finished": ("idle", "success"),
    "waiting": ("interrupted", "interrupted"),
    "stopped": ("idle", "interrupted"),
    "failed": ("error", "error"),
    "interrupted": ("idle", "error"),
}
"""By the state of a thread's last run: the status of the thread, and of the run."""


class LangGraphBareThreadJson(TypedDict):
    thread_id: str
    created_at: operations.Time
    updated_at: operations.Time
    metadata: Annotated[Mapping[str, Any], component("LangGraph.Metadata")]
    status: ThreadStatus
    config: Nothing


class LangGraphThreadJson(LangGraphBareThreadJson):
    """A thread. The values of a thread that no run has begun are null, or left out if the thread
    was there when its id was asked for."""

    interrupts: Annotated[Mapping[str, Interrupts], says("By their ids.")]
    values: NotRequired[Annotated[Mapping[str, Any], component("LangGraph.Values")] | None]


class LangGraphFirstMessageJson(TypedDict):
    type: Literal["human"]
    content: str


class LangGraphTitleJson(TypedDict):
    messages: Annotated[list[LangGraphFirstMessageJson], Field(max_length=1)]


class LangGraphThreadEntryJson(LangGraphBareThreadJson):
    interrupts: Nothing
    values: Annotated[LangGraphTitleJson, says("The title as the first message.")]


_STATE = Answer("The state; an empty one while no run has begun the thread.", "LangGraph.State")


class GraphMetadata(Fields):
    graph_id: Text | None = None


class LangGraphNewThreadBody(Fields):
    thread_id: Annotated[fields.ThreadId, component("ThreadId")] | None = None
    if_exists: Annotated[Any, says("With `do_nothing` an existing thread is the answer.")] = None
    metadata: Annotated[
        dict[str, Any] | None,
        *METADATA,
        fields.FITTING_JSON,
        says("Kept with the thread. `graph_id`: the graph of a first run that names none."),
    ] = None


class LangGraphThreadChangesBody(Fields):
    metadata: Annotated[
        dict[str, Any] | None, *METADATA, fields.FITTING_JSON, says("Each value takes its place.")
    ] = None


class LangGraphCountBody(Fields):
    status: Annotated[Any, says("`idle`, `busy`, `interrupted` or `error`.")] = None
    metadata: Annotated[
        dict[str, Any] | None,
        *METADATA,
        says("Values that a thread's metadata has; `graph_id` or `assistant_id`: its graph."),
    ] = None


class LangGraphSearchBody(LangGraphCountBody):
    limit: Limit | None = None
    offset: Offset | None = None


class Checkpoint(Fields):
    checkpoint_id: Text | None = None


class LangGraphStateBody(Fields):
    checkpoint: Checkpoint | None = None


class LangGraphHistoryBody(Fields):
    limit: Limit | None = None
    before: Annotated[
        Any, component("LangGraph.Before"), says("A checkpoint: the states before it.")
    ] = None

    @property
    def before_id(self) -> str | None:
        """Raises InvalidRequest."""
        before = self.before
        place = before if isinstance(before, dict) else {"checkpoint_id": before}
        return read(Checkpoint, place.get("configurable", place), None, "before").checkpoint_id


@Operation(
    "langgraphCreateThread",
    Answer("The thread.", LangGraphThreadJson),
    problem_codes.CAPACITY
    | STORAGE
    | pick("invalid_body", "invalid_thread_id", "thread_exists", "assistant_not_found")
    | pick("limit_exceeded", "invalid_text", "invalid_json_value", "value_too_long"),
    body=LangGraphNewThreadBody,
    examples={
        "a new one": {},
        "one with an id of the client's": {"thread_id": "t1"},
        "one for a graph": {"metadata": {"graph_id": "chat"}},
    },
)
async def create_thread(request: ApiRequest) -> Response:
    """Make a thread.

    Runs that name no graph begin on the graph of `metadata`, runs that name another on theirs.
    """
    reading = partial(read, LangGraphNewThreadBody, limits=request.state["body_limits"])
    asked, _ = await request.state["bodies"].read(request, reading)
    id = asked.thread_id or new_thread_id()
    given = asked.metadata or {}
    named = read(GraphMetadata, given, None, "metadata").graph_id
    graph = None if named is None else graph_named(request, named)
    entry = await request.state["store"].get(ThreadKey(owner(request), id))
    if entry is None:
        _check_size(given)
        entry = await request.state["runs"].create(principal(request), id, graph)
        kept = await _merge(request, id, given) if given else {}
        return JSONResponse({**_thread(request, entry, kept), "interrupts": {}, "values": None})
    if asked.if_exists != "do_nothing":
        raise Problem(409, "thread_exists", f"There is a thread {id!r} already.")
    kept = await _kept(request, id)
    return JSONResponse({**_thread(request, entry, kept), "interrupts": {}})


@Operation(
    "langgraphUpdateThread",
    Answer("The thread.", LangGraphThreadJson),
    STORAGE
    | pick("invalid_body", "invalid_json_value", "invalid_text", "value_too_long")
    | pick("thread_not_found"),
    body=LangGraphThreadChangesBody,
    examples={"a value": {"metadata": {"topic": "tides"}}, "nothing": {}},
)
async def update_thread(request: ApiRequest) -> Response:
    """Change the metadata of a thread: what it does not name stays."""
    key = thread_key(request)
    reading = partial(read, LangGraphThreadChangesBody, limits=request.state["body_limits"])
    asked, _ = await request.state["bodies"].read(request, reading)
    await _merge(request, key.thread_id, asked.metadata or {})
    entry = await request.state["store"].get(key)
    if entry is None:
        raise unknown_thread(key)
    kept = await _kept(request, key.thread_id)
    return JSONResponse({**_thread(request, entry, kept), "interrupts": {}})


async def _kept(request: ApiRequest, thread_id: str) -> Metadata:
    """Return the metadata that clients have kept with a thread."""
    kept = await request.state["store"].metadata(owner(request), [thread_id])
    return kept.get(thread_id, {})


async def _merge(request: ApiRequest, thread_id: str, changes: Metadata) -> Metadata:
    """Keep metadata, but for the thread's graph: that is what its last run says. Raises Problem,
    InvalidRequest."""
    key = ThreadKey(owner(request), thread_id)
    own = {name: value for name, value in changes.items() if name not in _GRAPH_KEYS}
    try:
        kept = await request.state["store"].merge_metadata(key, own)
    except MetadataTooLarge:
        raise _too_large() from None
    if kept is None:
        raise unknown_thread(key)
    return kept


def _check_size(metadata: Metadata) -> None:
    """Raises InvalidRequest for what no thread may have: ahead of making one."""
    try:
        metadata_text(metadata)
    except MetadataTooLarge:
        raise _too_large() from None


def _too_large() -> InvalidRequest:
    return InvalidRequest(
        "value_too_long", f"The metadata of a thread has at most {MAX_METADATA_CHARS} characters."
    )


@Operation(
    "langgraphSearchThreads",
    Answer("The threads that match.", list[LangGraphThreadEntryJson]),
    STORAGE | pick("invalid_body", "invalid_limit"),
    body=LangGraphSearchBody,
    examples={
        "a page": {"limit": 10, "offset": 0, "status": "idle"},
        "those of a graph": {"metadata": {"graph_id": "chat"}},
    },
)
async def search_threads(request: ApiRequest) -> Response:
    """List threads, newest first."""
    asked, _ = await request.state["bodies"].read(request, partial(read, LangGraphSearchBody))
    limit, offset = asked.limit or LISTED, asked.offset or 0
    found = (await _matching(request, asked, offset + limit))[offset : offset + limit]
    kept = await request.state["store"].metadata(owner(request), [entry.id for entry in found])
    return JSONResponse([_listed(request, one, kept.get(one.id, {})) for one in found])


@Operation(
    "langgraphCountThreads",
    Answer(f"The number of threads that match, of the newest {MAX_SEARCHED}.", int),
    STORAGE | pick("invalid_body"),
    body=LangGraphCountBody,
    examples={"all": {}, "those that wait": {"status": "interrupted"}},
)
async def count_threads(request: ApiRequest) -> Response:
    """Count threads."""
    asked, _ = await request.state["bodies"].read(request, partial(read, LangGraphCountBody))
    return JSONResponse(len(await _matching(request, asked, MAX_SEARCHED)))


async def _matching(request: ApiRequest, asked: LangGraphCountBody, most: int) -> list[ThreadEntry]:
    """Find the newest threads that a body asks for, `most` of them or some more."""
    graphs, status = request.state["graphs"], asked.status
    # None stands for what no thread has.
    given = asked.metadata or {}
    wanted = {
        graphs.find(value) if isinstance(value, str) else None
        for name, value in given.items()
        if name in _GRAPH_KEYS
    }
    kept = {name: value for name, value in given.items() if name not in _GRAPH_KEYS}
    if len(wanted) > 1 or None in wanted:
        return []
    found, cursor = list[ThreadEntry](), None
    for _ in range(MAX_SEARCHED // PAGE_SIZE):
        page = await request.state["store"].page(owner(request), PAGE_SIZE, cursor)
        matching = list[ThreadEntry]()
        for entry in page.entries:
            is_of_graph = not wanted or graphs.name_of(entry) in wanted
            if is_of_graph and status in (None, STATUSES[entry.run_state][0]):
                matching.append(entry)
        if kept:
            ids = [entry.id for entry in matching]
            theirs = await request.state["store"].metadata(owner(request), ids)
            matching = [one for one in matching if has(theirs.get(one.id), kept)]
        found += matching
        cursor = page.cursor
        if not cursor or len(found) >= most:
            break
    return found


@Operation(
    "langgraphGetThread",
    Answer("The thread.", LangGraphThreadJson),
    STORAGE | pick("thread_not_found"),
)
async def get_thread(request: ApiRequest) -> Response:
    """Load a thread with its messages."""
    found = await find_thread(request)
    if found is None:
        raise unknown_thread(thread_key(request))
    entry, thread = found
    asked = snapshot.open_interrupts(thread.turns, thread.interrupts) or []
    kept = await _kept(request, entry.id)
    rest = {**_thread(request, entry, kept), "interrupts": {one["id"]: [one] for one in asked}}
    return await _state_response(thread, len(thread.messages), rest)


@Operation("langgraphDeleteThread", {204: Answer("There is no such thread, or no more.")}, STORAGE)
async def delete_thread(request: ApiRequest) -> Response:
    """Delete a thread.

    A live run is stopped first.
    """
    await request.state["runs"].delete(thread_key(request), at_once=True)
    return Response(status_code=204)


@Operation("langgraphGetState", _STATE, STORAGE)
async def get_state(request: ApiRequest) -> Response:
    """Load the newest state of a thread."""
    return await _state_at(request, None)


async def _state_at(request: ApiRequest, checkpoint_id: str | None) -> Response:
    """The state of a checkpoint; None: the newest."""
    found = await find_thread(request)
    if found is None or not found.entry.run_id:
        return JSONResponse(snapshot.empty_state())
    entry, thread = found
    count = len(thread.messages)
    if checkpoint_id is not None:
        thread = await branch_at(request, found, checkpoint_id)
        count = snapshot.boundary(thread.messages, checkpoint_id)
    return await _state_response(thread, count, snapshot.state(thread, count, entry.updated_at))


@Operation("langgraphGetStateAt", _STATE, STORAGE | pick("unknown_checkpoint"))
async def get_state_at(request: ApiRequest) -> Response:
    """Load the state of a checkpoint."""
    return await _state_at(request, request.path_params["checkpoint_id"])


@Operation(
    "langgraphPostState",
    _STATE,
    STORAGE | pick("invalid_body", "invalid_text", "unknown_checkpoint"),
    body=LangGraphStateBody,
    examples={"the newest": {}, "of a checkpoint": {"checkpoint": {"checkpoint_id": "start"}}},
)
async def get_state_of_checkpoint(request: ApiRequest) -> Response:
    """Load the state of the checkpoint that the body names, or the newest."""
    asked, _ = await request.state["bodies"].read(request, partial(read, LangGraphStateBody))
    return await _state_at(request, asked.checkpoint.checkpoint_id if asked.checkpoint else None)


@Operation(
    "langgraphGetHistory",
    Answer("A state for each message, and one ahead of all.", list[State]),
    STORAGE | pick("invalid_body", "invalid_text", "invalid_limit", "unknown_checkpoint"),
    body=LangGraphHistoryBody,
    examples={
        "of a thread": {"limit": 10},
        "of one that no run has begun": {},
        "before the first state": {"before": {"checkpoint_id": "start"}},
    },
)
async def get_history(request: ApiRequest) -> Response:
    """List the states of a thread, newest first.

    Those of branches that were left come before the states that both branches have.
    """
    asked, _ = await request.state["bodies"].read(request, partial(read, LangGraphHistoryBody))
    limit, before = asked.limit or LISTED, asked.before_id
    found = await find_thread(request)
    if found is None or not found.entry.run_id:
        return JSONResponse([])
    async with aclosing(branches_of(request, found)) as branches:
        body = await history_json(branches, limit, before, found.entry.updated_at)
    return Response(body, media_type=operations.JSON)


def _thread(request: ApiRequest, entry: ThreadEntry, kept: Metadata) -> LangGraphBareThreadJson:
    metadata = {"title": entry.title, **kept}
    if graph := request.state["graphs"].name_of(entry):
        metadata |= {"graph_id": graph, "assistant_id": graph}
    return {
        "thread_id": entry.id,
        "created_at": entry.created_at,
        "updated_at": entry.updated_at,
        "metadata": metadata,
        "status": STATUSES[entry.run_state][0],
        "config": {},
    }


def _listed(request: ApiRequest, entry: ThreadEntry, kept: Metadata) -> LangGraphThreadEntryJson:
    first = LangGraphFirstMessageJson(type="human", content=entry.title)
    title: LangGraphTitleJson = {"messages": [first] if entry.title else []}
    return {**_thread(request, entry, kept), "interrupts": {}, "values": title}
