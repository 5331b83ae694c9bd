"""LangGraph SDK: runs.

`Content-Location` and `Location` are without the prefix: clients put their `apiUrl` before them.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple
from urllib.parse import urlencode

from pydantic import Field
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.formats import fields
from turnstream.server.formats.fields import Fields, Text
from turnstream.server.formats.format import StreamContext
from turnstream.server.formats.langchain_messages import Json
from turnstream.server.formats.langgraph import WIRE_FORMAT, snapshot, stream
from turnstream.server.formats.langgraph.api.assistants import FoundAssistant, find_assistant
from turnstream.server.formats.langgraph.api.bodies import (
    MAX_LISTED,
    MAX_SEARCHED,
    Nothing,
    read_body,
    selected,
    some_of,
)
from turnstream.server.formats.langgraph.api.states import MAX_DIGITS, branch_at, find_thread
from turnstream.server.formats.langgraph.api.threads import (
    PAGE_SIZE,
    STATUSES,
    RunStatus,
    check_size,
    new_thread_id,
)
from turnstream.server.formats.langgraph.snapshot import SavedThread
from turnstream.server.formats.metadata import given
from turnstream.server.http import chat, operations
from turnstream.server.http.cursors import LOST, Position, position
from turnstream.server.http.event_streams import CURSOR_LOST
from turnstream.server.http.operations import TEXT, Answer, Operation, Parameter, says
from turnstream.server.http.problems import problem, unknown_thread
from turnstream.server.http.queue import waiting
from turnstream.server.http.sse_response import ServerSentEvents
from turnstream.server.http.state import ApiRequest, owner, principal, rights, thread_key
from turnstream.server.http.thread_json import as_json
from turnstream.server.runs.client_values import allowed_names
from turnstream.server.runs.endings import told_end
from turnstream.server.runs.lives import StreamLost
from turnstream.server.runs.lost_chunks import told_so_far
from turnstream.server.runs.queue import QueuedRun, Withdrawn
from turnstream.server.runs.reader import LoggedRun, RunReader
from turnstream.server.storage.interfaces import StorageUnavailable, ThreadEntry
from turnstream.server.storage.queued_requests import QueuedRequest, WithdrawnRun
from turnstream.server.turns import problem_codes
from turnstream.server.turns.accumulate import is_in_order
from turnstream.server.turns.chunks import Chunk, Done, Error, Interrupt
from turnstream.server.turns.header import RunHeader, ThreadKey
from turnstream.server.turns.messages import AssistantTurn
from turnstream.server.turns.problem_codes import STORAGE, pick
from turnstream.server.turns.requests import InvalidRequest, RunRecord, TurnRequest
from turnstream.tools.threads import beside_loop

if TYPE_CHECKING:
    from turnstream.server.formats.langgraph.body import Submission

FROM_THE_START = "-1"
"""As `Last-Event-ID`: clients that join a run which they have not read."""
MAX_BATCH = 20
"""Runs that one request starts."""
FOLLOW_SECONDS = 0.5
"""Between looks at whether a run of a thread has begun that somebody reads."""
MAX_FOLLOW_SECONDS = 2.0
"""The same while none begins."""
MAX_FOLLOWED = 100
"""Runs that may have begun between two looks, or since a reader left."""
YES = ("1", "true")
"""The values of a flag of the query that is set."""


class LangGraphRunJson(TypedDict):
    run_id: str
    thread_id: str
    assistant_id: str
    created_at: operations.Time
    updated_at: operations.Time
    status: RunStatus
    metadata: dict[str, Any]
    kwargs: Nothing
    multitask_strategy: Literal["reject", "enqueue"]


_PLACES = ("X-Thread-Id", "X-Run-Id", "Content-Location", "Location")
_LAST = "One event; `error` or `end` is the last."
_EVENT = {**operations.refer("LangGraph.Event"), "description": _LAST}
_streamed = partial(Answer, "The run as an event stream.", _EVENT, operations.EVENTS)
_result = partial(
    Answer,
    "The values of the state that the run leaves; `__interrupt__` is what waits for an answer, "
    "`__error__` why the run failed.",
    "LangGraph.Result",
)
_LOST = snapshot.error_json("cursor_lost", CURSOR_LOST)
_FOUND = STORAGE | pick("thread_not_found", "run_not_found")
_OF_OTHER_BODIES = pick(
    *("missing_action", "invalid_protocol", "invalid_on_busy", "invalid_trigger"),
    *("invalid_on_interrupt", "unsupported_command"),
    *("tool_not_allowed", "client_tools_not_supported"),
    *("unknown_graph", "unknown_model", "model_not_selectable", "idempotency_key_reused"),
)
_START = (
    ((problem_codes.BODY_FIELDS | problem_codes.START) - _OF_OTHER_BODIES)
    | (problem_codes.LANGGRAPH_FIELDS | problem_codes.VERSION | STORAGE)
    | pick("assistant_not_found", "unknown_checkpoint")
)
_PATH = {"thread_id": "ThreadId"}
_ACTION = Parameter("The text of the run is kept.", operations.one_of(["interrupt"]))
_HELLO = {"type": "text", "text": "Hello"}
_ASKED = {"assistant_id": "chat", "input": {"messages": [{"type": "human", "content": "Hello"}]}}
_NAMES = "|".join((*stream.MODES, *stream.ASKED_MODES, *stream.OTHER_MODES))
_MODES = {"type": "string", "pattern": f"^(({_NAMES})?(,|$))*$"}


@Operation(
    "langgraphListRuns",
    Answer(
        "The runs that wait, the last one first; then the last that has begun, and those that were "
        "cancelled before their turn.",
        list[some_of(LangGraphRunJson)],  # type: ignore[misc]
    ),
    STORAGE | pick("thread_not_found"),
    query={
        "select": Parameter("Keys of the run; all without it.", {"type": "array", "items": TEXT}),
        "limit": Parameter(f"The most runs; {PAGE_SIZE} without it.", {"type": "string"}),
        "offset": Parameter("The runs to leave out.", {"type": "string"}),
        "status": Parameter("The runs that have this status.", {"type": "string"}),
    },
)
async def list_runs(request: ApiRequest) -> Response:
    """List the runs of a thread that wait for their turn or were cancelled before it, and its last
    run: of earlier ones the server keeps what they said."""
    query, key, store = request.query_params, thread_key(request), request.state["store"]
    queue, entry = await store.queue(key), await store.get(key)
    if entry is None:
        raise unknown_thread(key)
    waits = waiting(queue, entry)
    runs = [await _pending(request, entry, queued) for queued in reversed(waits)]
    over = [await _withdrawn(request, entry, run) for run in await store.withdrawn(key)]
    if entry.run_id and all(entry.run_id != queued.run_id for queued in waits):
        record = await _recorded(request, entry, entry.run_id)
        status = STATUSES[entry.run_state][1]
        over.append(_run(entry.id, entry.run_id, record, entry.updated_at, status))
    runs += sorted(over, key=itemgetter("updated_at"), reverse=True)
    found = [run for run in runs if query.get("status", run["status"]) == run["status"]]
    first = _number(query.get("offset"), 0)
    page = found[first : first + _number(query.get("limit"), PAGE_SIZE)]
    return JSONResponse([selected(run, query.getlist("select") or None) for run in page])


def _number(text: str | None, default: int) -> int:
    is_number = text is not None and text.isascii() and text.isdecimal()
    return int(text[:MAX_DIGITS]) if text and is_number else default


async def _pending(
    request: ApiRequest, entry: ThreadEntry, queued: QueuedRequest
) -> LangGraphRunJson:
    """A run that waits for its turn, or could not begin."""
    record = await _known(request, entry, queued.request.record)
    status: RunStatus = "error" if queued.problem else "pending"
    return _run(entry.id, queued.run_id, record, _time(queued.queued_at), status)


async def _withdrawn(
    request: ApiRequest, entry: ThreadEntry, run: WithdrawnRun
) -> LangGraphRunJson:
    record = await _known(request, entry, run.record)
    return _run(entry.id, run.run_id, record, _time(run.withdrawn_at), "interrupted")


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


@Operation("langgraphGetRun", Answer("The run.", LangGraphRunJson), _FOUND)
async def get_run(request: ApiRequest) -> Response:
    """Load the status of a run."""
    entry, run = await _find(request)
    if isinstance(run, QueuedRequest):
        return JSONResponse(await _pending(request, entry, run))
    if isinstance(run, WithdrawnRun):
        return JSONResponse(await _withdrawn(request, entry, run))
    run_id = request.path_params["run_id"]
    if run and entry.run_id != run_id and await _is_taken_back(request, entry, run_id):
        raise problem("run_not_found")
    record = await _recorded(request, entry, run_id)
    is_earlier = entry.run_id != run_id
    state = told_end(await told_so_far(run.log)) if run and is_earlier else entry.run_state
    _, status = STATUSES[state]
    return JSONResponse(_run(entry.id, run_id, record, entry.updated_at, status))


async def _is_taken_back(request: ApiRequest, entry: ThreadEntry, run_id: str) -> bool:
    """Return True if the run that follows this one has taken it back."""
    begun: Sequence[LoggedRun] = ()
    with suppress(StreamLost):  # Too many runs have begun since.
        begun = await _begun(
            request.state["reader"], thread_key(request), entry.run_id, run_id, None
        )
    return any(run.header.takes_back and run.header.follows == run_id for run in begun)


@Operation(
    "langgraphAwaitRun",
    _result(),
    _FOUND | pick("limit_reached", "limit_exceeded"),
    query={
        "stream_subgraphs": Parameter("`1` or `true`: what subagents say under tool calls too."),
        "cancel_on_disconnect": Parameter("`1` or `true`: the run ends when this reader leaves."),
    },
)
async def await_run(request: ApiRequest) -> Response:
    """Wait until a run is over, and answer with the state that it leaves."""
    entry, found = await _find(request)
    if isinstance(found, WithdrawnRun):
        return JSONResponse({"__error__": _refused(Withdrawn())})
    run = QueuedRun.of(found, 1) if isinstance(found, QueuedRequest) else found
    stops = request.query_params.get("cancel_on_disconnect") in YES
    key, run_id = ThreadKey(owner(request), entry.id), request.path_params["run_id"]
    return _result_of(request, key, run_id, run, stops=stops)


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
    _, found = await _find(request)
    run = found if isinstance(found, LoggedRun) else None
    query, streams = request.query_params, request.state["streams"]
    # Python's client sends an empty one for none.
    named = [name for text in query.getlist("stream_mode") for name in text.split(",") if name]
    subgraphs = query.get("stream_subgraphs") in YES
    with fields.at("stream_mode"):
        asked = stream.wanted_modes(named) if named else await _own_modes(request, found)
    modes = _modes(asked, subgraphs=subgraphs)
    stops = query.get("cancel_on_disconnect") in YES
    if isinstance(found, QueuedRequest):
        later = await request.state["runs"].queue.find(found.key, found.run_id)
        return _stream_later(request, later or QueuedRun.of(found, 1), modes, {}, stops=stops)
    cursor = request.headers.get("last-event-id") or FROM_THE_START
    place: Position | Literal["done", "lost"] = Position(run, 0) if run else "done"
    if run and cursor != FROM_THE_START:
        place = await position(request.state["reader"], run.header.key, cursor)
    if run is None or place == "done":
        ending = WIRE_FORMAT.idle(StreamContext(request.path_params["thread_id"], ""), modes)
        return streams.whole(WIRE_FORMAT, ending, principal(request).id)
    if place == "lost" or place.run.header.run_id != run.header.run_id:
        return streams.cursor_lost(WIRE_FORMAT)
    headers = _places(run.header, modes)
    return await _stream(request, run, modes, stops=stops, after=place.after, headers=headers)


async def _own_modes(request: ApiRequest, found: "Found") -> stream.Modes:
    """The modes of a run's own stream; all, if it is no longer the last of its thread."""
    record = found.request.record if isinstance(found, QueuedRequest) else None
    if isinstance(found, LoggedRun):
        store, run_id = request.state["store"], found.header.run_id
        record = await store.run_record(thread_key(request), run_id)
    return stream.ALL_MODES if record is None or record.modes is None else frozenset(record.modes)


