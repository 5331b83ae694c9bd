"""LangGraph SDK: threads, their states and their history, under `/langgraph`.

The state of a thread without a run is empty, as that of a thread that is not there: clients also
name threads that nobody has made yet.
"""

import secrets
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import aclosing
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response

from turnstream.server.http.langgraph.assistants import graph_named
from turnstream.server.http.langgraph.saved import Found, branch_at, branches_of, find_thread
from turnstream.server.http.langgraph.states import history_json, state_json
from turnstream.server.http.problems import Problem, unknown_thread
from turnstream.server.http.state import ApiRequest, owner, principal, thread_key
from turnstream.server.protocols.fields import Fields, Otherwise, Text, ThreadId, read
from turnstream.server.protocols.langgraph_sdk.snapshot import open_interrupts
from turnstream.server.protocols.langgraph_sdk.states import (
    SavedThread,
    boundary,
    empty_state,
    state,
)
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.turns.header import ThreadKey

Json = dict[str, Any]

MAX_STATES = 1000
STATES = 10
"""LangGraph's own default."""
MAX_FOUND = 1000
MAX_SEARCHED = 10_000
"""Threads that one search looks through, the newest."""
PAGE_SIZE = 100
STATUS = {"live": "busy", "waiting": "interrupted", "failed": "error"}
"""By run state; of any other a thread is idle."""


