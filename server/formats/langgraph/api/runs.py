"""LangGraph SDK: runs under `/langgraph`: start one, read it, ask how it stands, cancel it.

`Content-Location` and `Location` are without the prefix: clients put their `apiUrl` before them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlencode

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.formats.fields import at, thread_id
from turnstream.server.formats.format import StreamContext
from turnstream.server.formats.langgraph import WIRE_FORMAT, stream
from turnstream.server.formats.langgraph.api.assistants import Nothing, graph_named
from turnstream.server.formats.langgraph.api.saved import branch_at, find_thread
from turnstream.server.formats.langgraph.states import SavedThread
from turnstream.server.http import chat
from turnstream.server.http.cursors import Position, position
from turnstream.server.http.openapi import operation
from turnstream.server.http.openapi.operation import EVENTS, Answer, Operation, Parameter, Time
from turnstream.server.http.problems import problem, unknown_thread
from turnstream.server.http.state import ApiRequest, principal, rights, thread_key
from turnstream.server.runs.lives import StreamLost
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.turns import problem_codes
from turnstream.server.turns.chunks import Chunk, Error, Interrupt, MessageFinish, RunEnded
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.problem_codes import STORAGE, pick
from turnstream.server.turns.requests import InvalidRequest

if TYPE_CHECKING:
    from turnstream.server.formats.langgraph.body import Submission

FROM_THE_START = "-1"
"""As `Last-Event-ID`: clients that join a run which they have not read."""
YES = ("1", "true")
"""The values of a flag of the query that is set."""
Status = Literal["running", "success", "interrupted", "error"]
STATUS: Mapping[str, Status] = {
    "live": "running",
    "finished": "success",
    "waiting": "interrupted",
    "stopped": "interrupted",
    "failed": "error",
    "interrupted": "error",
}
"""By the state of a thread's last run."""


class LangGraphRunJson(TypedDict):
    run_id: str
    thread_id: str
    assistant_id: str
    created_at: Time
    updated_at: Time
    status: Status
    metadata: Nothing
    kwargs: Nothing
    multitask_strategy: Literal["reject"]


_PLACES = ("X-Thread-Id", "X-Run-Id", "Content-Location", "Location")
_STREAM = {
    **operation.refer("LangGraph.Event"),
    "description": "One event; `error` or `end` is the last.",
}
_STREAMED = "The run as an event stream."
_FOUND = STORAGE | pick("thread_not_found", "run_not_found")
_OF_OTHER_BODIES = pick(
    *("missing_action", "invalid_protocol", "invalid_on_busy", "invalid_trigger"),
    *("invalid_on_interrupt", "unsupported_command", "invalid_tool", "too_many_tools"),
    *("tool_name_taken", "tool_not_allowed", "client_tools_not_supported", "interrupt_pending"),
    *("unknown_graph", "unknown_model", "model_not_selectable", "idempotency_key_reused"),
)
_OF_THIS_BODY = problem_codes.LANGGRAPH_FIELDS | pick("assistant_not_found", "unknown_checkpoint")
_START = (
    (problem_codes.BODY_FIELDS | problem_codes.START) - _OF_OTHER_BODIES
    | _OF_THIS_BODY
    | problem_codes.VERSION
    | STORAGE
)
_PATH = {"thread_id": "ThreadId"}
_HELLO = {"type": "text", "text": "Hello"}
_ASKED = {"assistant_id": "chat", "input": {"messages": [{"type": "human", "content": "Hello"}]}}
_NAMES = "|".join((*stream.MODES, *stream.OTHER_MODES))
_MODES = {"type": "string", "pattern": f"^(({_NAMES})?(,|$))*$"}