@Operation(
    "langgraphJoinThread",
    _streamed(),
    STORAGE | pick("thread_not_found", "limit_reached", "limit_exceeded", "invalid_stream_mode"),
    query={
        "stream_mode": Parameter(
            "`run_modes` (all events), `state_update` (values) or `lifecycle` (begins and ends).",
            operations.one_of([*stream.THREAD_MODES]),
        ),
        "stream_subgraphs": Parameter("`1` or `true`: what subagents say under tool calls too."),
    },
    headers={
        "Last-Event-ID": Parameter(
            "The last event that the client has; `-1`: from the first run that can be streamed on."
        )
    },
)
async def join_thread(request: ApiRequest) -> Response:
    """Read the runs of a thread: the live one, and each that begins while the reader stays.

    The stream has no end of its own, unless the thread is deleted.
    """
    key, query = thread_key(request), request.query_params
    entry = await request.state["store"].get(key)
    if entry is None:
        raise unknown_thread(key)
    asked = query.get("stream_mode") or "run_modes"
    if asked not in stream.THREAD_MODES:
        known = ", ".join(stream.THREAD_MODES)
        raise InvalidRequest(
            "invalid_stream_mode", f"stream_mode is {asked[:20]!r}: ask for one of {known}."
        )
    modes = _modes(stream.THREAD_MODES[asked], subgraphs=query.get("stream_subgraphs") in YES)
    cursor = request.headers.get("last-event-id")
    if not cursor:
        is_live = entry.run_state == "live"
        last, first = (None, entry.run_id) if is_live else (entry.run_id, None)
        runs = _runs_of(request, key, last, first)
    elif cursor == FROM_THE_START:
        runs = _runs_of(request, key, None)
    else:
        place = await position(request.state["reader"], key, cursor)
        if place == "lost" or cursor == LOST:
            return request.state["streams"].cursor_lost(WIRE_FORMAT)
        begun = None if place == "done" else place
        runs = _runs_of(request, key, cursor.rpartition(":")[0], place=begun)
    return chat.stream_thread(request, runs, WIRE_FORMAT, modes)