def _whole(value: Any) -> Any:
    """A float without a fraction is an integer in JSON Schema."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _bounded(least: int, most: int) -> tuple[Any, ...]:
    remedy = Otherwise("invalid_limit", f"ask for {least} to {most}")
    return Field(ge=least, le=most), BeforeValidator(_whole), remedy


_OR_NOTHING = BeforeValidator(lambda value: value or None)


class GraphMetadata(Fields):
    graph_id: Text | None = None


class NewThread(Fields):
    thread_id: ThreadId | None = None
    if_exists: Any = None
    metadata: Annotated[GraphMetadata | None, _OR_NOTHING] = None


class Threads(HTTPEndpoint):
    async def post(self, request: ApiRequest) -> Response:
        """Body `{"thread_id"?, "if_exists"?: "raise" | "do_nothing", "metadata"?: {"graph_id"}}`:
        runs that name no graph begin on that one, runs that name another on theirs."""
        asked, _ = await request.state["bodies"].read(
            request, lambda body: read(NewThread, body, None)
        )
        id = asked.thread_id or f"thread_{secrets.token_hex(10)}"
        named = asked.metadata.graph_id if asked.metadata else None
        graph = None if named is None else graph_named(request, named)
        entry = await request.state["store"].get(ThreadKey(owner(request), id))
        if entry is None:
            entry = await request.state["runs"].create(principal(request), id, graph)
            return JSONResponse({**_thread(request, entry), "values": None})
        if asked.if_exists != "do_nothing":
            raise Problem(409, "thread_exists", f"There is a thread {id!r} already.")
        return JSONResponse(_thread(request, entry))


class Search(Fields):
    limit: Annotated[int, *_bounded(1, MAX_FOUND)] | None = None
    offset: Annotated[int, *_bounded(0, MAX_SEARCHED)] | None = None
    status: Any = None
    metadata: Annotated[dict[str, Any] | None, _OR_NOTHING] = None


class ThreadSearch(HTTPEndpoint):
    post_only_reads = True

    async def post(self, request: ApiRequest) -> Response:
        """Body `{"limit"?, "offset"?, "status"?, "metadata"?: {"graph_id" | "assistant_id"}}`: the
        threads, by last activity, newest first, up to the newest MAX_SEARCHED. Of `values` they
        have the first message as far as the title goes. No other metadata is kept: none has it."""
        asked, _ = await request.state["bodies"].read(
            request, lambda body: read(Search, body, None)
        )
        limit, offset = asked.limit or STATES, asked.offset or 0
        graphs, status = _graphs_asked(request, asked.metadata or {}), asked.status
        if len(graphs) > 1 or None in graphs:
            return JSONResponse([])
        left = limit + offset
        found: list[ThreadEntry] = []
        async for entry in _entries(request):
            if _matches(request, entry, status, graphs):
                found.append(entry)
                if len(found) == left:
                    break
        return JSONResponse([_listed(request, entry) for entry in found[offset:]])


class Thread(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """The thread with all its messages."""
        found = await _known(request)
        asked = open_interrupts(found.thread.turns, found.thread.interrupts) or []
        rest = {"interrupts": {one["id"]: [one] for one in asked}}
        values = {**_thread(request, found.entry), **rest}
        return await _as_response(found.thread, values, None)

    async def delete(self, request: ApiRequest) -> Response:
        """Forget a thread, whether there is one or not; its live run is stopped first."""
        await request.state["runs"].delete(thread_key(request), at_once=True)
        return Response(status_code=204)


class ThreadState(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """The newest state, or that of a checkpoint."""
        found = await find_thread(request, thread_key(request))
        if found is None or not found.entry.run_id:
            return JSONResponse(empty_state())
        named = request.path_params.get("checkpoint_id")
        thread = found.thread if named is None else await branch_at(request, found, named)
        messages = thread.messages
        count = len(messages) if named is None else boundary(messages, named)
        values = state(thread, messages, count, found.entry.updated_at)
        return await _as_response(thread, values, count)


class Checkpoint(Fields):
    checkpoint_id: Text | None = None


class History(Fields):
    limit: Annotated[int, *_bounded(1, MAX_STATES)] | None = None
    before: Any = None

    @property
    def before_id(self) -> str | None:
        """Raises InvalidRequest."""
        before = self.before
        place = before if isinstance(before, dict) else {"checkpoint_id": before}
        return read(Checkpoint, place.get("configurable", place), None, "before").checkpoint_id


class ThreadHistory(HTTPEndpoint):
    post_only_reads = True

    async def post(self, request: ApiRequest) -> Response:
        """Body `{"limit"?, "before"?: checkpoint}`: the states, newest first, with those of left
        branches before what both have."""
        asked, _ = await request.state["bodies"].read(
            request, lambda body: read(History, body, None)
        )
        limit, before = asked.limit or STATES, asked.before_id
        found = await find_thread(request, thread_key(request))
        if found is None or not found.entry.run_id:
            return JSONResponse([])
        async with aclosing(branches_of(request, found)) as branches:
            body = await history_json(branches, limit, before, found.entry.updated_at)
        return Response(body, media_type="application/json")


async def _as_response(thread: SavedThread, rest: Mapping[str, Any], count: int | None) -> Response:
    body = await state_json(thread, rest, count)
    return Response(body, media_type="application/json")


async def _known(request: ApiRequest) -> Found:
    key = thread_key(request)
    found = await find_thread(request, key)
    if found is None:
        raise unknown_thread(key)
    return found


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


def _matches(
    request: ApiRequest, entry: ThreadEntry, status: Any, graphs: Collection[str | None]
) -> bool:
    if status is not None and STATUS.get(entry.run_state, "idle") != status:
        return False
    return not graphs or request.state["graphs"].name_of(entry) in graphs


def _thread(request: ApiRequest, entry: ThreadEntry) -> Json:
    graph = request.state["graphs"].name_of(entry)
    graphs = {"graph_id": graph, "assistant_id": graph} if graph else {}
    return {
        "thread_id": entry.id,
        "created_at": entry.created_at,
        "updated_at": entry.updated_at,
        "metadata": {**graphs, "title": entry.title},
        "status": STATUS.get(entry.run_state, "idle"),
        "config": {},
        "interrupts": {},
    }


def _listed(request: ApiRequest, entry: ThreadEntry) -> Json:
    first = {"type": "human", "content": entry.title}
    return {**_thread(request, entry), "values": {"messages": [first] if entry.title else []}}
