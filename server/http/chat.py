"""The endpoints of turns: start a run, attach to one, stop one."""

import hashlib
import heapq
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, ClassVar, NotRequired

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.graphs.attached import AttachedGraph
from turnstream.server.callers.rights import LimitExceeded
from turnstream.server.formats import (
    DEFAULT,
    BodyFormat,
    PostedTurn,
    WireFormat,
)
from turnstream.server.formats.format import StreamContext, View
from turnstream.server.http.cursors import Position, position
from turnstream.server.http.event_streams import EventStream
from turnstream.server.http.operations import (
    EVENTS,
    JSON,
    TEXT,
    Answer,
    Operation,
    Parameter,
    one_of,
    refer,
    says,
)
from turnstream.server.http.permitted import Deed
from turnstream.server.http.problems import Problem, unknown_thread
from turnstream.server.http.proxies import outer_address
from turnstream.server.http.sse_response import ServerSentEvents
from turnstream.server.http.state import ApiRequest, owner, principal, rights, thread_key
from turnstream.server.runs.client_tools import names_left_out
from turnstream.server.runs.client_values import shared_names
from turnstream.server.runs.lives import StreamLost
from turnstream.server.runs.queue import QueuedRun
from turnstream.server.runs.reader import LoggedRun
from turnstream.server.storage.interfaces import StorageUnavailable, ThreadRunState
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.problem_codes import BODY_FIELDS, START, STORAGE, VERSION, pick
from turnstream.server.turns.requests import (
    AttachRequest,
    IdempotencyKey,
    InvalidRequest,
    TurnRequest,
)

MAX_KEY_CHARS = 255
IGNORED, MAX_IGNORED, MAX_IGNORED_CHARS = "X-Turnstream-Ignored", 20, 48
"""The header that names keys of the body without an effect: so many, each shortened."""
PLACE = "X-Queue-Place"
"""The header that says how many runs begin ahead, and this one: 1 is the next."""
EXPOSED_HEADERS = (
    *("X-Thread-Id", "X-Run-Id", "X-Previous-Run-Id", "X-Message-Id"),
    *("Location", "Content-Location", IGNORED, "X-Pagination-Next", PLACE),
)
"""Headers of an answer that a page of another origin may read."""


class AcceptedJson(TypedDict):
    thread_id: str
    run_id: str
    stream_url: NotRequired[str]
    thread_url: NotRequired[str]
    queue_place: NotRequired[Annotated[int, says("The run waits; 1: it is the next one.")]]


class StoppedJson(TypedDict):
    thread_id: str
    run_id: str
    state: ThreadRunState


RUN_HEADERS = ("X-Thread-Id", "X-Run-Id", "X-Message-Id", "X-Previous-Run-Id")
_CHUNK = {"type": "object", "required": ["type"], "properties": {"type": TEXT}}
_DATA = {"type": "string", "contentMediaType": JSON, "contentSchema": _CHUNK}
_ID = {**TEXT, "description": "The run's id, a colon, the number in the run."}
_EVENT = {
    "type": "object",
    "required": ["data"],
    "properties": {"id": _ID, "data": {"anyOf": [{"const": "[DONE]"}, _DATA]}},
}
_EVENTS = {
    "anyOf": [_EVENT, refer("LangGraph.Event")],
    "description": "One event. Its data is a chunk of the wire format; `[DONE]` is the last. Of "
    "`ag-ui` that is `RUN_FINISHED` or `RUN_ERROR`; events of `langgraph` have names, and the last "
    "is `end` or `error`.",
}
STREAM = Answer(
    "The run as an event stream. That of a run that waits for its turn begins with the run.",
    _EVENTS,
    EVENTS,
    may_have=(*RUN_HEADERS, "Location", IGNORED, PLACE),
)
ACCEPTED = Answer(
    "With `Prefer: respond-async`: where the stream of the run is; where its thread is, if it has "
    "no stream.",
    AcceptedJson,
    headers=("X-Thread-Id", "X-Run-Id", "Location", "Preference-Applied"),
    may_have=("X-Message-Id", "X-Previous-Run-Id", IGNORED, PLACE),
)
PROTOCOL = Parameter(
    "The wire format of the answer, in place of the body's own.", refer("Protocol")
)
_ON_BUSY = Parameter(
    "The effect of a live run of the thread: a 409, its end, or that the request waits.",
    one_of(["reject", "stop", "queue"]),
)
_ON_INTERRUPT = Parameter(
    "The effect of an open interrupt on a message: as the body has it.",
    one_of(["discard", "reject", "queue"]),
)
_KEY = Parameter(
    "Makes a retry safe: the same key and body attach to the same run.",
    {"type": "string", "maxLength": MAX_KEY_CHARS, "pattern": "[!-~]"},
)
_PREFER = Parameter("`respond-async`: answer with 202, and stream nothing.")
_HELLO = {"parts": [{"type": "text", "text": "Hello"}]}