async def _runs_of(
    request: ApiRequest,
    key: ThreadKey,
    last: str | None,
    first: str | None = None,
    place: Position | None = None,
) -> AsyncGenerator[Position]:
    """Yield the runs of a thread as they begin: the rest of one, behind `place`; then those since
    the run `last`, or from `first` on. Raises ShuttingDown, StreamLost."""
    state = request.state
    if place is not None:
        yield place
    wait = FOLLOW_SECONDS
    while True:
        begun: Sequence[LoggedRun] = ()
        with suppress(StorageUnavailable):
            await state["runs"].check()
            now = await state["store"].get(key)
            if now is None:
                return
            begun = await _begun(state["reader"], key, now.run_id, last, first)
        for run in reversed(begun):
            last = run.header.run_id
            yield Position(run, 0)
        if begun:
            wait = FOLLOW_SECONDS
        else:
            await asyncio.sleep(wait)
            wait = min(2 * wait, MAX_FOLLOW_SECONDS)


async def _begun(
    reader: RunReader, key: ThreadKey, newest: str, last: str | None, first: str | None
) -> Sequence[LoggedRun]:
    """Find the runs of a thread since `last`, or from `first` on, the newest first. Raises
    StreamLost if there are too many since then."""
    begun = list[LoggedRun]()
    run_id: str | None = newest
    while run_id and run_id != last and len(begun) < MAX_FOLLOWED:
        run = await reader.find(key, run_id)
        if run is None:
            break
        begun.append(run)
        run_id = run.header.follows if run_id != first else None
    if last and run_id and run_id != last and len(begun) == MAX_FOLLOWED:
        raise StreamLost(key, newest)
    return begun


