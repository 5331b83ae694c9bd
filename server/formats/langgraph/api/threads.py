"""LangGraph SDK: threads."""

import secrets
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, WithJsonSchema
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.formats import fields
from turnstream.server.formats.fields import Fields, Text, read
from turnstream.server.formats.langgraph import snapshot
from turnstream.server.formats.langgraph.api.assistants import graph_named
from turnstream.server.formats.langgraph.api.bodies import (
    LISTED,
    MAX_LISTED,
    MAX_SEARCHED,
    METADATA,
    NEXT,
    Limit,
    Nothing,
    Offset,
    Order,
    Select,
    has,
    read_body,
    selected,
    some_of,
)
from turnstream.server.formats.langgraph.api.states import find_thread, state_response
from turnstream.server.formats.langgraph.options import refused
from turnstream.server.http import chat, operations
from turnstream.server.http.operations import Answer, Operation, Parameter, component, says
from turnstream.server.http.problems import Problem, unknown_thread
from turnstream.server.http.state import ApiRequest, owner, principal, thread_key
from turnstream.server.runs.thread_version import UnknownThread
from turnstream.server.storage.interfaces import Rows, Section, ThreadEntry, ThreadRunState
from turnstream.server.storage.thread_metadata import (
    MAX_METADATA_CHARS,
    Metadata,
    MetadataTooLarge,
    metadata_text,
)
from turnstream.server.turns import problem_codes
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.problem_codes import STORAGE, pick
from turnstream.server.turns.requests import InvalidRequest

ThreadStatus = Literal["idle", "busy", "interrupted", "error"]
RunStatus = Literal["pending", "running", "success", "interrupted", "error"]
Interrupts = list[Annotated[Mapping[str, Any], component("LangGraph.Interrupt")]]

PAGE_SIZE = 100
MAX_PRUNED = 100
"""Threads that one request deletes."""
MAX_LOADED = 200
"""Threads that one search loads, to compare their values."""
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
SortBy = Literal["thread_id", "status", "created_at", "updated_at", "state_updated_at"]
_SORTED: Mapping[SortBy, Callable[[ThreadEntry], str]] = {
    "thread_id": lambda entry: entry.id,
    "status": lambda entry: STATUSES[entry.run_state][0],
    "created_at": lambda entry: entry.created_at,
    "updated_at": lambda entry: entry.updated_at,
    "state_updated_at": lambda entry: entry.updated_at,
}


def new_thread_id() -> str:
    return f"thread_{secrets.token_hex(10)}"


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


class GraphMetadata(Fields):
    graph_id: Text | None = None


class LangGraphNewThreadBody(Fields):
    thread_id: Annotated[fields.ThreadId, component("ThreadId")] | None = None
    if_exists: Annotated[Any, says("With `do_nothing` an existing thread is the answer.")] = None
    supersteps: Annotated[Any, *refused("make the thread, then update its state")] = None
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


class LangGraphPruneBody(Fields):
    thread_ids: Annotated[
        list[Annotated[fields.ThreadId, component("ThreadId")]],
        Field(max_length=MAX_PRUNED),
        fields.FirstFault(),
    ]
    strategy: (
        Annotated[
            Literal["delete", "keep_latest"],
            fields.Otherwise("invalid_body"),
            WithJsonSchema({"const": "delete"}),
        ]
        | None
    ) = None


class LangGraphPrunedJson(TypedDict):
    pruned_count: int


class LangGraphRowsJson(TypedDict):
    count: int
    bytes: int


class LangGraphValuesRowsJson(LangGraphRowsJson):
    by_channel: Annotated[Nothing, says("The channels of a graph are its author's own.")]


class LangGraphStorageJson(TypedDict):
    """The room that a thread takes. Where its values are stored within its checkpoints, as in a
    SQLite file, they are counted there."""

    thread_id: str
    total_bytes: int
    checkpoints: LangGraphRowsJson
    channel_values: LangGraphValuesRowsJson
    pending_writes: Annotated[LangGraphRowsJson, says("What tasks have written.")]


