"""LangGraph SDK: the states of a thread, and their history.

The state of a thread without a run is empty, as that of a thread that is not there: clients also
name threads that nobody has made yet.
"""

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing, suppress
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, WithJsonSchema
from starlette.responses import JSONResponse, Response

from turnstream.server.formats import fields
from turnstream.server.formats.fields import Fault, Fields, Text, read
from turnstream.server.formats.langgraph import WIRE_FORMAT, snapshot
from turnstream.server.formats.langgraph.api.bodies import (
    LISTED,
    MAX_LISTED,
    METADATA,
    Limit,
    Select,
    has,
    read_body,
    selected,
)
from turnstream.server.formats.langgraph.snapshot import SavedThread, checkpoints
from turnstream.server.http import chat, operations
from turnstream.server.http.operations import (
    TEXT,
    Answer,
    Operation,
    Parameter,
    component,
    says,
    whole_number,
)
from turnstream.server.http.problems import problem, unknown_thread
from turnstream.server.http.queue import waiting
from turnstream.server.http.state import ApiRequest, owner, principal, thread_key
from turnstream.server.http.thread_json import as_json, written
from turnstream.server.runs.asides import asides_of
from turnstream.server.runs.lives import StreamLost
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.turns import problem_codes
from turnstream.server.turns.chunks import Aside
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.messages import ToolCall, Turn
from turnstream.server.turns.problem_codes import STORAGE, pick
from turnstream.tools.threads import beside_loop

State = Annotated[Mapping[str, Any], component("LangGraph.SomeState")]
MAX_HISTORY_BYTES = 20_000_000
"""The size of a history, whose states each have all messages up to a boundary. Older states are
left out."""
MAX_DIGITS = 9
"""Digits of a number in a query that are read."""


class Found(NamedTuple):
    entry: ThreadEntry
    thread: SavedThread

    @property
    def saved_at(self) -> str:
        return self.thread.saved_at or self.entry.updated_at


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
    rest: dict[str, Any] = {"has_messages": request.state["graphs"].has_messages(entry.graph)}
    live = await reader.find(key, entry.run_id) if entry.run_state == "live" else None
    if live is not None:
        told = await reader.progress(live)
        told_state = told.graph_state
        rest |= {"graph_state": told_state, "run_id": entry.run_id}
        show = partial(_shown, id, told.turns, told.asides, **rest)
        return await beside_loop(len(told.turns), show)
    saved = await reader.state(key, entry.graph)
    rest |= {"interrupts": saved.interrupts, "graph_state": saved.graph_state}
    rest |= {"run_id": entry.run_id or None, "saved_at": saved.saved_at}

    def shown() -> SavedThread:
        asides = asides_of(saved.shown, saved.results)
        return _shown(id, reader.shown(saved), asides, **rest)

    return await beside_loop(len(saved.messages), shown)


def _shown(
    thread_id: str, turns: Sequence[Turn], asides: Sequence[Aside] = (), **rest: Any
) -> SavedThread:
    messages = snapshot.with_asides(snapshot.messages(turns), asides)
    return SavedThread(thread_id, turns, messages, **rest)


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
    # A run of a batch names its thread in the body.
    left = reader.left_branches(ThreadKey(owner(request), thread.thread_id), entry.graph)
    async with aclosing(left) as branches:
        async for head, turns, asides in branches:
            rest = {"head": head, "has_messages": thread.has_messages}
            show = partial(_shown, thread.thread_id, turns, asides, **rest)
            yield await beside_loop(len(turns), show)


class HistoryQuery(NamedTuple):
    """The states of a history that are wanted."""

    limit: int = LISTED
    before: str | None = None
    """The list begins after the state of this checkpoint."""
    since: str | None = None
    """The list begins with the state of this checkpoint."""
    metadata: Mapping[str, Any] | None = None
    """The values that a state's metadata has."""
    select: Sequence[str] | None = None
    """The keys of a state; None: all."""

    @property
    def place(self) -> str | None:
        return self.before if self.since is None else self.since

    def wanted(
        self, thread: SavedThread, new: Sequence[tuple[str, int]]
    ) -> Sequence[tuple[str, int]]:
        """Keep the states of a thread whose metadata fit."""
        if not self.metadata:
            return new
        return [one for one in new if has(snapshot.metadata(thread, one[1]), self.metadata)]