@Operation(
    "langgraphCancelRun",
    {
        202: Answer("The run is asked to stop.", {"type": "object", "maxProperties": 0}),
        204: Answer("With `wait`: the thread is saved and free, also if the run had ended."),
    },
    _FOUND
    | problem_codes.CAPACITY
    | pick("unsupported_option", "value_not_allowed", "run_in_progress")
    | pick("thread_changed", "thread_still_busy"),
    query={
        "wait": Parameter("`1` or `true`: wait until the thread is saved and free."),
        "action": Parameter(
            "The text of the run is kept, or taken back.",
            operations.one_of(["interrupt", "rollback"]),
        ),
    },
)
async def cancel_run(request: ApiRequest) -> Response:
    """Stop a run, or with `rollback` take it back: its messages leave the thread."""
    query, runs = request.query_params, request.state["runs"]
    _check_action(request, "rollback")
    _, run = await _find(request)
    key, run_id = thread_key(request), request.path_params["run_id"]
    rolls_back, waits = query.get("action") == "rollback", query.get("wait") in YES
    if isinstance(run, QueuedRequest) and await runs.queue.withdraw(
        key, run_id, is_listed=not rolls_back
    ):
        return Response(status_code=204) if waits else JSONResponse({}, 202)
    if rolls_back:
        await runs.roll_back(principal(request), key, run_id, WIRE_FORMAT.name)
    if not waits:
        if not rolls_back:
            runs.ask_to_stop(key, run_id)
        return JSONResponse({}, 202)
    await runs.stop(key, run_id)
    return Response(status_code=204)


def _check_action(request: ApiRequest, *actions: str) -> None:
    """Raises InvalidRequest."""
    action = request.query_params.get("action", "interrupt")
    if action not in ("interrupt", *actions):
        known = " or ".join(("interrupt", *actions))
        raise InvalidRequest("unsupported_option", f"action is {action[:20]!r}: send {known}.")


class Asked(NamedTuple):
    """A run that a body asks for."""

    turn: TurnRequest
    submission: "Submission"
    assistant_id: str
    deletes_thread: bool = False
    """True if the thread goes when the run is over."""

    @property
    def modes(self) -> stream.Modes:
        body = self.submission.body
        return _modes(body.stream_mode, subgraphs=bool(body.stream_subgraphs))

    @property
    def stops(self) -> bool:
        """True if the run ends when its reader leaves."""
        return self.submission.body.on_disconnect == "cancel"

    @property
    def headers(self) -> dict[str, str]:
        return chat.ignored_header(self.submission.ignored)

    async def start(self, request: ApiRequest) -> LoggedRun | QueuedRun:
        """Start the run, or have it wait for its turn."""
        runs = request.state["runs"]
        return await runs.start_or_queue(principal(request), self.turn, WIRE_FORMAT.name)


async def _read_run(request: ApiRequest) -> Asked:
    """Read the body of a run. Raises Problem, InvalidRequest."""
    # The many models of a body are made when one comes.
    from turnstream.server.formats.langgraph.body import parse

    id = fields.thread_id(request.path_params["thread_id"])
    read = partial(parse, limits=request.state["body_limits"])
    asked, _ = await request.state["bodies"].read(request, read)
    return await _asked_on(request, asked, id)


async def _read_stateless(request: ApiRequest) -> Asked:
    """Read the body of a run on a new thread. Raises Problem, InvalidRequest."""
    from turnstream.server.formats.langgraph.body import StatelessRunBody, parse

    read = partial(parse, limits=request.state["body_limits"], model=StatelessRunBody)
    asked, _ = await request.state["bodies"].read(request, read)
    return await _asked_on(request, asked, None)


async def _asked_on(request: ApiRequest, asked: "Submission", thread_id: str | None) -> Asked:
    """Make a body the request that it is on its thread; None: on a new one. Raises Problem,
    InvalidRequest."""
    from turnstream.server.formats.langgraph.body import turn_request

    asked, assistant = await _of_assistant(request, asked)
    asked = _without_effect(request, asked, assistant.graph)
    asked = replace(asked, request=replace(asked.request, record=_record(asked, assistant)))
    if thread_id is None:
        turn = turn_request(asked, SavedThread(new_thread_id(), (), ()), assistant.graph)
        # Clients send what they say of a thread here too; this one is new.
        turn = replace(turn, must_exist=False, based_on=None)
        return Asked(turn, asked, assistant.id, deletes_thread=asked.body.deletes_thread)
    key = ThreadKey(owner(request), thread_id)
    try:
        found = await find_thread(request, key) if asked.is_about_thread else None
        thread = found.thread if found else SavedThread(thread_id, (), ())
        if found and asked.branches_at is not None:
            thread = await branch_at(request, found, asked.branches_at)
        return Asked(turn_request(asked, thread, assistant.graph), asked, assistant.id)
    except InvalidRequest:
        # The reason is not for a caller who does not reach the thread.
        reach = request.state["runs"].reach
        await reach.start(principal(request), replace(asked.request, thread_id=thread_id))
        raise


def _record(asked: "Submission", assistant: FoundAssistant) -> RunRecord | None:
    """Return what is kept of a run that is more than its graph. Raises InvalidRequest."""
    body = asked.body
    metadata = body.metadata if isinstance(body.metadata, dict) else {}
    modes = _modes(body.stream_mode, subgraphs=bool(body.stream_subgraphs))
    told = None if modes == stream.ALL_MODES else (*sorted(modes),)
    if assistant.kept is None and not metadata and told is None:
        return None
    check_size(metadata)
    return RunRecord(assistant.id, metadata, told)


