"""/threads: the list, one thread (hydrate), rename, delete."""

from dataclasses import asdict
from functools import partial
from typing import Any, get_args

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response

from server.http.problems import Problem, unknown_thread
from server.http.state import ApiRequest, owner, rights, thread_key
from server.http.thread_content import consistent
from server.http.thread_json import thread_json
from server.protocols import DEFAULT, allowed_tools, wire_format
from server.runs.tool_choice import check_choice
from server.storage.interfaces import ThreadEntry, ThreadRunState
from server.turns.pages import WHOLE, TurnPage
from server.turns.requests import InvalidRequest
from tools.threads import beside_loop

STATES: tuple[str, ...] = get_args(ThreadRunState)
PAGE_SIZE, MAX_PAGE_SIZE = 30, 100
MESSAGES, MAX_MESSAGES = 50, 1000
"""Of a page of a thread."""
MAX_TITLE_CHARS = 200


class Threads(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """`{"threads": [entry], "cursor"?}`, newest first by last activity; with `state`
        those whose last run is in it."""
        query = request.query_params
        limit = _limit(query.get("limit", str(PAGE_SIZE)), MAX_PAGE_SIZE)
        state = query.get("state")
        if state is not None and state not in STATES:
            raise Problem(
                422, "invalid_state", f"state is {state[:20]!r}: ask for {' or '.join(STATES)}."
            )
        try:
            page = await request.state["store"].page(
                owner(request),
                limit,
                query.get("cursor"),
                state,  # type: ignore[arg-type]
            )
        except ValueError as error:
            raise Problem(422, "invalid_cursor", f"{error}; begin without one.") from None
        more = {"cursor": page.cursor} if page.cursor else {}
        return JSONResponse({"threads": [shown(request, entry) for entry in page.entries], **more})


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
        `run_id` and `run_state` are of the last run; `graph` is there if several are served,
        `allowed_tools` if the thread is narrowed.
        `messages` are as the protocol shows them; a live run's message is as its log tells it up to
        `cursor`: attach with that, and nothing is missed or doubled. `first_part` is the index, in
        its message, of the run's part 0. Of a run that withdrew a step or whose nodes speak beside
        each other the cursor is at its beginning.
        """
        format = wire_format(request.query_params.get("protocol", DEFAULT.name))
        page = _page(request)
        version = request.query_params.get("version")
        entry, turns, rest = await consistent(request, thread_key(request), format, page, version)
        messages = await beside_loop(len(turns), partial(format.snapshot, turns))
        body = await thread_json(shown(request, entry), messages, rest)
        return Response(body, media_type="application/json")

    async def patch(self, request: ApiRequest) -> Response:
        """Body `{"title"?, "allowed_tools"?}`, the latter a list of names, or null; answers with
        the entry. A live run keeps the tools that it began with."""
        key, store = thread_key(request), request.state["store"]
        changes, _ = await request.state["bodies"].read(request, _changes)
        entry = await store.get(key)
        if entry is not None and "allowed_tools" in changes:
            names = changes["allowed_tools"]
            graphs = request.state["graphs"]
            graph = graphs.checkpoints(graphs.name_of(entry)).attached
            check_choice(names or (), graph, request.state["catalogue"].current, rights(request))
            entry = await store.allow_tools(key, names)
        if entry is not None and "title" in changes:
            entry = await store.rename(key, changes["title"])
        if entry is None:
            raise unknown_thread(key)
        return JSONResponse(shown(request, entry))

    async def delete(self, request: ApiRequest) -> Response:
        """Forget a thread, whether there is one or not; its live run is stopped first."""
        await request.state["runs"].delete(thread_key(request))
        return Response(status_code=204)


def _page(request: ApiRequest) -> TurnPage:
    """What a request asks for of its thread. Raises Problem."""
    query = request.query_params
    if not {"limit", "before"} & query.keys():
        return WHOLE
    limit = _limit(query.get("limit", str(MESSAGES)), MAX_MESSAGES)
    return TurnPage(limit, query.get("before"))


def shown(request: ApiRequest, entry: ThreadEntry) -> dict[str, Any]:
    shown, graphs = asdict(entry), request.state["graphs"]
    del shown["graph"]
    if entry.allowed_tools is None:
        del shown["allowed_tools"]
    return {**shown, "graph": graphs.name_of(entry)} if graphs.are_several else shown


def _limit(text: str, most: int) -> int:
    is_number = text.isascii() and text.isdecimal() and len(text) < 10
    if not (is_number and 1 <= int(text) <= most):
        raise Problem(422, "invalid_limit", f"limit is {text[:20]!r}: ask for 1 to {most}.")
    return int(text)


def _changes(body: Any) -> dict[str, Any]:
    """What a body changes of a thread, checked."""
    if not isinstance(body, dict) or not body or not body.keys() <= {"title", "allowed_tools"}:
        raise InvalidRequest(
            "invalid_title",
            f'Send {{"title": "..."}} of 1 to {MAX_TITLE_CHARS} characters, {{"allowed_tools": '
            "[name, ...]} (null: all), or both.",
        )
    changes: dict[str, Any] = {}
    if "title" in body:
        changes["title"] = _title(body["title"])
    if "allowed_tools" in body:
        changes["allowed_tools"] = allowed_tools(body)
    return changes


def _title(title: Any) -> str:
    if not isinstance(title, str) or not 1 <= len(title.strip()) <= MAX_TITLE_CHARS:
        raise InvalidRequest(
            "invalid_title", f'Send {{"title": "..."}} of 1 to {MAX_TITLE_CHARS} characters.'
        )
    try:
        title.encode()
    except UnicodeEncodeError:
        raise InvalidRequest("invalid_title", "The title is not valid Unicode.") from None
    return " ".join(title.split())