def starts_run(id: str, body: str, examples: Mapping[str, Any]) -> Operation:
    """Declare a post that starts a run."""
    fields = BODY_FIELDS | pick("invalid_idempotency_key", "unknown_version")
    return Operation(
        id,
        {200: STREAM, 202: ACCEPTED},
        fields | START | VERSION | STORAGE,
        query={"protocol": PROTOCOL, "on_busy": _ON_BUSY, "on_interrupt": _ON_INTERRUPT},
        headers={"Prefer": _PREFER, "Idempotency-Key": _KEY},
        body=body,
        examples=examples,
    )


class Chat(HTTPEndpoint):
    body_format: BodyFormat | None = None
    """None: the body says by its shape what it is."""

    @starts_run(
        "startRun",
        "ChatBody",
        {
            "a message": {"message": "What is 6 * 7?"},
            "a message of parts": {"message": {"id": "m1", **_HELLO}},
            "a message from assistant-ui": {
                "commands": [{"type": "add-message", "message": {"role": "user", **_HELLO}}],
                "state": None,
            },
            "a message from useChat": {
                "id": "t1",
                "trigger": "submit-message",
                "messages": [{"id": "m1", "role": "user", **_HELLO}],
            },
            "a message that may wait": {"message": "Hello", "on_busy": "queue"},
            "a run that is read elsewhere": {"message": "Hello"},
        },
    )
    async def post(self, request: ApiRequest) -> Response:
        """Start a run and stream it.

        With `on_busy: queue` a message to a thread that has a live run waits for its turn. It is
        kept when the status is sent; the stream begins with the run.
        """
        state, query = request.state, request.query_params
        read = partial(
            request.state["formats"].parse,
            limits=state["body_limits"],
            format=self.body_format,
            graph=request.path_params.get("graph"),
            protocol=query.get("protocol"),
            on_busy=query.get("on_busy"),
            on_interrupt=query.get("on_interrupt"),
        )
        turn, raw = await state["bodies"].read(request, read)
        ignored, key = ignored_header(turn.ignored), _idempotency_key(request, raw)
        if isinstance(turn.request, AttachRequest):
            return await _attach(request, turn, turn.request, ignored)
        detached = "respond-async" in request.headers.get("prefer", "").lower()
        if not detached:
            state["streams"].check(rights(request))  # before the run begins: it would go on unseen
        try:
            run = await state["runs"].start_or_queue(
                principal(request), turn.request, turn.wire_format.name, key
            )
            ignored = ignored_header([*turn.ignored, *await _ignored_by_graph(request, turn, run)])
            if isinstance(run, QueuedRun):
                if detached:
                    return _accepted_later(run, ignored)
                return stream_queued(request, run, turn.wire_format, turn.view, headers=ignored)
            if not detached:
                with stream_refusals(run):
                    return await stream_run(
                        request, run, turn.wire_format, turn.view, headers=ignored
                    )
        except StreamLost as lost:
            return _accepted_unseen(request, lost, turn.wire_format, ignored, detached=detached)
        return _accepted(run, ignored)


@contextmanager
def stream_refusals(run: LoggedRun) -> Iterator[None]:
    """Raise StreamLost in place of a refusal to stream a run: its request is accepted by now."""
    try:
        yield
    except (Problem, LimitExceeded, StorageUnavailable) as error:
        raise StreamLost(run.header.key, run.header.run_id) from error


