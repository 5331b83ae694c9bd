"""LangGraph SDK: runs.

`Content-Location` and `Location` are without the prefix: clients put their `apiUrl` before them.
"""

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.formats import fields
from turnstream.server.formats.format import StreamContext
from turnstream.server.formats.langgraph import WIRE_FORMAT, stream
from turnstream.server.formats.langgraph.api.assistants import Nothing, graph_named
from turnstream.server.formats.langgraph.api.threads import (
    STATUSES,
    RunStatus,
    branch_at,
    find_thread,
)
from turnstream.server.formats.langgraph.snapshot import SavedThread
from turnstream.server.http import chat, operations
from turnstream.server.http.cursors import Position, position
from turnstream.server.http.operations import Answer, Operation, Parameter
from turnstream.server.http.problems import problem, unknown_thread
from turnstream.server.http.state import ApiRequest, principal, rights, thread_key
from turnstream.server.runs.endings import told_end
from turnstream.server.runs.lives import StreamLost
from turnstream.server.runs.lost_chunks import told_so_far
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.turns import problem_codes
from turnstream.server.turns.header import RunHeader, ThreadKey
from turnstream.server.turns.problem_codes import STORAGE, pick
from turnstream.server.turns.requests import InvalidRequest, TurnRequest

if TYPE_CHECKING:
    from turnstream.server.formats.langgraph.body import Submission

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
    status: RunStatus
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
    _, status = STATUSES[state]
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


def _run(key: ThreadKey, run_id: str, graph: str, at: str, status: RunStatus) -> LangGraphRunJson:
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
