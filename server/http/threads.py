"""/threads: the list and its search, one thread (hydrate), change, delete, restore."""

from datetime import UTC, datetime
from functools import partial

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response

from turnstream.server.http.problems import Problem, unknown_thread
from turnstream.server.http.state import ApiRequest, rights, thread_key
from turnstream.server.http.thread_changes import changes_of
from turnstream.server.http.thread_content import consistent
from turnstream.server.http.thread_json import thread_json
from turnstream.server.http.thread_listing import flag, number, page, shown
from turnstream.server.protocols import DEFAULT, wire_format
from turnstream.server.runs.tool_choice import check_choice
from turnstream.server.storage.interfaces import MAX_PINNED, TooManyPinned
from turnstream.server.turns.pages import WHOLE, TurnPage
from turnstream.tools.threads import beside_loop

MESSAGES, MAX_MESSAGES = 50, 1000
"""Of a page of a thread."""


class Threads(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """`{"threads": [entry], "cursor"?}`: pinned ones first, then newest first by last activity.

        With `state` those whose last run is in it; with `archived=true` those of the archive. With
        `q` those that have its words, archived or not, each with `"found": {"title": [segment],
        "text"?: [segment], "message_id"?}`; a segment is `{"text", "is_match"?: true}`.
        """
        return JSONResponse(await page(request))


class Thread(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """All that a page needs to show a thread and to go on from there.

            {"id", "title", "created_at", "updated_at", "run_id", "run_state", "graph"?,
             "allowed_tools"?, "messages",
             "pending": [{"tool_call_id", "tool_name", "args"}],
             "approvals"?: [{"tool_call_id", "tool_name", "args", "approval_id", "may_have_run"?}],
             "interrupts"?: [{"id", "value"?, "node", "namespace"?}],
             "state"?: {name: value},
             "run": null | {"id", "stream_url", "stop_url", "cursor", "message_id", "first_part"},
             "has_earlier"?, "version"?}

        All messages; or, with `limit` or `before`, a page of them: the newest, or those before the
        message of an id. Then `has_earlier` says whether the thread has others before the page.
        With `version` the messages are those of the branch that has this version of a message, if
        that is not the thread's own; the thread stays as it is.
        `run_id` and `run_state` are of the last run; `graph` is there if several are served and the
        thread has one, `allowed_tools` if the thread is narrowed.
        `messages` are as the protocol shows them; a live run's message is as its log tells it up to
        `cursor`: attach with that, and nothing is missed or doubled. `first_part` is the index, in
        its message, of the run's part 0. Of a run that withdrew a step or whose nodes speak beside
        each other the cursor is at its beginning.
        """
        format = wire_format(request.query_params.get("protocol", DEFAULT.name))
        wanted = _page(request)
        version = request.query_params.get("version")
        entry, turns, rest = await consistent(request, thread_key(request), format, wanted, version)
        messages = await beside_loop(len(turns), partial(format.snapshot, turns))
        body = await thread_json(shown(request, entry), messages, rest)
        return Response(body, media_type="application/json")

    async def patch(self, request: ApiRequest) -> Response:
        """Body `{"title"?, "allowed_tools"?, "pinned"?, "archived"?}`, the tools a list of names,
        or null; answers with the entry. A live run keeps the tools that it began with."""
        key, store = thread_key(request), request.state["store"]
        changes, _ = await request.state["bodies"].read(request, changes_of)
        entry = await store.get(key)
        if entry is not None and "allowed_tools" in changes:
            graphs, tools = request.state["graphs"], request.state["catalogue"].current
            possible = [one.attached for one in graphs.possible(entry)]
            check_choice(changes["allowed_tools"] or (), possible, tools, rights(request))
        # First what can still be refused: then nothing has changed.
        if entry is not None and changes.keys() & {"pinned", "archived"}:
            try:
                entry = await store.arrange(key, changes.get("pinned"), changes.get("archived"))
            except TooManyPinned:
                detail = f"{MAX_PINNED} threads are pinned. Unpin another one first."
                raise Problem(409, "too_many_pinned", detail) from None
        if entry is not None and "allowed_tools" in changes:
            entry = await store.allow_tools(key, changes["allowed_tools"])
        if entry is not None and "title" in changes:
            entry = await store.rename(key, changes["title"])
        if entry is None:
            raise unknown_thread(key)
        return JSONResponse(shown(request, entry))

    async def delete(self, request: ApiRequest) -> Response:
        """Delete a thread, whether there is one or not; its live run is stopped first.

        202 `{"restorable_until"}`: it can be brought back until then. 204: it is gone for good, as
        with `at_once=true`.
        """
        at_once = flag(request, "at_once", default=False)
        runs, key = request.state["runs"], thread_key(request)
        until = await runs.delete(key, at_once=bool(at_once))
        if until is None:
            return Response(status_code=204)
        moment = datetime.fromtimestamp(until, UTC).isoformat(timespec="milliseconds")
        return JSONResponse({"restorable_until": moment}, 202)


class Restore(HTTPEndpoint):
    async def post(self, request: ApiRequest) -> Response:
        """Bring back a thread that was deleted; answers with the entry."""
        key = thread_key(request)
        entry = await request.state["runs"].deletions.restore(key)
        if entry is None:
            raise unknown_thread(key)
        return JSONResponse(shown(request, entry))


def _page(request: ApiRequest) -> TurnPage:
    """What a request asks for of its thread. Raises Problem."""
    query = request.query_params
    if not {"limit", "before"} & query.keys():
        return WHOLE
    limit = number(query.get("limit", str(MESSAGES)), MAX_MESSAGES)
    return TurnPage(limit, query.get("before"))