class ChatStream(HTTPEndpoint):
    @Operation(
        "attach",
        {200: STREAM, 204: Answer("There is nothing to stream.")},
        STORAGE | pick("invalid_protocol", "limit_reached"),
        query={
            "protocol": PROTOCOL,
            "last_event_id": Parameter(
                "The header `Last-Event-ID`, for clients that cannot set one."
            ),
        },
        headers={"Last-Event-ID": Parameter("The id of the last event that the client has.")},
    )
    async def get(self, request: ApiRequest) -> Response:
        """Attach to the thread's live run.

        From its first event, or after the event whose id is given. A cursor that is unknown, or
        whose run is held no longer, gets a stream that says so.
        """
        key, query, reader = thread_key(request), request.query_params, request.state["reader"]
        asked = (
            request.state["formats"].wire_format(query["protocol"]) if "protocol" in query else None
        )
        cursor = request.headers.get("last-event-id") or query.get("last_event_id")
        if not cursor:
            live = await reader.live(key)
            if live is None:
                return _nothing()
            return await stream_run(request, live, asked or _own_format(request, live), replay=True)
        if await request.state["store"].get(key) is None:
            return _nothing()
        place = await position(reader, key, cursor)
        if place == "done":
            return _nothing()
        if place == "lost":
            queued = await request.state["runs"].queue.find(key, cursor.partition(":")[0])
            if queued:
                format = asked or request.state["formats"].wire_format(queued.wire_format)
                return stream_queued(request, queued, format, replay=True)
            place = await position(reader, key, cursor)  # It may have begun between the two looks.
            if place == "done":
                return _nothing()
            if place == "lost":
                return request.state["streams"].cursor_lost(asked or DEFAULT)
        format = asked or _own_format(request, place.run)
        return await stream_run(request, place.run, format, after=place.after, replay=True)


class ChatStop(HTTPEndpoint):
    thread_deeds: ClassVar[Mapping[str, Deed]] = {"POST": "stop"}

    @Operation(
        "stop",
        Answer("The thread is saved and free, also if the run had ended.", StoppedJson),
        STORAGE | pick("thread_not_found", "thread_still_busy"),
        query={"run_id": Parameter("Stop this run alone: one that waited may be live by now.")},
    )
    async def post(self, request: ApiRequest) -> Response:
        """Stop the thread's live run."""
        key = thread_key(request)
        entry = await request.state["runs"].stop(key, request.query_params.get("run_id"))
        if entry is None:
            raise unknown_thread(key)
        stopped: StoppedJson = {
            "thread_id": key.thread_id,
            "run_id": entry.run_id,
            "state": entry.run_state,
        }
        return JSONResponse(stopped)


async def _ignored_by_graph(
    request: ApiRequest, turn: PostedTurn, run: LoggedRun | QueuedRun
) -> Sequence[str]:
    """Name what a turn brings and the graph of its run does not take; nothing if the store does not
    say which graph that is, since the request is kept by now."""
    asked, graphs = turn.request, request.state["graphs"]
    if isinstance(asked, AttachRequest) or not (
        asked.client_tools or asked.app_context or asked.posted_state
    ):
        return ()
    if isinstance(run, LoggedRun):
        name: str | None = run.header.graph
    else:
        try:
            entry = await request.state["store"].get(run.key)
        except StorageUnavailable:
            return ()
        name = graphs.name_of(entry) if entry else asked.graph
    ignored = [*ignored_by(request, graphs.checkpoints(name).attached, asked)]
    waits = isinstance(run, QueuedRun) and asked.posted_state
    return [*ignored, "state"] if waits else ignored


