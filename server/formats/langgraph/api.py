"""LangGraph SDK: the endpoints under `/langgraph`: what the server is, its graphs as assistants,
threads with their states and their history, and runs.

The state of a thread without a run is empty, as that of a thread that is not there: clients also
name threads that nobody has made yet. `Content-Location` and `Location` are without the prefix:
clients put their `apiUrl` before them.
"""

import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NotRequired
from urllib.parse import urlencode

from pydantic import BeforeValidator, Field, WithJsonSchema
from starlette.endpoints import HTTPEndpoint
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import TypedDict

from turnstream.server.formats import fields
from turnstream.server.formats.fields import Fields, Text, read, shown
from turnstream.server.formats.format import StreamContext
from turnstream.server.formats.langgraph import WIRE_FORMAT, snapshot, stream
from turnstream.server.formats.langgraph.snapshot import SavedThread, checkpoints
from turnstream.server.http import chat, operations
from turnstream.server.http.authenticated import Authenticated
from turnstream.server.http.cursors import Position, position
from turnstream.server.http.operations import Answer, Operation, Parameter, component, says
from turnstream.server.http.permitted import Permitted
from turnstream.server.http.problems import Problem, problem, unknown_thread
from turnstream.server.http.state import ApiRequest, owner, principal, rights, thread_key
from turnstream.server.http.thread_json import as_json, written
from turnstream.server.runs.endings import told_end
from turnstream.server.runs.lives import StreamLost
from turnstream.server.runs.lost_chunks import told_so_far
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.storage.interfaces import ThreadEntry, ThreadRunState
from turnstream.server.turns import problem_codes
from turnstream.server.turns.header import RunHeader, ThreadKey
from turnstream.server.turns.messages import Turn
from turnstream.server.turns.problem_codes import STORAGE, pick
from turnstream.server.turns.requests import InvalidRequest, TurnRequest
from turnstream.tools.threads import beside_loop

if TYPE_CHECKING:
    from turnstream.server.formats.langgraph.body import Submission

Nothing = Annotated[dict[str, Any], Field(max_length=0)]
_EPOCH = "1970-01-01T00:00:00+00:00"
"""Graphs are code: nobody has made them at a time."""
_WANTED = {"description": "The name of the only one that is wanted."}


@dataclass(frozen=True, slots=True)
class ApiKeyHeader:
    """ASGI middleware of a route: the clients of this protocol send a key as `X-Api-Key`, and know
    no other header for it."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        keys = [value for name, value in headers if name == b"x-api-key"]
        if keys and all(name != b"authorization" for name, _ in headers):
            bearers = [(b"authorization", b"Bearer " + key) for key in keys]
            scope = {**scope, "headers": [*headers, *bearers]}
        await self.app(scope, receive, send)


class LangGraphFlagsJson(TypedDict):
    assistants: bool
    crons: bool
    langsmith: bool


class LangGraphInfoJson(TypedDict):
    version: str
    flags: LangGraphFlagsJson


class LangGraphAssistantJson(TypedDict):
    assistant_id: str
    graph_id: str
    name: str
    description: str | None
    created_at: operations.Time
    updated_at: operations.Time
    config: Nothing
    context: Nothing
    metadata: Nothing
    version: Literal[1]


@Operation(
    "langgraphInfo",
    Answer("The version, and the parts of LangGraph's server that there are.", LangGraphInfoJson),
)
async def info(_request: ApiRequest) -> Response:
    """Describe the server."""
    flags = LangGraphFlagsJson(assistants=True, crons=False, langsmith=False)
    return JSONResponse(LangGraphInfoJson(version=version("turnstream"), flags=flags))


@Operation(
    "langgraphSearchAssistants",
    Answer("The default first.", list[LangGraphAssistantJson]),
    pick("invalid_body"),
    body={"type": "object", "properties": {"graph_id": _WANTED}},
    examples={"all": {}, "one that there is not": {"graph_id": "none"}},
)
async def search_assistants(request: ApiRequest) -> Response:
    """List the graphs, as assistants."""
    body, _ = await request.state["bodies"].read(request, fields.an_object)
    asked = body.get("graph_id")
    names = [name for name in request.state["graphs"].by_name if asked in (None, name)]
    return JSONResponse([_assistant(request, name) for name in names])


@Operation(
    "langgraphGetAssistant", Answer("A graph.", LangGraphAssistantJson), pick("assistant_not_found")
)
async def get_assistant(request: ApiRequest) -> Response:
    """Load a graph, as an assistant."""
    name = graph_named(request, request.path_params["assistant_id"])
    return JSONResponse(_assistant(request, name))


def graph_named(request: ApiRequest, assistant_id: str) -> str:
    """Find the graph that an assistant's id names. Raises Problem."""
    graphs = request.state["graphs"]
    if (name := graphs.find(assistant_id)) is None:
        raise Problem(
            404,
            "assistant_not_found",
            f"There is no assistant {shown(assistant_id)}; there {graphs.listed}.",
        )
    return name