def _without_effect(request: ApiRequest, asked: "Submission", graph: str) -> "Submission":
    """Note what has no effect with this graph: nodes to stop at and keys of the input that it does
    not have, and tools that it does not take."""
    options = asked.request.options
    attached = request.state["graphs"].by_name[graph].attached
    asked, beside = _without_unknown_input(request, asked, graph)
    nodes = attached.node_names
    named = {
        "interrupt_before": options.interrupt_before,
        "interrupt_after": options.interrupt_after,
    }
    unknown = [
        f"{key}.{node}"
        for key, of_key in named.items()
        for node in (of_key if of_key != "*" else ())
        if node not in nodes
    ]
    unknown += chat.ignored_by(request, attached, asked.request)
    return replace(asked, ignored=[*asked.ignored, *beside, *unknown])


def _without_unknown_input(
    request: ApiRequest, asked: "Submission", name: str
) -> tuple["Submission", list[str]]:
    """Leave out the keys of the input that the graph does not have, and name them, if there is more
    to run on: a graph that takes no messages runs on nothing, too. An empty list of tools is none
    at all, unless clients may set it. The built-in graph runs on no empty list of messages."""
    graph, beside = request.state["graphs"].by_name[name].attached, list[str]()
    body = asked.body
    if not (graph.takes_messages or body.command or body.input is None):
        beside = ["messages"] if "messages" in body.input else []
        asked = replace(asked, messages=(), request=replace(asked.request, without_messages=True))
    turn, given = asked.request, dict(asked.request.values.input)
    if given.get("tools") == []:
        may_set = allowed_names(graph, request.state["client_values"])["input"]
        given = {name: value for name, value in given.items() if name != "tools" or name in may_set}
    known = {name: value for name, value in given.items() if name in graph.input_names}
    begins = bool(asked.messages or known or turn.without_messages)
    is_more = begins and body.input is not None
    left_out = [name for name in given if is_more and name not in known]
    turn = replace(
        turn,
        values=replace(turn.values, input=known if is_more else given),
        without_messages=turn.without_messages and not graph.is_built_in,
    )
    return replace(asked, request=turn), [f"input.{name}" for name in (*beside, *left_out)]


async def _of_assistant(
    request: ApiRequest, asked: "Submission"
) -> tuple["Submission", FoundAssistant]:
    """Find the assistant that a body names, and add the values that it has. Raises Problem,
    InvalidRequest."""
    from turnstream.server.formats.langgraph.body import with_assistant

    found = await find_assistant(request, asked.body.assistant_id)
    if found.kept is not None:
        asked = with_assistant(asked, found.kept.content.config, found.kept.content.context)
    return _with_context(request, asked, found.graph), found


def _with_context(request: ApiRequest, asked: "Submission", graph: str) -> "Submission":
    """Give the context the values of the config where a body has no context, as LangGraph's server
    does. It has the config of a context too; checkpoints would keep that."""
    values = asked.request.values
    names = request.state["graphs"].by_name[graph].attached.context.names
    if values.context or names.isdisjoint(values.configurable):
        return asked
    context = {name: value for name, value in values.configurable.items() if name in names}
    values = replace(values, context=context)
    return replace(asked, request=replace(asked.request, values=values))


async def _create(request: ApiRequest, asked: Asked) -> Response:
    started, headers = await _begin(request, asked)
    return JSONResponse(started, headers=headers | asked.headers)


async def _begin(request: ApiRequest, asked: Asked) -> tuple[LangGraphRunJson, dict[str, str]]:
    status: RunStatus = "running"
    try:
        run = await asked.start(request)
        if isinstance(run, QueuedRun):
            headers, status = chat.queue_headers(run) | _places(run, asked.modes), "pending"
        else:
            headers = chat.run_headers(run) | _places(run.header, asked.modes)
        if asked.deletes_thread and isinstance(run, LoggedRun):
            request.state["runs"].delete_at_end(run)
    except StreamLost as lost:
        headers = chat.unseen_headers(lost) | _places(lost)
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    id, run_id = headers["X-Thread-Id"], headers["X-Run-Id"]
    record = asked.turn.record or RunRecord(asked.assistant_id)
    return _run(id, run_id, record, now, status), headers


async def _stream_new(request: ApiRequest, asked: Asked) -> Response:
    try:
        run = await asked.start(request)
        if isinstance(run, QueuedRun):
            return _stream_later(request, run, asked.modes, asked.headers, stops=asked.stops)
        with chat.stream_refusals(run):
            headers = _places(run.header, asked.modes) | asked.headers
            response = await _stream(request, run, asked.modes, stops=asked.stops, headers=headers)
    except StreamLost as lost:
        headers = chat.unseen_headers(lost) | _places(lost) | asked.headers
        return request.state["streams"].cursor_lost(WIRE_FORMAT, headers)
    return _deleting(request, asked, run, response)