def ignored_by(request: ApiRequest, graph: AttachedGraph, asked: TurnRequest) -> Iterator[str]:
    """Yield the names of what a turn brings and its graph does not take."""
    if asked.app_context and not graph.takes_app_context:
        yield "context"
    if asked.client_tools and not graph.takes_client_tools:
        yield "tools"
    elif asked.client_tools:
        left_out = names_left_out(asked, graph, request.state["catalogue"].current)
        yield from (f"tools.{name}" for name in left_out)
    shared = shared_names(graph, request.state["client_values"]) if asked.message else ()
    if (asked.posted_state or {}).keys() - shared:
        yield "state"


def ignored_header(names: Iterable[str]) -> dict[str, str]:
    """Name the keys of a body that have no effect, in ASCII; nothing if there are none."""
    named = {_in_ascii(name[:MAX_IGNORED_CHARS]) for name in names}
    return {IGNORED: ", ".join(heapq.nsmallest(MAX_IGNORED, named))} if named else {}


def _in_ascii(name: str) -> str:
    return "".join(char if "!" <= char <= "~" and char != "," else "?" for char in name)


async def _attach(
    request: ApiRequest, turn: PostedTurn, asked: AttachRequest, headers: Mapping[str, str]
) -> Response:
    """Attach by a post: 200 in any case."""
    key = ThreadKey(owner(request), asked.thread_id or "")
    await request.state["runs"].reach.check(principal(request), key, "read")
    live = await request.state["reader"].live(key)
    if live is not None:
        return await stream_run(request, live, turn.wire_format, turn.view, headers=headers)
    context = StreamContext(key.thread_id, "")
    entry = await request.state["store"].get(key) if turn.view is not None else None
    if entry:
        state = await request.state["reader"].state(key, entry.graph)
        turns = request.state["reader"].shown(state)
        turns = await request.state["reader"].with_substeps(key, entry.graph, turns)
        context = StreamContext(key.thread_id, "", turns, graph_state=state.graph_state)
    payloads = turn.wire_format.idle(context, turn.view)
    answer = request.state["streams"].whole(turn.wire_format, payloads, principal(request).id)
    answer.headers.update(headers)
    return answer


async def stream_run(
    request: ApiRequest,
    run: LoggedRun,
    format: WireFormat,
    view: View = None,
    *,
    after: int = 0,
    replay: bool = False,
    headers: Mapping[str, str] | None = None,
    left: Callable[[], None] | None = None,
) -> ServerSentEvents:
    """A run for one reader, from behind its `after`-th event; `left` is called if the reader leaves
    before the end. Raises Problem, LimitExceeded."""
    stream = await _opened(request, run, format, view, after=after, replay=replay)
    return stream.response(
        {**run_headers(run), **(headers or {})},
        expires_at=principal(request).expires_at,
        left=left,
    )


def stream_queued(
    request: ApiRequest,
    queued: QueuedRun,
    format: WireFormat,
    view: View = None,
    *,
    replay: bool = False,
    headers: Mapping[str, str] | None = None,
    left: Callable[[], None] | None = None,
) -> ServerSentEvents:
    """The same of a run that waits for its turn: the stream begins with it. Raises Problem,
    LimitExceeded."""

    async def opened(run: LoggedRun) -> EventStream:
        return await _opened(request, run, format, view, after=0, replay=replay)

    return request.state["streams"].later(
        partial(request.state["runs"].queue.begun, queued),
        opened,
        format,
        rights(request),
        {**queue_headers(queued), **(headers or {})},
        expires_at=principal(request).expires_at,
        left=left,
    )


def stream_thread(
    request: ApiRequest, runs: AsyncGenerator[Position], format: WireFormat, view: View
) -> ServerSentEvents:
    """The runs of a thread, one after the other. Raises Problem, LimitExceeded."""

    async def opened(place: Position) -> EventStream:
        return await _opened(request, place.run, format, view, after=place.after, replay=True)

    expires_at, caller = principal(request).expires_at, rights(request)
    streams = request.state["streams"]
    return streams.following(runs, opened, format, caller, {}, expires_at=expires_at)


