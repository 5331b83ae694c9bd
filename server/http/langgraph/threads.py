"""LangGraph SDK: threads, their states and their history, under `/langgraph`.

The state of a thread without a run is empty, as that of a thread that is not there: clients also
name threads that nobody has made yet.
"""

import secrets
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import aclosing
from typing import Any

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response

from turnstream.server.http.langgraph.assistants import graph_named
from turnstream.server.http.langgraph.saved import Found, branch_at, branches_of, find_thread
from turnstream.server.http.langgraph.states import history_json, state_json
from turnstream.server.http.problems import Problem, unknown_thread
from turnstream.server.http.state import ApiRequest, owner, principal, thread_key
from turnstream.server.protocols.fields import mapping, shown, string, thread_id
from turnstream.server.protocols.langgraph_sdk.snapshot import open_interrupts
from turnstream.server.protocols.langgraph_sdk.states import (
    SavedThread,
    boundary,
    empty_state,
    state,
)
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import InvalidRequest

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


class Threads(HTTPEndpoint):
    async def post(self, request: ApiRequest) -> Response:
        """Body `{"thread_id"?, "if_exists"?: "raise" | "do_nothing", "metadata"?: {"graph_id"}}`:
        runs that name no graph begin on that one, runs that name another on theirs."""
        fields, _ = await request.state["bodies"].read(request, _object)
        given = fields.get("thread_id")
        id = f"thread_{secrets.token_hex(10)}" if given is None else thread_id(given)
        graph = _graph_of(request, fields)
        entry = await request.state["store"].get(ThreadKey(owner(request), id))
        if entry is None:
            entry = await request.state["runs"].create(principal(request), id, graph)
            return JSONResponse({**_thread(request, entry), "values": None})
        if fields.get("if_exists") != "do_nothing":
            raise Problem(409, "thread_exists", f"There is a thread {id!r} already.")
        return JSONResponse(_thread(request, entry))


class ThreadSearch(HTTPEndpoint):
    post_only_reads = True

    async def post(self, request: ApiRequest) -> Response:
        """Body `{"limit"?, "offset"?, "status"?, "metadata"?: {"graph_id" | "assistant_id"}}`: the
        threads, by last activity, newest first, up to the newest MAX_SEARCHED. Of `values` they
        have the first message as far as the title goes. No other metadata is kept: none has it."""
        fields, _ = await request.state["bodies"].read(request, _object)
        limit = _number(fields, "limit", STATES, MAX_FOUND)
        offset = _number(fields, "offset", 0, MAX_SEARCHED, least=0)
        graphs, status = _graphs_asked(request, fields), fields.get("status")
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


class ThreadHistory(HTTPEndpoint):
    post_only_reads = True

    async def post(self, request: ApiRequest) -> Response:
        """Body `{"limit"?, "before"?: checkpoint}`: the states, newest first, with those of left
        branches before what both have."""
        fields, _ = await request.state["bodies"].read(request, _object)
        limit, before = _number(fields, "limit", STATES, MAX_STATES), _before(fields)
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
    metadata = mapping(asked.get("metadata") or {}, "metadata")
    find = request.state["graphs"].find
    return {
        find(value) if name in ("graph_id", "assistant_id") and isinstance(value, str) else None
        for name, value in metadata.items()
    }


def _matches(
    request: ApiRequest, entry: ThreadEntry, status: Any, graphs: Collection[str | None]
) -> bool:
    if status is not None and STATUS.get(entry.run_state, "idle") != status:
        return False
    return not graphs or request.state["graphs"].name_of(entry) in graphs


def _graph_of(request: ApiRequest, fields: Mapping[str, Any]) -> str | None:
    """The graph that a new thread is made for. Raises Problem."""
    named = mapping(fields.get("metadata") or {}, "metadata").get("graph_id")
    return None if named is None else graph_named(request, string(named, "metadata.graph_id"))


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


def _object(body: Any) -> Mapping[str, Any]:
    return mapping(body, "The body")


def _number(
    fields: Mapping[str, Any], name: str, default: int, most: int, *, least: int = 1
) -> int:
    value = fields.get(name)
    if value is None:
        return default
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # an integer, as JSON Schema has it
    if type(value) is not int or not least <= value <= most:
        raise InvalidRequest(
            "invalid_limit", f"{name} is {shown(value)}: ask for {least} to {most}."
        )
    return value


def _before(fields: Mapping[str, Any]) -> str | None:
    before = fields.get("before")
    if isinstance(before, dict):
        inner = before.get("configurable", before)
        before = mapping(inner, "before").get("checkpoint_id")
    return None if before is None else string(before, "before")