async def _wait_for_new(request: ApiRequest, asked: Asked) -> Response:
    try:
        run = await asked.start(request)
        if isinstance(run, QueuedRun):
            response = _result_of(request, run.key, run.run_id, run, stops=asked.stops)
            places = chat.queue_headers(run) | _result_place(run)
            response.headers.update(places | asked.headers)
            return response
        with chat.stream_refusals(run):
            key, run_id = run.header.key, run.header.run_id
            response = _result_of(request, key, run_id, run, stops=asked.stops)
    except StreamLost as lost:
        headers = chat.unseen_headers(lost) | _places(lost) | asked.headers
        return JSONResponse({"__error__": _LOST}, headers=headers)
    response.headers.update(chat.run_headers(run) | _result_place(run.header) | asked.headers)
    return _deleting(request, asked, run, response)


def _deleting(
    request: ApiRequest, asked: Asked, run: LoggedRun, response: ServerSentEvents
) -> Response:
    """Delete the run's thread after the response, if that is asked for."""
    closed = response.closed

    def close() -> None:
        if closed:
            closed()
        request.state["runs"].delete_at_end(run)

    if asked.deletes_thread:
        response.closed = close
    return response


def _result_of(
    request: ApiRequest,
    key: ThreadKey,
    run_id: str,
    found: LoggedRun | QueuedRun | None,
    *,
    stops: bool,
) -> ServerSentEvents:
    """Answer with the result of a run once it is over; `stops`: it ends if the reader leaves.
    Raises Problem, LimitExceeded."""

    async def body() -> bytes:
        run = found
        try:
            if isinstance(run, QueuedRun):
                run = await request.state["runs"].queue.begun(run)
        except InvalidRequest as refused:
            return as_json({"__error__": _refused(refused)})
        except StreamLost:
            run = None
        if run is None:
            return await result_json(request, key, run_id, None)
        # The run has a reader until its result is made: it is not ended as unread, nor is its
        # thread deleted.
        async with aclosing(run.log.read(0)) as batches:
            async for batch in batches:
                if isinstance(batch[-1][1], Done):
                    break
            return await result_json(request, key, run_id, run)

    left = partial(request.state["runs"].abandon, key, run_id) if stops else None
    expires_at = principal(request).expires_at
    return request.state["streams"].awaited(
        body, rights(request), {}, expires_at=expires_at, left=left
    )


def _refused(refused: InvalidRequest) -> Json:
    """Say why a run that waited for its turn has not begun."""
    return snapshot.error_json(refused.code, refused.message)


async def result_json(
    request: ApiRequest, key: ThreadKey, run_id: str, run: LoggedRun | None
) -> bytes:
    """The values of the state that an ended run leaves, as LangGraph's `wait` has them:
    `__interrupt__` beside them is what waits for an answer, `__error__` why the run failed."""
    told = await told_so_far(run.log) if run else []
    if run and told and isinstance(told[-1], Done) and is_in_order(told):
        thread, error = await _told_thread(request, run, told)
    else:
        found = await find_thread(request, key)
        if found is None or found.entry.run_id != run_id or found.entry.run_state == "live":
            return as_json({"__error__": _LOST})
        thread = found.thread
        error = _failure(thread) if found.entry.run_state == "failed" else None
    asked = snapshot.open_interrupts(thread.turns, thread.interrupts)
    beside = given(__interrupt__=asked, __error__=error)
    return await beside_loop(len(thread.turns), lambda: as_json({**thread.values, **beside}))


async def _told_thread(
    request: ApiRequest, run: LoggedRun, told: Sequence[Chunk]
) -> tuple[SavedThread, Json | None]:
    """The thread as a run has left it, which may have gone on since, and why the run failed."""
    progress = await request.state["reader"].progress(run)
    turns = progress.turns

    def shown() -> list[Json]:
        return snapshot.with_asides(snapshot.messages(turns), progress.asides)

    messages = await beside_loop(len(turns), shown)
    interrupts = [chunk for chunk in told if isinstance(chunk, Interrupt)]
    errors = [chunk for chunk in told if isinstance(chunk, Error)]
    error = [snapshot.error_json(one.code, one.message, one.error_id) for one in errors[-1:]]
    id, state = run.header.key.thread_id, progress.graph_state
    has_them = request.state["graphs"].has_messages(run.header.graph)
    thread = SavedThread(id, turns, messages, interrupts, state, has_messages=has_them)
    return thread, error[0] if error else None


def _failure(thread: SavedThread) -> Json | None:
    last = thread.turns[-1] if thread.turns else None
    if not isinstance(last, AssistantTurn) or last.error is None:
        return None
    return snapshot.error_json(**last.error)


def _modes(asked: stream.Modes, *, subgraphs: bool) -> stream.Modes:
    return asked | {stream.SUBGRAPHS} if subgraphs else asked


async def _stream(
    request: ApiRequest, run: LoggedRun, modes: stream.Modes, *, stops: bool, **rest: Any
) -> ServerSentEvents:
    """Stream a run for one reader, which may stop the run when it leaves."""
    stop = partial(request.state["runs"].ask_to_stop, run.header.key, run.header.run_id)
    left = stop if stops else None
    return await chat.stream_run(request, run, WIRE_FORMAT, modes, replay=True, left=left, **rest)


def _stream_later(
    request: ApiRequest,
    queued: QueuedRun,
    modes: stream.Modes,
    headers: Mapping[str, str],
    *,
    stops: bool,
) -> ServerSentEvents:
    """Stream a run that waits for its turn; it ends, or does not begin, if its reader leaves and
    `stops` is set."""
    drop = partial(request.state["runs"].abandon, queued.key, queued.run_id)
    places, left = {**_places(queued, modes), **headers}, drop if stops else None
    return chat.stream_queued(
        request, queued, WIRE_FORMAT, modes, replay=True, headers=places, left=left
    )