async def _opened(
    request: ApiRequest,
    run: LoggedRun,
    format: WireFormat,
    view: View,
    *,
    after: int,
    replay: bool,
) -> EventStream:
    header, reader = run.header, request.state["reader"]

    async def context() -> StreamContext:
        needed = format.needs_turns(header, view)
        turns, state, asides = await reader.before(header) if needed else ((), None, ())
        return StreamContext(
            header.key.thread_id,
            header.message_id,
            turns,
            header.run_id,
            header.client_run_id,
            state,
            asides,
            request.state["graphs"].has_messages(header.graph),
        )

    stream: EventStream = await request.state["streams"].open(
        run, format, view, context, rights(request), after=after, replay=replay
    )
    return stream


def _own_format(request: ApiRequest, run: LoggedRun) -> WireFormat:
    """The format that the run was asked for in."""
    return request.state["formats"].wire_format(run.header.wire_format)


def run_headers(run: LoggedRun) -> dict[str, str]:
    header = run.header
    ids = {
        "X-Thread-Id": header.key.thread_id,
        "X-Run-Id": header.run_id,
        "X-Message-Id": header.user_message_id,
    }
    return {**ids, "X-Previous-Run-Id": header.follows} if header.follows else ids


def queue_headers(queued: QueuedRun) -> dict[str, str]:
    ids = {"X-Thread-Id": queued.key.thread_id, "X-Run-Id": queued.run_id, PLACE: str(queued.place)}
    return {**ids, "X-Message-Id": queued.message_id} if queued.message_id else ids


def first_event_url(thread_id: str, run_id: str) -> str:
    """The stream of a run from its first event. The cursor is the one before that: it holds when
    the run has already ended, and when it has not begun."""
    return f"/chat/{thread_id}/stream?last_event_id={run_id}:0"


def _accepted_later(queued: QueuedRun, ignored: Mapping[str, str]) -> Response:
    thread_id, run_id = queued.key.thread_id, queued.run_id
    location = first_event_url(thread_id, run_id)
    place = AcceptedJson(thread_id=thread_id, run_id=run_id, stream_url=outer_address(location))
    return JSONResponse(
        {**place, "queue_place": queued.place},
        202,
        headers={
            **queue_headers(queued),
            "Location": location,
            "Preference-Applied": "respond-async",
            **ignored,
        },
    )


def _accepted(run: LoggedRun, ignored: Mapping[str, str]) -> Response:
    thread_id, run_id = run.header.key.thread_id, run.header.run_id
    location = first_event_url(thread_id, run_id)
    return JSONResponse(
        AcceptedJson(thread_id=thread_id, run_id=run_id, stream_url=outer_address(location)),
        202,
        headers={
            **run_headers(run),
            "Location": location,
            "Preference-Applied": "respond-async",
            **ignored,
        },
    )


def _accepted_unseen(
    request: ApiRequest,
    lost: StreamLost,
    format: WireFormat,
    ignored: Mapping[str, str],
    *,
    detached: bool,
) -> Response:
    """The request is kept, and its run has no stream: the thread has what comes of it."""
    headers = {**unseen_headers(lost), **ignored}
    if not detached:
        return request.state["streams"].cursor_lost(format, headers)
    place = AcceptedJson(thread_id=lost.key.thread_id, run_id=lost.run_id)
    return JSONResponse(
        {**place, "thread_url": outer_address(headers["Location"])},
        202,
        headers={**headers, "Preference-Applied": "respond-async"},
    )


def unseen_headers(lost: StreamLost) -> dict[str, str]:
    """Which run it is, and where its thread is."""
    thread_id = lost.key.thread_id
    ids = {"X-Thread-Id": thread_id, "X-Run-Id": lost.run_id}
    return {**ids, "Location": f"/threads/{thread_id}"}


def _nothing() -> Response:
    """An EventSource that gets a 204 does not come back."""
    return Response(status_code=204)


def _idempotency_key(request: ApiRequest, body: bytes) -> IdempotencyKey | None:
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not key.strip() or len(key) > MAX_KEY_CHARS:
        raise InvalidRequest(
            "invalid_idempotency_key",
            f"An Idempotency-Key has 1 to {MAX_KEY_CHARS} characters.",
        )
    asked = hashlib.sha256(body + request.url.query.encode())
    return IdempotencyKey(key, asked.hexdigest())