CalledIn = Callable[[SavedThread], Awaitable[Mapping[str, ToolCall]]]


async def history_json(
    branches: AsyncIterator[SavedThread],
    asked: HistoryQuery,
    created_at: str,
    called: CalledIn | None = None,
) -> bytes:
    """List states: those of the first branch, then the new states of each further branch. Without a
    place where it begins, the list has the order in which clients find where a message is first
    seen. A branch that goes on where the thread ends is left out: clients would take it for the
    thread. `called` finds the calls of a branch under which subagents worked.

    Raises InvalidRequest if no state has the checkpoint where the list is to begin.
    """
    known, pieces, size = set[str](), dict[str, bytes](), 0
    paths: list[list[str]] = []
    has_begun = asked.place is None
    async for thread in branches:
        states = checkpoints(thread.messages)
        path = [id for id, _ in states][::-1]
        if paths and paths[0][-1] in path:
            continue
        paths.append(path)
        # All branches that have a message have the same messages before it.
        new = [(id, count) for id, count in states if id not in known]
        known.update(path)
        if not has_begun:
            ids = [id for id, _ in new]
            has_begun = asked.place in ids
            first = ids.index(asked.place or "") + (asked.since is None) if has_begun else len(new)
            new = new[first:]
        wanted = asked.wanted(thread, new)[: asked.limit - len(pieces)]
        async for id, piece in _pieces(thread, wanted, created_at, called, asked.select):
            size += len(piece)
            if pieces and size > MAX_HISTORY_BYTES:
                break
            pieces[id] = piece
        if len(pieces) == asked.limit or size > MAX_HISTORY_BYTES:
            break
    if not has_begun:
        raise snapshot.unknown_checkpoint(asked.place or "")
    ids = _ancestors_last(pieces, paths) if asked.place is None else [*pieces]
    return b"[" + b",".join(pieces[id] for id in ids) + b"]"


async def _pieces(
    thread: SavedThread,
    states: Sequence[tuple[str, int]],
    created_at: str,
    called: CalledIn | None,
    select: Sequence[str] | None,
) -> AsyncIterator[tuple[str, bytes]]:
    """Write states of a thread, which are given by their ids and their numbers of messages."""
    if not states:
        return
    texts = await written(thread.messages)
    light = await beside_loop(len(texts), partial(_light, thread.messages, texts))
    calls = await called(thread) if called else snapshot.NO_CALLS
    for id, count in states:
        shown = texts if count == len(texts) else light[:count]
        state = snapshot.state(thread, count, created_at, calls)
        yield id, _with_values(thread, shown, state, select)


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