def _places(
    run: RunHeader | StreamLost | QueuedRun, modes: stream.Modes = stream.ALL_MODES
) -> dict[str, str]:
    """Name the run and its stream. A client that joins again repeats nothing of what it asked: the
    address says it."""
    place = f"/threads/{run.key.thread_id}/runs/{run.run_id}"
    named = [("stream_mode", name) for name in sorted(modes - {stream.SUBGRAPHS})]
    subgraphs = [("stream_subgraphs", "1")] if stream.SUBGRAPHS in modes else []
    told = "" if modes == stream.ALL_MODES else f"?{urlencode(named + subgraphs)}"
    return {"Content-Location": place, "Location": f"{place}/stream{told}"}


def _result_place(run: RunHeader | QueuedRun) -> dict[str, str]:
    """Name the run, and where its result can be had again."""
    place = f"/threads/{run.key.thread_id}/runs/{run.run_id}"
    return {"Content-Location": place, "Location": f"{place}/join"}


Found = LoggedRun | QueuedRequest | WithdrawnRun | None
"""A run; None: its log is no longer held."""


async def _find(request: ApiRequest) -> tuple[ThreadEntry, Found]:
    """Find the thread and the run that the address names. Raises Problem."""
    key, run_id, store = thread_key(request), request.path_params["run_id"], request.state["store"]
    queued, entry = await store.queued(key, run_id), await store.get(key)
    if entry is None:
        raise unknown_thread(key)
    if queued and not queued.has_begun:
        return entry, queued
    run = await request.state["reader"].find(key, run_id)
    if run is None and entry.run_id != run_id:
        if queued is None:
            return entry, await _find_withdrawn(request, run_id)
        return entry, queued
    return entry, run


async def _find_withdrawn(request: ApiRequest, run_id: str) -> WithdrawnRun:
    for run in await request.state["store"].withdrawn(thread_key(request)):
        if run.run_id == run_id:
            return run
    raise problem("run_not_found")


async def _recorded(request: ApiRequest, entry: ThreadEntry, run_id: str) -> RunRecord:
    """Return what is kept of a run; the graph stands for the assistant of an earlier run."""
    key = ThreadKey(owner(request), entry.id)
    return await _known(request, entry, await request.state["store"].run_record(key, run_id))


async def _known(request: ApiRequest, entry: ThreadEntry, kept: RunRecord | None) -> RunRecord:
    """Return what is kept of a run; the graph stands for an assistant that is gone."""
    graphs, store = request.state["graphs"], request.state["store"]
    graph = graphs.name_of(entry) or graphs.default
    record = kept or RunRecord(graph)
    is_graph = graphs.find(record.assistant_id) is not None
    if is_graph or await store.assistant(owner(request), record.assistant_id):
        return record
    return replace(record, assistant_id=graph)


def _run(
    thread_id: str, run_id: str, record: RunRecord, at: str, status: RunStatus
) -> LangGraphRunJson:
    return {
        "run_id": run_id,
        "thread_id": thread_id,
        "assistant_id": record.assistant_id,
        "created_at": at,
        "updated_at": at,
        "status": status,
        "metadata": {**record.metadata},
        "kwargs": {},
        "multitask_strategy": "enqueue" if status == "pending" else "reject",
    }


class _Way(NamedTuple):
    """A way to start a run: what its caller gets."""

    name: str
    says: str
    answer: Callable[..., Answer]
    respond: Callable[[ApiRequest, Asked], Awaitable[Response]]
    is_read: bool = True
    """True if the caller reads the run, which takes a place among the streams."""
    note: str = ""


_CREATE = _Way(
    "Create",
    "wait for nothing",
    partial(Answer, "The run.", LangGraphRunJson, may_have=(chat.IGNORED,)),
    _create,
    is_read=False,
)
_STREAM = _Way(
    "Stream",
    "stream it",
    _streamed,
    _stream_new,
    note="`Content-Location` and `Location` name the run and its stream, without `/langgraph`.",
)
_WAIT = _Way(
    "WaitFor",
    "answer with the state that it leaves",
    _result,
    _wait_for_new,
    note="`Location` is where the answer can be had again.",
)
_DELETED = "The thread is deleted when the run is over, unless `on_completion` is `keep`."


def _starting(
    way: _Way, *, stateless: bool = False, examples: Mapping[str, Any] = MappingProxyType({})
) -> Any:
    """Make the endpoint that starts a run: on the thread of the address, or on one of its own."""
    read, of_thread = (_read_stateless, " on a thread of its own") if stateless else (_read_run, "")

    async def start(request: ApiRequest) -> Response:
        if way.is_read:
            request.state["streams"].check(rights(request))  # before the run begins
        return await way.respond(request, await read(request))

    notes = [_DELETED] if stateless else [way.note] if way.note else []
    start.__doc__ = "\n\n".join((f"Start a run{of_thread} and {way.says}.", *notes))
    kind = "Stateless" if stateless else ""
    headers = chat.RUN_HEADERS if way.is_read else ()
    operation = Operation(
        f"langgraph{way.name}{kind}Run",
        way.answer(headers=_PLACES, may_have=(*headers, chat.IGNORED)),
        _START,
        path={} if stateless else _PATH,
        body=f"LangGraph.{kind}RunBody",
        examples={"a message": _ASKED, **examples},
    )
    return operation(start)


