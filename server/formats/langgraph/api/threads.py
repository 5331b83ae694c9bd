"""LangGraph SDK: threads, their states and their history, under `/langgraph`.

The state of a thread without a run is empty, as that of a thread that is not there: clients also
name threads that nobody has made yet.
"""

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Annotated, Any, Literal, NotRequired

from pydantic import BeforeValidator, Field, WithJsonSchema
from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.formats.fields import AnyFields, Fields, Otherwise, Text, ThreadId, read
from turnstream.server.formats.langgraph.api import saved
from turnstream.server.formats.langgraph.api.assistants import Nothing, graph_named
from turnstream.server.formats.langgraph.snapshot import open_interrupts
from turnstream.server.formats.langgraph.states import boundary, empty_state, state
from turnstream.server.http.openapi import operation
from turnstream.server.http.openapi.operation import Answer, Operation, Time, component, says
from turnstream.server.http.problems import Problem, unknown_thread
from turnstream.server.http.state import ApiRequest, owner, principal, thread_key
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.problem_codes import CAPACITY, STORAGE, pick

Status = Literal["idle", "busy", "interrupted", "error"]
Values = Annotated[Mapping[str, Any], component("LangGraph.Values")]
State = Annotated[Mapping[str, Any], component("LangGraph.State")]
Interrupts = list[Annotated[Mapping[str, Any], component("LangGraph.Interrupt")]]

MAX_STATES = 1000
STATES = 10
"""LangGraph's own default."""
MAX_FOUND = 1000
MAX_SEARCHED = 10_000
"""Threads that one search looks through, the newest."""
PAGE_SIZE = 100
STATUS: Mapping[str, Status] = {"live": "busy", "waiting": "interrupted", "failed": "error"}
"""By run state; of any other a thread is idle."""


class LangGraphMetadataJson(TypedDict, total=False):
    graph_id: str
    assistant_id: str
    title: str


class LangGraphBareThreadJson(TypedDict):
    thread_id: str
    created_at: Time
    updated_at: Time
    metadata: LangGraphMetadataJson
    status: Status
    config: Nothing


class LangGraphThreadJson(LangGraphBareThreadJson):
    """A thread. The values of a thread that no run has begun are null, or left out if the thread
    was there when its id was asked for."""

    interrupts: Annotated[Mapping[str, Interrupts], says("By their ids.")]
    values: NotRequired[Values | None]


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
    remedy = Otherwise("invalid_limit", f"ask for {least} to {most}")
    schema = WithJsonSchema(operation.whole_number(least, most, default))
    return Field(ge=least, le=most), BeforeValidator(_whole), remedy, schema


_OR_NOTHING = BeforeValidator(lambda value: value or None)


class GraphMetadata(Fields):
    graph_id: Text | None = None


class LangGraphNewThreadBody(Fields):
    thread_id: Annotated[ThreadId, component("ThreadId")] | None = None
    if_exists: Annotated[Any, says("With `do_nothing` an existing thread is the answer.")] = None
    metadata: Annotated[
        GraphMetadata | None,
        _OR_NOTHING,
        component("LangGraph.AnyMetadata"),
        says("`graph_id`: the graph of a first run that names none. Nothing else is kept."),
    ] = None


class LangGraphSearchBody(Fields):
    limit: Annotated[int, *_bounded(1, MAX_FOUND, STATES)] | None = None
    offset: Annotated[int, *_bounded(0, MAX_SEARCHED, 0)] | None = None
    status: Annotated[Any, says("`idle`, `busy`, `interrupted` or `error`.")] = None
    metadata: Annotated[
        dict[str, Any] | None,
        _OR_NOTHING,
        component("LangGraph.AnyMetadata"),
        says("`graph_id` or `assistant_id`: a graph. No thread has other metadata."),
    ] = None


class Checkpoint(Fields):
    checkpoint_id: Text | None = None


class LangGraphHistoryBody(Fields):
    limit: Annotated[int, *_bounded(1, MAX_STATES, STATES)] | None = None
    before: Annotated[
        Any, component("LangGraph.Before"), says("A checkpoint: the states before it.")
    ] = None

    @property
    def before_id(self) -> str | None:
        """Raises InvalidRequest."""
        before = self.before
        place = before if isinstance(before, dict) else {"checkpoint_id": before}
        return read(Checkpoint, place.get("configurable", place), None, "before").checkpoint_id


async def _body(request: ApiRequest, model: type[AnyFields]) -> AnyFields:
    body, _ = await request.state["bodies"].read(request, partial(read, model))
    return body