async def state_response(
    thread: SavedThread,
    count: int,
    rest: Mapping[str, Any],
    select: Sequence[str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Answer with one object: the `values` after the first `count` messages, and `rest`."""
    body = _with_values(thread, await written(thread.messages[:count]), rest, select)
    return Response(body, media_type=operations.JSON, headers=headers)


def _with_values(
    thread: SavedThread,
    texts: Sequence[bytes],
    rest: Mapping[str, Any],
    select: Sequence[str] | None,
) -> bytes:
    """Write a state whose messages are these; only the newest one has the graph's own values."""
    others = as_json(selected(rest, select))
    if select is not None and "values" not in select:
        return others
    is_newest = len(texts) == len(thread.messages) and not thread.head
    own = thread.graph_state if is_newest else None
    said = b"".join((b'"messages":[', b",".join(texts), b"]")) if thread.has_messages else b""
    members = [said, as_json(own)[1:-1] if own else b""]
    values = b"".join((b"{", b",".join(filter(None, members)), b"}"))
    return b"".join((b'{"values":', values, b"," if len(others) > len(b"{}") else b"", others[1:]))


ROOT = WithJsonSchema({"const": ""})
SHOWN = WithJsonSchema({**TEXT, "pattern": rf"^({snapshot.OF_CALL}.*)?$"})


def _of_root(value: str) -> str:
    if value:
        raise Fault("unsupported_option", "names a subgraph, whose state is not changed.")
    return value


def _of_call(value: str) -> str:
    if value and not value.startswith(snapshot.OF_CALL):
        raise Fault("unsupported_option", "names a subgraph, whose states are not shown.")
    return value


class Checkpoint(Fields):
    checkpoint_id: Text | None = None
    checkpoint_ns: Annotated[Text, AfterValidator(_of_root), ROOT] | None = None
    thread_id: Annotated[Any, says("The thread is that of the address.")] = None
    checkpoint_map: Annotated[Any, says("The states of subgraphs are not shown.")] = None


class ShownCheckpoint(Checkpoint):
    checkpoint_ns: (
        Annotated[
            Text,
            AfterValidator(_of_call),
            SHOWN,
            says("`tools:` and the id of a call: the subagent under it."),
        ]
        | None
    ) = None


class LangGraphStateBody(Fields):
    checkpoint: ShownCheckpoint | None = None
    subgraphs: Annotated[bool | None, says("With the states in which subgraphs wait.")] = None
    select: Select | None = None


class LangGraphUpdateBody(Fields):
    values: Annotated[
        dict[str, Any] | list[dict[str, Any]] | None,
        fields.FITTING_JSON,
        says(
            "`messages` of the user and of the model, without tool calls, and `remove` messages "
            "with ids; and what a client may set of the graph's input."
        ),
    ] = None
    as_node: Annotated[
        Text | None,
        says("The node that is taken to have written it: what follows it is due."),
    ] = None
    checkpoint: Annotated[Checkpoint | None, says("The state that is changed.")] = None
    checkpoint_id: Text | None = None

    @property
    def place(self) -> str | None:
        named = self.checkpoint.checkpoint_id if self.checkpoint else None
        return named if named is not None else self.checkpoint_id


class LangGraphHistoryBody(Fields):
    limit: Limit | None = None
    metadata: Annotated[
        dict[str, Any] | None, *METADATA, says("Values that a state's metadata has.")
    ] = None
    checkpoint: Annotated[ShownCheckpoint | None, says("The one that the list begins with.")] = None
    select: Select | None = None
    before: Annotated[
        Any, component("LangGraph.Before"), says("A checkpoint: the states before it.")
    ] = None

    @property
    def before_id(self) -> str | None:
        """Raises InvalidRequest."""
        before = self.before
        place = before if isinstance(before, dict) else {"checkpoint_id": before}
        return read(Checkpoint, place.get("configurable", place), None, "before").checkpoint_id


_STATE = Answer(
    "The state; an empty one while no run has begun the thread.",
    "LangGraph.SomeState",
    may_have=(chat.IGNORED,),
)
_FOUND = STORAGE | pick("invalid_body")
_UPDATE = (
    (_FOUND | problem_codes.CAPACITY)
    | pick("invalid_text", "invalid_json_value", "value_too_long", "value_not_allowed")
    | pick("empty_message", "message_too_long", "invalid_message_id", "unsupported_part")
    | pick("too_many_images", "images_too_large", "invalid_image", "images_not_supported")
    | pick("unsupported_option", "unsupported_message", "unsupported_checkpoint", "nothing_to_do")
    | pick("unknown_checkpoint", "unknown_message", "thread_not_found", "thread_too_large")
    | pick("thread_being_deleted", "thread_still_busy", "run_in_progress", "graph_not_served")
    | pick("run_waits")
    | pick("forbidden", "limit_exceeded", "guard_failed", "model_not_allowed")
    | pick("interrupt_pending")
)
_QUERY = {
    "select": Parameter("Keys of the state; all without it.", {"type": "array", "items": TEXT}),
    "subgraphs": Parameter("`1` or `true`: the states in which subgraphs wait, without values."),
}


@Operation("langgraphGetState", _STATE, _FOUND, query=_QUERY)
async def get_state(request: ApiRequest) -> Response:
    """Load the newest state of a thread."""
    return await _state_at(request, None, _asked(request))


@Operation("langgraphGetStateAt", _STATE, _FOUND | pick("unknown_checkpoint"), query=_QUERY)
async def get_state_at(request: ApiRequest) -> Response:
    """Load the state of a checkpoint."""
    return await _state_at(request, request.path_params["checkpoint_id"], _asked(request))


@Operation(
    "langgraphPostState",
    _STATE,
    _FOUND | pick("invalid_text", "unsupported_option", "unknown_checkpoint"),
    body=LangGraphStateBody,
    examples={"the newest": {}, "of a checkpoint": {"checkpoint": {"checkpoint_id": "start"}}},
)
async def get_state_of_checkpoint(request: ApiRequest) -> Response:
    """Load the state of the checkpoint that the body names, or the newest."""
    asked, headers = await read_body(request, LangGraphStateBody)
    if namespace := _namespace(asked.checkpoint):
        states = await _states_below(request, namespace)
        state = selected(states[0] if states else snapshot.empty_state(), asked.select)
        return JSONResponse(state, headers=headers)
    place = asked.checkpoint.checkpoint_id if asked.checkpoint else None
    return await _state_at(request, place, asked, headers)


def _asked(request: ApiRequest) -> LangGraphStateBody:
    """Read what the query wants of a state. Raises InvalidRequest."""
    query = request.query_params
    subgraphs = query.get("subgraphs", "").lower() in ("1", "true")
    given = {"select": query.getlist("select") or None, "subgraphs": subgraphs}
    return read(LangGraphStateBody, given)


@Operation(
    "langgraphUpdateState",
    Answer(
        "The checkpoint of the new state; without values, the whole state as it is.",
        "LangGraph.Updated",
        may_have=(chat.IGNORED,),
    ),
    _UPDATE,
    body=LangGraphUpdateBody,
    examples={
        "a message": {"values": {"messages": [{"type": "human", "content": "Hello"}]}},
        "nothing": {},
    },
)
async def update_state(request: ApiRequest) -> Response:
    """Change the state of a thread; nothing runs.

    It is a run like others: the thread has no live one meanwhile, and it is the last one then.
    """
    # The many models of a body are made when one comes.
    from turnstream.server.formats.langgraph.body import state_update

    asked, headers = await read_body(request, LangGraphUpdateBody)
    found = await find_thread(request)
    if found is None:
        raise unknown_thread(thread_key(request))
    if asked.values is None and asked.as_node is None:
        return await _state_at(request, asked.place, LangGraphStateBody(), headers)
    await _check_is_free(request, found.entry)
    thread = found.thread if asked.place is None else await branch_at(request, found, asked.place)
    turn = state_update(
        asked.values, thread, asked.place, asked.as_node, request.state["body_limits"]
    )
    with suppress(StreamLost):  # Then the request is kept all the same.
        run = await request.state["runs"].start(principal(request), turn, WIRE_FORMAT.name)
        await run.log.ended()
    again = await find_thread(request)
    if again is None:
        raise unknown_thread(thread_key(request))
    count = len(again.thread.messages)
    return JSONResponse({"checkpoint": snapshot.checkpoint(again.thread, count)}, headers=headers)


async def _check_is_free(request: ApiRequest, entry: ThreadEntry) -> None:
    """Raises Problem if a run is to begin as soon as it can: its caller has not seen the changed
    state. While the graph waits for an answer, no run is."""
    queue = await request.state["store"].queue(thread_key(request))
    for queued in waiting(queue, entry):
        if not queued.problem and entry.run_state != "waiting":
            raise problem("run_waits", run_id=queued.run_id)


async def _state_at(
    request: ApiRequest,
    checkpoint_id: str | None,
    asked: LangGraphStateBody,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Response:
    """The state of a checkpoint; None: the newest."""
    found = await find_thread(request)
    if found is None or not found.entry.run_id:
        return JSONResponse(selected(snapshot.empty_state(), asked.select), headers=headers)
    thread = found.thread
    count = len(thread.messages)
    if checkpoint_id is not None:
        thread = await branch_at(request, found, checkpoint_id)
        count = snapshot.boundary(thread.messages, checkpoint_id)
    rest = snapshot.state(thread, count, found.saved_at, subgraphs=bool(asked.subgraphs))
    return await state_response(thread, count, rest, asked.select, headers)


@Operation(
    "langgraphGetHistory",
    Answer(
        "A state for each message, and one ahead of all.",
        list[State],
        may_have=(chat.IGNORED,),
    ),
    STORAGE
    | pick("invalid_body", "invalid_text", "invalid_limit", "unknown_checkpoint")
    | pick("unsupported_option"),
    body=LangGraphHistoryBody,
    examples={
        "of a thread": {"limit": 10},
        "of one that no run has begun": {},
        "before the first state": {"before": {"checkpoint_id": "start"}},
        "the checkpoints": {"select": ["checkpoint"], "metadata": {"source": "loop"}},
    },
)
async def get_history(request: ApiRequest) -> Response:
    """List the states of a thread, newest first.

    Those of branches that were left come before the states that both branches have.
    """
    return await _history(request, *await read_body(request, LangGraphHistoryBody))


@Operation(
    "langgraphListHistory",
    Answer("A state for each message, and one ahead of all.", list[State]),
    STORAGE | pick("invalid_limit", "unknown_checkpoint"),
    query={
        "limit": Parameter("The most states.", whole_number(1, MAX_LISTED, LISTED)),
        "before": Parameter("The id of a checkpoint: the states before it."),
    },
)
async def list_history(request: ApiRequest) -> Response:
    """List the states of a thread, newest first."""
    query = request.query_params
    limit = query.get("limit", "")
    is_number = limit.isascii() and limit.isdecimal()
    given = {"limit": int(limit[:MAX_DIGITS]) if is_number else limit or None}
    before = query.get("before")
    asked = read(LangGraphHistoryBody, {**given, "before": before and {"checkpoint_id": before}})
    return await _history(request, asked, {})


async def _history(
    request: ApiRequest, asked: LangGraphHistoryBody, headers: Mapping[str, str]
) -> Response:
    if namespace := _namespace(asked.checkpoint):
        states = await _states_below(request, namespace)
        return JSONResponse([selected(one, asked.select) for one in states], headers=headers)
    wanted = HistoryQuery(
        asked.limit or LISTED,
        asked.before_id,
        asked.checkpoint.checkpoint_id if asked.checkpoint else None,
        asked.metadata,
        asked.select,
    )
    found = await find_thread(request)
    if found is None or not found.entry.run_id:
        return JSONResponse([], headers=headers)
    called = partial(_called, request, found.entry)
    async with aclosing(branches_of(request, found)) as branches:
        body = await history_json(branches, wanted, found.saved_at, called)
    return Response(body, media_type=operations.JSON, headers=headers)


async def _called(
    request: ApiRequest, entry: ThreadEntry, thread: SavedThread
) -> Mapping[str, ToolCall]:
    """The calls of a thread, or of a branch that it has left, under which subagents worked."""
    reader, turns = request.state["reader"], (*thread.turns,)
    if entry.run_state != "live" or thread.head:  # The turns of a live run have them.
        turns = await reader.with_substeps(thread_key(request), entry.graph, turns)
    return await beside_loop(len(turns), partial(snapshot.calls_of_subagents, turns))


async def _states_below(request: ApiRequest, namespace: str) -> list[Mapping[str, Any]]:
    """The state of the subagent that a namespace names; empty, if there is none."""
    found = await find_thread(request)
    if found is None:
        return []
    async with aclosing(branches_of(request, found)) as branches:
        async for thread in branches:
            called, created_at = await _called(request, found.entry, thread), found.entry.updated_at
            if state := snapshot.state_below(thread.thread_id, namespace, called, created_at):
                return [state]
    return []


def _namespace(checkpoint: Checkpoint | None) -> str | None:
    return checkpoint.checkpoint_ns if checkpoint else None