class Runs(HTTPEndpoint):
    @Operation(
        "langgraphCreateRun",
        Answer("The run.", LangGraphRunJson, headers=_PLACES, may_have=(chat.IGNORED,)),
        _START,
        path=_PATH,
        body="LangGraph.RunBody",
        examples={"a message": _ASKED},
    )
    async def post(self, request: ApiRequest) -> Response:
        """Start a run and wait for nothing."""
        run, asked, graph = await _start(request)
        if isinstance(run, StreamLost):
            key, run_id, headers = run.key, run.run_id, _unseen_headers(run)
        else:
            key, run_id = run.header.key, run.header.run_id
            headers = {**chat.run_headers(run), **_places(run, asked.modes)}
        headers |= chat.ignored_header(asked.ignored)
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return JSONResponse(_run(key, run_id, graph, now, "running"), headers=headers)


class RunsStream(HTTPEndpoint):
    @Operation(
        "langgraphStreamRun",
        Answer(
            _STREAMED,
            _STREAM,
            EVENTS,
            headers=_PLACES,
            may_have=(*chat.RUN_HEADERS, chat.IGNORED),
        ),
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
    async def post(self, request: ApiRequest) -> Response:
        """Start a run and stream it.

        `Content-Location` and `Location` name the run and its stream, without `/langgraph`.
        """
        request.state["streams"].check(rights(request))  # before the run begins
        run, asked, _ = await _start(request)
        ignored = chat.ignored_header(asked.ignored)
        try:
            if isinstance(run, StreamLost):
                raise run
            with chat.stream_refusals(run):
                return await _stream(
                    request, run, asked.modes, stops=asked.stops_with_reader, headers=ignored
                )
        except StreamLost as lost:
            headers = {**_unseen_headers(lost), **ignored}
            return request.state["streams"].cursor_lost(WIRE_FORMAT, headers)


class Run(HTTPEndpoint):
    @Operation("langgraphGetRun", Answer("The run.", LangGraphRunJson), _FOUND)
    async def get(self, request: ApiRequest) -> Response:
        """Load the status of a run."""
        entry, run = await _find(request)
        graphs, run_id = request.state["graphs"], request.path_params["run_id"]
        graph = graphs.name_of(entry) or graphs.default
        status = STATUS[entry.run_state]
        if run is not None and entry.run_id != run_id:
            status = await _logged_status(run)
        return JSONResponse(_run(thread_key(request), run_id, graph, entry.updated_at, status))


class RunStream(HTTPEndpoint):
    @Operation(
        "langgraphJoinRun",
        Answer(_STREAMED, _STREAM, EVENTS, may_have=_PLACES),
        _FOUND | pick("limit_reached", "limit_exceeded", "invalid_stream_mode"),
        query={
            "stream_mode": Parameter(
                "The modes of the stream; several in one value are separated by commas.",
                {"type": "array", "items": _MODES},
            ),
            "cancel_on_disconnect": Parameter(
                "`1` or `true`: the run ends when this reader leaves."
            ),
        },
        headers={"Last-Event-ID": Parameter("The last event that the client has; `-1` for none.")},
    )
    async def get(self, request: ApiRequest) -> Response:
        """Read a run's stream.

        From its first event, or after the event whose id is given. A cursor that is unknown gets a
        stream that says so; of a run that is held no longer there is its end alone.
        """
        _, run = await _find(request)
        query, streams = request.query_params, request.state["streams"]
        # Python's client sends an empty one for none.
        named = [name for text in query.getlist("stream_mode") for name in text.split(",") if name]
        with at("stream_mode"):
            modes = stream.wanted_modes(named)
        place = "done" if run is None else await _position(request, run)
        if run is None or place == "done":
            ending = WIRE_FORMAT.idle(StreamContext(request.path_params["thread_id"], ""), modes)
            return streams.whole(WIRE_FORMAT, ending, principal(request).id)
        if place == "lost" or place.run.header.run_id != run.header.run_id:
            return streams.cursor_lost(WIRE_FORMAT)
        stops = query.get("cancel_on_disconnect") in YES
        return await _stream(request, run, modes, after=place.after, stops=stops)


async def _position(request: ApiRequest, run: LoggedRun) -> Position | Literal["done", "lost"]:
    cursor = request.headers.get("last-event-id") or FROM_THE_START
    if cursor == FROM_THE_START:
        return Position(run, 0)
    return await position(request.state["reader"], run.header.key, cursor)


class RunCancel(HTTPEndpoint):
    @Operation(
        "langgraphCancelRun",
        {
            202: Answer("The run is asked to stop.", {"type": "object", "maxProperties": 0}),
            204: Answer("With `wait`: the thread is saved and free, also if the run had ended."),
        },
        _FOUND | pick("unsupported_option"),
        query={
            "wait": Parameter("`1` or `true`: wait until the thread is saved and free."),
            "action": Parameter("The text of the run is kept.", operation.one_of(["interrupt"])),
        },
    )
    async def post(self, request: ApiRequest) -> Response:
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


async def _start(request: ApiRequest) -> tuple[LoggedRun | StreamLost, "Submission", str]:
    """The run, or that it has no stream; what was asked; the name of the graph. Raises Problem,
    InvalidRequest, and what the start of a run raises."""
    # The many models of a body are made when one comes.
    from turnstream.server.formats.langgraph.body import parse
    from turnstream.server.formats.langgraph.turn_request import turn_request

    id = thread_id(request.path_params["thread_id"])
    read = partial(parse, limits=request.state["body_limits"])
    asked, _ = await request.state["bodies"].read(request, read)
    graph = graph_named(request, asked.assistant_id)
    found = await find_thread(request) if asked.is_about_thread else None
    thread = found.thread if found else SavedThread(id, (), ())
    if found and asked.branches_at is not None:
        thread = await branch_at(request, found, asked.branches_at)
    turn = turn_request(asked, thread, graph)
    try:
        run = await request.state["runs"].start(principal(request), turn, WIRE_FORMAT.name)
    except StreamLost as lost:
        return lost, asked, graph
    return run, asked, run.header.graph


async def _stream(
    request: ApiRequest,
    run: LoggedRun,
    modes: stream.Modes,
    *,
    after: int = 0,
    stops: bool,
    headers: Mapping[str, str] | None = None,
) -> Response:
    header, runs = run.header, request.state["runs"]
    return await chat.stream_run(
        request,
        run,
        WIRE_FORMAT,
        modes,
        after=after,
        replay=True,
        headers={**_places(run, modes), **(headers or {})},
        left=partial(runs.ask_to_stop, header.key, header.run_id) if stops else None,
    )


def _place(key: ThreadKey, run_id: str) -> str:
    return f"/threads/{key.thread_id}/runs/{run_id}"


def _places(run: LoggedRun, modes: stream.Modes) -> dict[str, str]:
    """A client that joins again repeats nothing of what it asked: the address says it."""
    place = _place(run.header.key, run.header.run_id)
    query = urlencode([("stream_mode", name) for name in sorted(modes)])
    told = "" if modes == stream.ALL_MODES else f"?{query}"
    return {"Content-Location": place, "Location": f"{place}/stream{told}"}


def _unseen_headers(lost: StreamLost) -> dict[str, str]:
    place = _place(lost.key, lost.run_id)
    return {**chat.unseen_headers(lost), "Content-Location": place, "Location": f"{place}/stream"}


async def _find(request: ApiRequest) -> tuple[ThreadEntry, LoggedRun | None]:
    """The thread and the run that a request's address names. The run is None if its log is no
    longer held. Raises Problem."""
    key, run_id = thread_key(request), request.path_params["run_id"]
    entry = await request.state["store"].get(key)
    if entry is None:
        raise unknown_thread(key)
    run = await request.state["reader"].find(key, run_id)
    if run is None and entry.run_id != run_id:
        raise problem("run_not_found")
    return entry, run


async def _logged_status(run: LoggedRun) -> Status:
    status: Status = "success"
    async for batch in run.log.read(0):
        status = next((told for _, chunk in batch if (told := _ending(chunk))), status)
    return status


def _ending(chunk: Chunk) -> Status | None:
    """How a run ended, if this chunk says it."""
    match chunk:
        case Error():
            return "error"
        case RunEnded() | Interrupt() | MessageFinish("tool-calls"):
            return "interrupted"
    return None


def _run(key: ThreadKey, run_id: str, graph: str, at: str, status: Status) -> LangGraphRunJson:
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