def _assistant(request: ApiRequest, name: str) -> LangGraphAssistantJson:
    return {
        "assistant_id": name,
        "graph_id": name,
        "name": name,
        "description": request.state["graphs"].by_name[name].attached.description or None,
        "created_at": _EPOCH,
        "updated_at": _EPOCH,
        "config": {},
        "context": {},
        "metadata": {},
        "version": 1,
    }


# threads

MAX_HISTORY_BYTES = 20_000_000
"""The size of a history, whose states each have all messages up to a boundary. Older states are
left out."""


class Found(NamedTuple):
    entry: ThreadEntry
    thread: SavedThread


async def find_thread(request: ApiRequest) -> Found | None:
    """Load the thread as of one moment, a live run as far as it goes: once more if a run began or
    ended meanwhile. None: there is no such thread."""
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


_ThreadStatus = Literal["idle", "busy", "interrupted", "error"]
_RunStatus = Literal["running", "success", "interrupted", "error"]
State = Annotated[Mapping[str, Any], component("LangGraph.State")]
Interrupts = list[Annotated[Mapping[str, Any], component("LangGraph.Interrupt")]]

MAX_LISTED, LISTED = 1000, 10
"""States or threads of an answer; LangGraph's own default."""
MAX_SEARCHED = 10_000
"""Threads that one search looks through, the newest."""
PAGE_SIZE = 100
_GRAPH_KEYS = ("graph_id", "assistant_id")
"""The keys of a thread's metadata that name its graph."""
_STATUSES: Mapping[ThreadRunState, tuple[_ThreadStatus, _RunStatus]] = {
    "live": ("busy", "running"),
    "finished": ("idle", "success"),
    "waiting": ("interrupted", "interrupted"),
    "stopped": ("idle", "interrupted"),
    "failed": ("error", "error"),
    "interrupted": ("idle", "error"),
}
"""By the state of a thread's last run: the status of the thread, and of the run."""


class LangGraphMetadataJson(TypedDict, total=False):
    graph_id: str
    assistant_id: str
    title: str


class LangGraphBareThreadJson(TypedDict):
    thread_id: str
    created_at: operations.Time
    updated_at: operations.Time
    metadata: LangGraphMetadataJson
    status: _ThreadStatus
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