create_run = _starting(_CREATE)
stream_run = _starting(
    _STREAM,
    examples={
        "a message of blocks": {
            "assistant_id": "chat",
            "input": {"messages": [{"role": "user", "content": [_HELLO]}]},
            "stream_mode": ["messages-tuple", "values"],
            "multitask_strategy": "interrupt",
        },
        "the last answer anew": {**_ASKED, "checkpoint": {"checkpoint_id": "start"}},
    },
)
wait_for_run = _starting(_WAIT)
create_stateless_run = _starting(_CREATE, stateless=True)
stream_stateless_run = _starting(_STREAM, stateless=True)
wait_for_stateless_run = _starting(
    _WAIT,
    stateless=True,
    examples={"one whose thread is kept": {**_ASKED, "on_completion": "keep"}},
)


@Operation(
    "langgraphCreateRuns",
    Answer("The runs, in the order of the bodies.", list[LangGraphRunJson]),
    _START,
    body=operations.list_of("LangGraph.BatchRunBody", MAX_BATCH),
    examples={"two": [_ASKED, {**_ASKED, "on_completion": "keep"}], "none": []},
)
async def create_runs(request: ApiRequest) -> Response:
    """Start several runs and wait for nothing, each on the thread of its `thread_id` or on one of
    its own.

    If one of them cannot begin, those before it are stopped, and the answer is its problem.
    """
    from turnstream.server.formats.langgraph.body import BatchRunBody, parse_batch

    reading = partial(parse_batch, limits=request.state["body_limits"], most=MAX_BATCH)
    submissions, _ = await request.state["bodies"].read(request, reading)
    asked = list[Asked]()
    for one in submissions:
        assert isinstance(one.body, BatchRunBody)
        asked.append(await _asked_on(request, one, one.body.thread_id))
    begun = list[LangGraphRunJson]()
    try:
        for each in asked:
            begun.append((await _begin(request, each))[0])
    except BaseException:
        for run in begun:
            key = ThreadKey(owner(request), run["thread_id"])
            request.state["runs"].abandon(key, run["run_id"], is_listed=False)
        raise
    return JSONResponse(begun)


class LangGraphCancelBody(Fields):
    thread_id: Annotated[Text | None, says("The thread of the runs; all of the caller's.")] = None
    run_ids: (
        Annotated[
            list[Text], Field(max_length=MAX_LISTED), fields.FirstFault(), says("All without it.")
        ]
        | None
    ) = None
    status: (
        Annotated[
            Literal["pending", "running", "all"],
            fields.Otherwise("invalid_body"),
            says("`pending`: the runs that wait for their turn, which are withdrawn."),
        ]
        | None
    ) = None


@Operation(
    "langgraphCancelRuns",
    {204: Answer("The runs are asked to stop, or withdrawn.", may_have=(chat.IGNORED,))},
    STORAGE | pick("invalid_body", "invalid_text", "unsupported_option"),
    query={"action": _ACTION},
    body=LangGraphCancelBody,
    examples={"all": {"status": "all"}, "one": {"thread_id": "t1", "run_ids": ["r1"]}},
)
async def cancel_runs(request: ApiRequest) -> Response:
    """Stop live runs, and withdraw those that wait. Those that are over are passed over."""
    asked, headers = await read_body(request, LangGraphCancelBody)
    _check_action(request)
    ids = None if asked.run_ids is None else {*asked.run_ids}
    store, runs, cursor = request.state["store"], request.state["runs"], None

    async def is_asked(key: ThreadKey, run_id: str) -> bool:
        is_named = asked.thread_id in (None, key.thread_id) and (ids is None or run_id in ids)
        stops = {"run_id": run_id, "action": "interrupt"}
        caller = principal(request)
        return is_named and bool(await runs.reach.has(caller, key, "update", **stops))

    if asked.status != "running":
        for key, run_id in await store.queued_of(owner(request), MAX_SEARCHED):
            if await is_asked(key, run_id):
                await runs.queue.withdraw(key, run_id, is_listed=True)
    for _ in range(MAX_SEARCHED // PAGE_SIZE):
        page = await store.page(owner(request), PAGE_SIZE, cursor, "live")
        for entry in page.entries if asked.status != "pending" else ():
            key = ThreadKey(owner(request), entry.id)
            if await is_asked(key, entry.run_id):
                runs.ask_to_stop(key, entry.run_id)
        cursor = page.cursor
        if not cursor:
            break
    return Response(status_code=204, headers=headers)


@Operation(
    "langgraphDeleteRun",
    {204: Answer("The run has not begun: it is withdrawn, and listed no more.")},
    _FOUND | pick("run_kept"),
)
async def delete_run(request: ApiRequest) -> Response:
    """Withdraw a run that waits for its turn, or list one no more that was cancelled before it.

    Another one is not deleted: what it said is its thread's, and goes with it.
    """
    _, run = await _find(request)
    queue, store = request.state["runs"].queue, request.state["store"]
    if isinstance(run, QueuedRequest) and await queue.withdraw(run.key, run.run_id):
        return Response(status_code=204)
    if isinstance(run, WithdrawnRun):
        await store.forget_withdrawn(thread_key(request), run.run_id)
        return Response(status_code=204)
    raise problem("run_kept")