class Threads(HTTPEndpoint):
    @Operation(
        "langgraphCreateThread",
        Answer("The thread.", LangGraphThreadJson),
        CAPACITY
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
    async def post(self, request: ApiRequest) -> Response:
        """Make a thread.

        Runs that name no graph begin on the graph of `metadata`, runs that name another on theirs.
        """
        asked = await _body(request, LangGraphNewThreadBody)
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


class ThreadSearch(HTTPEndpoint):
    post_only_reads = True

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
    async def post(self, request: ApiRequest) -> Response:
        """List threads, newest first."""
        asked = await _body(request, LangGraphSearchBody)
        limit, offset = asked.limit or STATES, asked.offset or 0
        graphs, status = _graphs_asked(request, asked.metadata or {}), asked.status
        if len(graphs) > 1 or None in graphs:
            return JSONResponse([])
        found: list[ThreadEntry] = []
        async for entry in _entries(request):
            is_of_graph = not graphs or request.state["graphs"].name_of(entry) in graphs
            if is_of_graph and status in (None, _status(entry)):
                found.append(entry)
                if len(found) == limit + offset:
                    break
        return JSONResponse([_listed(request, entry) for entry in found[offset:]])


async def _entries(request: ApiRequest) -> AsyncIterator[ThreadEntry]:
    store, cursor = request.state["store"], None
    for _ in range(MAX_SEARCHED // PAGE_SIZE):
        page = await store.page(owner(request), PAGE_SIZE, cursor)
        for entry in page.entries:
            yield entry
        cursor = page.cursor
        if not cursor:
            return


def _graphs_asked(request: ApiRequest, asked: Mapping[str, Any]) -> set[str | None]:
    """The graphs that the metadata of a search name; None stands for what no thread has."""
    find = request.state["graphs"].find
    return {
        find(value) if name in ("graph_id", "assistant_id") and isinstance(value, str) else None
        for name, value in asked.items()
    }


class Thread(HTTPEndpoint):
    @Operation(
        "langgraphGetThread",
        Answer("The thread.", LangGraphThreadJson),
        STORAGE | pick("thread_not_found"),
    )
    async def get(self, request: ApiRequest) -> Response:
        """Load a thread with its messages."""
        found = await saved.find_thread(request)
        if found is None:
            raise unknown_thread(thread_key(request))
        thread = found.thread
        asked = open_interrupts(thread.turns, thread.interrupts) or []
        interrupts = {"interrupts": {one["id"]: [one] for one in asked}}
        rest = {**_thread(request, found.entry), **interrupts}
        return _json(await saved.state_json(thread, len(thread.messages), rest))

    @Operation(
        "langgraphDeleteThread", {204: Answer("There is no such thread, or no more.")}, STORAGE
    )
    async def delete(self, request: ApiRequest) -> Response:
        """Delete a thread.

        A live run is stopped first.
        """
        await request.state["runs"].delete(thread_key(request), at_once=True)
        return Response(status_code=204)


class ThreadState(HTTPEndpoint):
    @Operation("langgraphGetState", _STATE, STORAGE)
    async def get(self, request: ApiRequest) -> Response:
        """Load the newest state of a thread."""
        return await _state(request, None)


class ThreadStateAt(HTTPEndpoint):
    @Operation("langgraphGetStateAt", _STATE, STORAGE | pick("unknown_checkpoint"))
    async def get(self, request: ApiRequest) -> Response:
        """Load the state of a checkpoint."""
        return await _state(request, request.path_params["checkpoint_id"])


async def _state(request: ApiRequest, checkpoint_id: str | None) -> Response:
    found = await saved.find_thread(request)
    if found is None or not found.entry.run_id:
        return JSONResponse(empty_state())
    thread, count = found.thread, len(found.thread.messages)
    if checkpoint_id is not None:
        thread = await saved.branch_at(request, found, checkpoint_id)
        count = boundary(thread.messages, checkpoint_id)
    rest = state(thread, count, found.entry.updated_at)
    return _json(await saved.state_json(thread, count, rest))


class ThreadHistory(HTTPEndpoint):
    post_only_reads = True

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
    async def post(self, request: ApiRequest) -> Response:
        """List the states of a thread, newest first.

        Those of branches that were left come before the states that both branches have.
        """
        asked = await _body(request, LangGraphHistoryBody)
        limit, before = asked.limit or STATES, asked.before_id
        found = await saved.find_thread(request)
        if found is None or not found.entry.run_id:
            return JSONResponse([])
        async with aclosing(saved.branches_of(request, found)) as branches:
            return _json(await saved.history_json(branches, limit, before, found.entry.updated_at))


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def _status(entry: ThreadEntry) -> Status:
    return STATUS.get(entry.run_state, "idle")


def _thread(request: ApiRequest, entry: ThreadEntry) -> LangGraphBareThreadJson:
    metadata: LangGraphMetadataJson = {"title": entry.title}
    if graph := request.state["graphs"].name_of(entry):
        metadata |= {"graph_id": graph, "assistant_id": graph}
    return {
        "thread_id": entry.id,
        "created_at": entry.created_at,
        "updated_at": entry.updated_at,
        "metadata": metadata,
        "status": _status(entry),
        "config": {},
    }


def _listed(request: ApiRequest, entry: ThreadEntry) -> LangGraphThreadEntryJson:
    first: LangGraphFirstMessageJson = {"type": "human", "content": entry.title}
    title: LangGraphTitleJson = {"messages": [first] if entry.title else []}
    return {**_thread(request, entry), "interrupts": {}, "values": title}