class LangGraphCountBody(Fields):
    status: Annotated[Any, says("`idle`, `busy`, `interrupted` or `error`.")] = None
    ids: (
        Annotated[
            list[Text], Field(max_length=MAX_LISTED), fields.FirstFault(), says("Ids of threads.")
        ]
        | None
    ) = None
    values: Annotated[
        dict[str, Any] | None,
        *METADATA,
        says(f"Values of a thread's state. The newest {MAX_LOADED} that match else are compared."),
    ] = None
    metadata: Annotated[
        dict[str, Any] | None,
        *METADATA,
        says("Values that a thread's metadata has; `graph_id` or `assistant_id`: its graph."),
    ] = None


class LangGraphSearchBody(LangGraphCountBody):
    limit: Limit | None = None
    offset: Offset | None = None
    sort_by: Annotated[SortBy, fields.Otherwise("invalid_body")] | None = None
    sort_order: Order | None = None
    select: Select | None = None


@Operation(
    "langgraphCreateThread",
    Answer("The thread.", LangGraphThreadJson, may_have=(chat.IGNORED,)),
    problem_codes.CAPACITY
    | STORAGE
    | pick("invalid_body", "invalid_thread_id", "thread_exists", "assistant_not_found")
    | pick("unsupported_option")
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
    asked, headers = await read_body(request, LangGraphNewThreadBody)
    id = asked.thread_id or new_thread_id()
    given: Metadata = asked.metadata or {}
    named = read(GraphMetadata, given, None, "metadata").graph_id
    graph = None if named is None else graph_named(request, named)
    check_size(given)
    raises = "do_nothing" if asked.if_exists == "do_nothing" else "raise"
    runs = request.state["runs"]
    while True:
        entry = await request.state["store"].get(ThreadKey(owner(request), id))
        try:
            kept = _own(await runs.reach.create(principal(request), id, given, raises))
        except UnknownThread:
            raise _exists(id) from None
        if entry is not None:
            break
        # None: another request has made it meanwhile.
        if (entry := await runs.create(principal(request), id, graph, kept)) is not None:
            made = {**_thread(request, entry, kept), "interrupts": {}, "values": None}
            return JSONResponse(made, headers=headers)
    if asked.if_exists != "do_nothing":
        raise _exists(id)
    kept = await _kept(request, id)
    return JSONResponse({**_thread(request, entry, kept), "interrupts": {}}, headers=headers)


def _exists(id: str) -> Problem:
    return Problem(409, "thread_exists", f"There is a thread {id!r} already.")


@Operation(
    "langgraphUpdateThread",
    {
        200: Answer("The thread.", LangGraphThreadJson, may_have=(chat.IGNORED,)),
        204: Answer("With `Prefer: return=minimal`.", may_have=(chat.IGNORED,)),
    },
    STORAGE
    | pick("invalid_body", "invalid_json_value", "invalid_text", "value_too_long")
    | pick("thread_not_found"),
    headers={"Prefer": Parameter("`return=minimal`: the answer has no body.")},
    body=LangGraphThreadChangesBody,
    examples={"a value": {"metadata": {"topic": "tides"}}, "nothing": {}},
)
async def update_thread(request: ApiRequest) -> Response:
    """Change the metadata of a thread: what it does not name stays."""
    key = thread_key(request)
    asked, headers = await read_body(request, LangGraphThreadChangesBody)
    given, reach = asked.metadata or {}, request.state["runs"].reach
    changes = await reach.check(principal(request), key, "update", metadata=given)
    await _merge(request, key.thread_id, changes)
    entry = await request.state["store"].get(key)
    if entry is None:
        raise unknown_thread(key)
    if request.headers.get("prefer", "").strip().lower() == "return=minimal":
        return Response(status_code=204, headers=headers)
    kept = await _kept(request, key.thread_id)
    return JSONResponse({**_thread(request, entry, kept), "interrupts": {}}, headers=headers)


async def _kept(request: ApiRequest, thread_id: str) -> Metadata:
    """Return the metadata that clients have kept with a thread."""
    kept = await request.state["store"].metadata(owner(request), [thread_id])
    return kept.get(thread_id, {})


def _own(metadata: Metadata) -> Metadata:
    """Return metadata without the thread's graph, which its last run says."""
    return {name: value for name, value in metadata.items() if name not in _GRAPH_KEYS}


async def _merge(request: ApiRequest, thread_id: str, changes: Metadata) -> Metadata:
    """Keep metadata, but for the thread's graph: that is what its last run says. Raises Problem,
    InvalidRequest."""
    key = ThreadKey(owner(request), thread_id)
    try:
        kept = await request.state["store"].merge_metadata(key, _own(changes))
    except MetadataTooLarge:
        raise _too_large() from None
    if kept is None:
        raise unknown_thread(key)
    return kept


def check_size(metadata: Metadata) -> None:
    """Raises InvalidRequest for what no thread or run may have: ahead of making one."""
    try:
        metadata_text(metadata)
    except MetadataTooLarge:
        raise _too_large() from None


def _too_large() -> InvalidRequest:
    return InvalidRequest(
        "value_too_long",
        f"The metadata of a thread or a run has at most {MAX_METADATA_CHARS} characters.",
    )


@Operation(
    "langgraphSearchThreads",
    Answer(
        "The threads that match.",
        list[some_of(LangGraphThreadEntryJson)],  # type: ignore[misc]
        may_have=(NEXT, chat.IGNORED),
    ),
    STORAGE | pick("invalid_body", "invalid_text", "invalid_limit"),
    body=LangGraphSearchBody,
    examples={
        "a page": {"limit": 10, "offset": 0, "status": "idle"},
        "those of a graph": {"metadata": {"graph_id": "chat"}},
        "the oldest": {"sort_by": "created_at", "sort_order": "asc", "select": ["thread_id"]},
    },
)
async def search_threads(request: ApiRequest) -> Response:
    """List threads, by their last activity, newest first.

    `X-Pagination-Next` is the `offset` of the next page, if there is one.
    """
    asked, headers = await read_body(request, LangGraphSearchBody)
    start = asked.offset or 0
    end = start + (asked.limit or LISTED)
    found = await _matching(request, asked, MAX_SEARCHED if asked.sort_by else end + 1)
    if (by := asked.sort_by) is not None:
        key, is_falling = _SORTED[by], asked.sort_order != "asc"
        found.sort(key=lambda one: (key(one), one.id), reverse=is_falling)
    if end < len(found):
        headers[NEXT] = str(end)
    page = found[start:end]
    kept = await request.state["store"].metadata(owner(request), [entry.id for entry in page])
    listed = [_listed(request, one, kept.get(one.id, {})) for one in page]
    return JSONResponse([selected(one, asked.select) for one in listed], headers=headers)


@Operation(
    "langgraphCountThreads",
    Answer(
        f"The number of threads that match, of the newest {MAX_SEARCHED}.",
        int,
        may_have=(chat.IGNORED,),
    ),
    STORAGE | pick("invalid_body", "invalid_text"),
    body=LangGraphCountBody,
    examples={"all": {}, "those that wait": {"status": "interrupted"}},
)
async def count_threads(request: ApiRequest) -> Response:
    """Count threads."""
    asked, headers = await read_body(request, LangGraphCountBody)
    found = await _matching(request, asked, MAX_SEARCHED)
    return JSONResponse(len(found), headers=headers)


async def _matching(request: ApiRequest, asked: LangGraphCountBody, most: int) -> list[ThreadEntry]:
    """Find the newest threads that a body asks for, `most` of them or some more."""
    graphs, store = request.state["graphs"], request.state["store"]
    # None stands for what no thread has.
    given = asked.metadata or {}
    graph = {
        graphs.find(value) if isinstance(value, str) else None
        for name, value in given.items()
        if name in _GRAPH_KEYS
    }
    kept = {name: value for name, value in given.items() if name not in _GRAPH_KEYS}
    ids = None if asked.ids is None else {*asked.ids}
    if len(graph) > 1 or None in graph:
        return []
    found, cursor, loads = list[ThreadEntry](), None, MAX_LOADED
    reach = request.state["runs"].reach
    filter = await reach.search(principal(request), given)
    for _ in range(MAX_SEARCHED // PAGE_SIZE):
        page = await reach.page(owner(request), filter, PAGE_SIZE, cursor)
        matching = [
            entry
            for entry in page.entries
            if (not graph or graphs.name_of(entry) in graph)
            and asked.status in (None, STATUSES[entry.run_state][0])
            and (ids is None or entry.id in ids)
        ]
        if kept:
            theirs = await store.metadata(owner(request), [entry.id for entry in matching])
            matching = [one for one in matching if has(theirs.get(one.id), kept)]
        if asked.values:
            matching, loads = matching[:loads], loads - len(matching)
            matching = [one for one in matching if await _has_values(request, one, asked.values)]
        found += matching
        cursor = page.cursor
        if not cursor or len(found) >= most or loads <= 0:
            break
    return found


async def _has_values(request: ApiRequest, entry: ThreadEntry, values: Metadata) -> bool:
    found = await find_thread(request, ThreadKey(owner(request), entry.id))
    return found is not None and has(found.thread.values, values)


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
    return await state_response(thread, len(thread.messages), rest)


@Operation(
    "langgraphGetStorage",
    Answer("Its rows and bytes.", LangGraphStorageJson),
    STORAGE | pick("thread_not_found"),
)
async def get_storage(request: ApiRequest) -> Response:
    """Measure the room that the checkpoints of a thread take in the database."""
    key, store = thread_key(request), request.state["store"]
    if await store.get(key) is None:
        raise unknown_thread(key)
    sizes = await store.checkpoint_sizes(key)

    def shown(section: Section) -> LangGraphRowsJson:
        rows = sizes.get(section, Rows())
        return {"count": rows.count, "bytes": rows.bytes}

    measured: LangGraphStorageJson = {
        "thread_id": key.thread_id,
        "total_bytes": sum(rows.bytes for rows in sizes.values()),
        "checkpoints": shown("checkpoints"),
        "channel_values": {**shown("values"), "by_channel": {}},
        "pending_writes": shown("writes"),
    }
    return JSONResponse(measured)


@Operation(
    "langgraphCopyThread",
    Answer("The copy.", LangGraphThreadJson),
    problem_codes.CAPACITY
    | STORAGE
    | pick("thread_not_found", "run_in_progress", "limit_exceeded", "forbidden"),
)
async def copy_thread(request: ApiRequest) -> Response:
    """Copy a thread, with its states and metadata."""
    runs, source, id = request.state["runs"], thread_key(request), new_thread_id()
    given = await _kept(request, source.thread_id)
    made = await runs.reach.create(principal(request), id, given, "raise")
    entry = await runs.copy(principal(request), source, id)
    if entry is None:
        raise unknown_thread(source)
    if made != given:
        await _merge(request, id, made)
    kept = await _kept(request, entry.id)
    return JSONResponse({**_thread(request, entry, kept), "interrupts": {}})


@Operation(
    "langgraphPruneThreads",
    Answer("How many of them there were.", LangGraphPrunedJson, may_have=(chat.IGNORED,)),
    STORAGE | pick("invalid_body", "invalid_text", "invalid_thread_id", "unsupported_option"),
    body=LangGraphPruneBody,
    examples={"none": {"thread_ids": []}},
)
async def prune_threads(request: ApiRequest) -> Response:
    """Delete threads.

    Their live runs are stopped first.
    """
    asked, headers = await read_body(request, LangGraphPruneBody)
    if asked.strategy == "keep_latest":
        raise InvalidRequest(
            "unsupported_option",
            "strategy is 'keep_latest': the states of a thread go with it. Send 'delete'.",
        )
    reach, found = request.state["runs"].reach, list[ThreadKey]()
    for id in dict.fromkeys(asked.thread_ids):
        key = ThreadKey(owner(request), id)
        is_there = await request.state["store"].get(key) is not None
        if is_there and await reach.has(principal(request), key, "delete"):
            found.append(key)
    for key in found:
        await request.state["runs"].delete(key, at_once=True)
    return JSONResponse({"pruned_count": len(found)}, headers=headers)


@Operation("langgraphDeleteThread", {204: Answer("There is no such thread, or no more.")}, STORAGE)
async def delete_thread(request: ApiRequest) -> Response:
    """Delete a thread.

    A live run is stopped first.
    """
    await request.state["runs"].delete(thread_key(request), at_once=True)
    return Response(status_code=204)


def _thread(request: ApiRequest, entry: ThreadEntry, kept: Metadata) -> LangGraphBareThreadJson:
    metadata = {**({"title": entry.title} if entry.title else {}), **kept}
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