def _whole(value: Any) -> Any:
    """A float without a fraction is an integer in JSON Schema."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _bounded(least: int, most: int, default: int) -> tuple[Any, ...]:
    remedy = fields.Otherwise("invalid_limit", f"ask for {least} to {most}")
    schema = WithJsonSchema(operations.whole_number(least, most, default))
    return Field(ge=least, le=most), BeforeValidator(_whole), remedy, schema


_METADATA = BeforeValidator(lambda value: value or None), component("LangGraph.AnyMetadata")


class GraphMetadata(Fields):
    graph_id: Text | None = None


class LangGraphNewThreadBody(Fields):
    thread_id: Annotated[fields.ThreadId, component("ThreadId")] | None = None
    if_exists: Annotated[Any, says("With `do_nothing` an existing thread is the answer.")] = None
    metadata: Annotated[
        GraphMetadata | None,
        *_METADATA,
        says("`graph_id`: the graph of a first run that names none. Nothing else is kept."),
    ] = None


class LangGraphSearchBody(Fields):
    limit: Annotated[int, *_bounded(1, MAX_LISTED, LISTED)] | None = None
    offset: Annotated[int, *_bounded(0, MAX_SEARCHED, 0)] | None = None
    status: Annotated[Any, says("`idle`, `busy`, `interrupted` or `error`.")] = None
    metadata: Annotated[
        dict[str, Any] | None,
        *_METADATA,
        says("`graph_id` or `assistant_id`: a graph. No thread has other metadata."),
    ] = None


class Checkpoint(Fields):
    checkpoint_id: Text | None = None


class LangGraphHistoryBody(Fields):
    limit: Annotated[int, *_bounded(1, MAX_LISTED, LISTED)] | None = None
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
    | pick("limit_exceeded"),
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
    asked, _ = await request.state["bodies"].read(request, partial(read, LangGraphNewThreadBody))
    id = asked.thread_id or f"thread_{secrets.token_hex(10)}"
    named = asked.metadata.graph_id if asked.metadata else None
    graph = None if named is None else graph_named(request, named)
    entry = await request.state["store"].get(ThreadKey(owner(request), id))
    if entry is None:
        entry = await request.state["runs"].create(principal(request), id, graph)
        return JSONResponse({**_thread(request, entry), "interrupts": {}, "values": None})
    if asked.if_exists != "do_nothing":
        raise Problem(409, "thread_exists", f"There is a thread {id!r} already.")
    return JSONResponse({**_thread(request, entry), "interrupts": {}})


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
    graphs, status = request.state["graphs"], asked.status
    # None stands for what no thread has.
    wanted = {
        graphs.find(value) if name in _GRAPH_KEYS and isinstance(value, str) else None
        for name, value in (asked.metadata or {}).items()
    }
    if len(wanted) > 1 or None in wanted:
        return JSONResponse([])
    found, cursor = list[ThreadEntry](), None
    for _ in range(MAX_SEARCHED // PAGE_SIZE):
        page = await request.state["store"].page(owner(request), PAGE_SIZE, cursor)
        for entry in page.entries:
            is_of_graph = not wanted or graphs.name_of(entry) in wanted
            if is_of_graph and status in (None, _STATUSES[entry.run_state][0]):
                found.append(entry)
        cursor = page.cursor
        if not cursor or len(found) >= offset + limit:
            break
    return JSONResponse([_listed(request, one) for one in found[offset : offset + limit]])


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
    rest = {**_thread(request, entry), "interrupts": {one["id"]: [one] for one in asked}}
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
    found = await find_thread(request)
    if found is None or not found.entry.run_id:
        return JSONResponse(snapshot.empty_state())
    entry, thread = found
    count = len(thread.messages)
    if (checkpoint_id := request.path_params.get("checkpoint_id")) is not None:
        thread = await branch_at(request, found, checkpoint_id)
        count = snapshot.boundary(thread.messages, checkpoint_id)
    return await _state_response(thread, count, snapshot.state(thread, count, entry.updated_at))


@Operation("langgraphGetStateAt", _STATE, STORAGE | pick("unknown_checkpoint"))
async def get_state_at(request: ApiRequest) -> Response:
    """Load the state of a checkpoint."""
    return await get_state(request)


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


def _thread(request: ApiRequest, entry: ThreadEntry) -> LangGraphBareThreadJson:
    metadata: LangGraphMetadataJson = {"title": entry.title}
    if graph := request.state["graphs"].name_of(entry):
        metadata |= {"graph_id": graph, "assistant_id": graph}
    return {
        "thread_id": entry.id,
        "created_at": entry.created_at,
        "updated_at": entry.updated_at,
        "metadata": metadata,
        "status": _STATUSES[entry.run_state][0],
        "config": {},
    }


def _listed(request: ApiRequest, entry: ThreadEntry) -> LangGraphThreadEntryJson:
    first = LangGraphFirstMessageJson(type="human", content=entry.title)
    title: LangGraphTitleJson = {"messages": [first] if entry.title else []}
    return {**_thread(request, entry), "interrupts": {}, "values": title}


# runs

FROM_THE_START = "-1"
"""As `Last-Event-ID`: clients that join a run which they have not read."""
YES = ("1", "true")
"""The values of a flag of the query that is set."""


class LangGraphRunJson(TypedDict):
    run_id: str
    thread_id: str
    assistant_id: str
    created_at: operations.Time
    updated_at: operations.Time
    status: _RunStatus
    metadata: Nothing
    kwargs: Nothing
    multitask_strategy: Literal["reject"]


_PLACES = ("X-Thread-Id", "X-Run-Id", "Content-Location", "Location")
_LAST = "One event; `error` or `end` is the last."
_EVENT = {**operations.refer("LangGraph.Event"), "description": _LAST}
_streamed = partial(Answer, "The run as an event stream.", _EVENT, operations.EVENTS)
_FOUND = STORAGE | pick("thread_not_found", "run_not_found")
_OF_OTHER_BODIES = pick(
    *("missing_action", "invalid_protocol", "invalid_on_busy", "invalid_trigger"),
    *("invalid_on_interrupt", "unsupported_command", "invalid_tool", "too_many_tools"),
    *("tool_name_taken", "tool_not_allowed", "client_tools_not_supported", "interrupt_pending"),
    *("unknown_graph", "unknown_model", "model_not_selectable", "idempotency_key_reused"),
)
_START = (
    ((problem_codes.BODY_FIELDS | problem_codes.START) - _OF_OTHER_BODIES)
    | (problem_codes.LANGGRAPH_FIELDS | problem_codes.VERSION | STORAGE)
    | pick("assistant_not_found", "unknown_checkpoint")
)
_PATH = {"thread_id": "ThreadId"}
_HELLO = {"type": "text", "text": "Hello"}
_ASKED = {"assistant_id": "chat", "input": {"messages": [{"type": "human", "content": "Hello"}]}}
_NAMES = "|".join((*stream.MODES, *stream.OTHER_MODES))
_MODES = {"type": "string", "pattern": f"^(({_NAMES})?(,|$))*$"}


@Operation(
    "langgraphCreateRun",
    Answer("The run.", LangGraphRunJson, headers=_PLACES, may_have=(chat.IGNORED,)),
    _START,
    path=_PATH,
    body="LangGraph.RunBody",
    examples={"a message": _ASKED},
)
async def create_run(request: ApiRequest) -> Response:
    """Start a run and wait for nothing."""
    turn, asked, graph = await _read_run(request)
    try:
        run = await request.state["runs"].start(principal(request), turn, WIRE_FORMAT.name)
        headers = chat.run_headers(run) | _places(run.header, asked.body.stream_mode)
    except StreamLost as lost:
        headers = chat.unseen_headers(lost) | _places(lost)
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    started = _run(thread_key(request), headers["X-Run-Id"], graph, now, "running")
    return JSONResponse(started, headers=headers | chat.ignored_header(asked.ignored))


@Operation(
    "langgraphStreamRun",
    _streamed(headers=_PLACES, may_have=(*chat.RUN_HEADERS, chat.IGNORED)),
    _START,
    path=_PATH,
    body="LangGraph.RunBody",
    examples={
        "a message": _ASKED,
        "a message of blocks": {
            "assistant_id": "chat",
            "input": {"messages": [{"role": "user", "content": [_HELLO]}]},
            "stream_mode": ["messages-tuple", "values"],
            "multitask_strategy": "interrupt",
        },
        "the last answer anew": {**_ASKED, "checkpoint": {"checkpoint_id": "start"}},
    },
)
async def stream_run(request: ApiRequest) -> Response:
    """Start a run and stream it.

    `Content-Location` and `Location` name the run and its stream, without `/langgraph`.
    """
    request.state["streams"].check(rights(request))  # before the run begins
    turn, asked, _ = await _read_run(request)
    ignored = chat.ignored_header(asked.ignored)
    try:
        run = await request.state["runs"].start(principal(request), turn, WIRE_FORMAT.name)
        with chat.stream_refusals(run):
            stops, modes = asked.body.on_disconnect == "cancel", asked.body.stream_mode
            headers = _places(run.header, modes) | ignored
            return await _stream(request, run, modes, stops=stops, headers=headers)
    except StreamLost as lost:
        headers = chat.unseen_headers(lost) | _places(lost) | ignored
        return request.state["streams"].cursor_lost(WIRE_FORMAT, headers)


@Operation("langgraphGetRun", Answer("The run.", LangGraphRunJson), _FOUND)
async def get_run(request: ApiRequest) -> Response:
    """Load the status of a run."""
    entry, run = await _find(request)
    graphs, run_id = request.state["graphs"], request.path_params["run_id"]
    graph = graphs.name_of(entry) or graphs.default
    is_earlier = entry.run_id != run_id
    state = told_end(await told_so_far(run.log)) if run and is_earlier else entry.run_state
    _, status = _STATUSES[state]
    return JSONResponse(_run(thread_key(request), run_id, graph, entry.updated_at, status))


@Operation(
    "langgraphJoinRun",
    _streamed(may_have=_PLACES),
    _FOUND | pick("limit_reached", "limit_exceeded", "invalid_stream_mode"),
    query={
        "stream_mode": Parameter(
            "The modes of the stream; several in one value are separated by commas.",
            {"type": "array", "items": _MODES},
        ),
        "cancel_on_disconnect": Parameter("`1` or `true`: the run ends when this reader leaves."),
    },
    headers={"Last-Event-ID": Parameter("The last event that the client has; `-1` for none.")},
)
async def join_run(request: ApiRequest) -> Response:
    """Read a run's stream.

    From its first event, or after the event whose id is given. A cursor that is unknown gets a
    stream that says so; of a run that is held no longer there is its end alone.
    """
    _, run = await _find(request)
    query, streams = request.query_params, request.state["streams"]
    # Python's client sends an empty one for none.
    named = [name for text in query.getlist("stream_mode") for name in text.split(",") if name]
    with fields.at("stream_mode"):
        modes = stream.wanted_modes(named)
    cursor = request.headers.get("last-event-id") or FROM_THE_START
    place: Position | Literal["done", "lost"] = Position(run, 0) if run else "done"
    if run and cursor != FROM_THE_START:
        place = await position(request.state["reader"], run.header.key, cursor)
    if run is None or place == "done":
        ending = WIRE_FORMAT.idle(StreamContext(request.path_params["thread_id"], ""), modes)
        return streams.whole(WIRE_FORMAT, ending, principal(request).id)
    if place == "lost" or place.run.header.run_id != run.header.run_id:
        return streams.cursor_lost(WIRE_FORMAT)
    stops = query.get("cancel_on_disconnect") in YES
    headers = _places(run.header, modes)
    return await _stream(request, run, modes, stops=stops, after=place.after, headers=headers)


@Operation(
    "langgraphCancelRun",
    {
        202: Answer("The run is asked to stop.", {"type": "object", "maxProperties": 0}),
        204: Answer("With `wait`: the thread is saved and free, also if the run had ended."),
    },
    _FOUND | pick("unsupported_option"),
    query={
        "wait": Parameter("`1` or `true`: wait until the thread is saved and free."),
        "action": Parameter("The text of the run is kept.", operations.one_of(["interrupt"])),
    },
)
async def cancel_run(request: ApiRequest) -> Response:
    """Stop a run."""
    query, runs = request.query_params, request.state["runs"]
    action = query.get("action", "interrupt")
    if action != "interrupt":
        raise InvalidRequest(
            "unsupported_option",
            f"action is {action[:20]!r}: a run can be interrupted, and what it said is kept.",
        )
    await _find(request)
    key, run_id = thread_key(request), request.path_params["run_id"]
    if query.get("wait") not in YES:
        runs.ask_to_stop(key, run_id)
        return JSONResponse({}, 202)
    if await request.state["store"].holder(key) == run_id:
        await runs.stop(key)
    return Response(status_code=204)


async def _read_run(request: ApiRequest) -> tuple[TurnRequest, "Submission", str]:
    """Read the body of a run: return the request that it is, the body, and the name of the graph.
    Raises Problem, InvalidRequest."""
    # The many models of a body are made when one comes.
    from turnstream.server.formats.langgraph.body import parse, turn_request

    id = fields.thread_id(request.path_params["thread_id"])
    read = partial(parse, limits=request.state["body_limits"])
    asked, _ = await request.state["bodies"].read(request, read)
    graph = graph_named(request, asked.body.assistant_id)
    found = await find_thread(request) if asked.is_about_thread else None
    thread = found.thread if found else SavedThread(id, (), ())
    if found and asked.branches_at is not None:
        thread = await branch_at(request, found, asked.branches_at)
    return turn_request(asked, thread, graph), asked, graph


async def _stream(
    request: ApiRequest, run: LoggedRun, modes: stream.Modes, *, stops: bool, **rest: Any
) -> Response:
    """Stream a run for one reader, which may stop the run when it leaves."""
    stop = partial(request.state["runs"].ask_to_stop, run.header.key, run.header.run_id)
    left = stop if stops else None
    return await chat.stream_run(request, run, WIRE_FORMAT, modes, replay=True, left=left, **rest)


def _places(run: RunHeader | StreamLost, modes: stream.Modes = stream.ALL_MODES) -> dict[str, str]:
    """Name the run and its stream. A client that joins again repeats nothing of what it asked: the
    address says it."""
    place = f"/threads/{run.key.thread_id}/runs/{run.run_id}"
    query = urlencode([("stream_mode", name) for name in sorted(modes)])
    told = "" if modes == stream.ALL_MODES else f"?{query}"
    return {"Content-Location": place, "Location": f"{place}/stream{told}"}


async def _find(request: ApiRequest) -> tuple[ThreadEntry, LoggedRun | None]:
    """Find the thread and the run that the address names. The run is None if its log is no longer
    held. Raises Problem."""
    key, run_id = thread_key(request), request.path_params["run_id"]
    entry = await request.state["store"].get(key)
    if entry is None:
        raise unknown_thread(key)
    run = await request.state["reader"].find(key, run_id)
    if run is None and entry.run_id != run_id:
        raise problem("run_not_found")
    return entry, run


def _run(key: ThreadKey, run_id: str, graph: str, at: str, status: _RunStatus) -> LangGraphRunJson:
    return {
        "run_id": run_id,
        "thread_id": key.thread_id,
        "assistant_id": graph,
        "created_at": at,
        "updated_at": at,
        "status": status,
        "metadata": {},
        "kwargs": {},
        "multitask_strategy": "reject",
    }


_LAYERS = [Middleware(one) for one in (ApiKeyHeader, Authenticated, Permitted)]


def _route(path: str, *, reads: bool = False, **methods: Any) -> Route:
    """Serve an address by functions, one a method; `reads`: its POST changes nothing."""
    members = {method: staticmethod(function) for method, function in methods.items()}
    endpoint = type("Endpoint", (HTTPEndpoint,), {**members, "post_only_reads": reads})
    return Route(f"/langgraph{path}", endpoint, middleware=_LAYERS)


ROUTES = (
    _route("/info", get=info),
    _route("/assistants/search", post=search_assistants),
    _route("/assistants/{assistant_id}", get=get_assistant),
    _route("/threads", post=create_thread),
    _route("/threads/search", post=search_threads, reads=True),
    _route("/threads/{thread_id}", get=get_thread, delete=delete_thread),
    _route("/threads/{thread_id}/state", get=get_state),
    _route("/threads/{thread_id}/state/{checkpoint_id}", get=get_state_at),
    _route("/threads/{thread_id}/history", post=get_history, reads=True),
    _route("/threads/{thread_id}/runs", post=create_run),
    _route("/threads/{thread_id}/runs/stream", post=stream_run),
    _route("/threads/{thread_id}/runs/{run_id}", get=get_run),
    _route("/threads/{thread_id}/runs/{run_id}/stream", get=join_run),
    _route("/threads/{thread_id}/runs/{run_id}/cancel", post=cancel_run),
)
