"""/threads/{thread_id}/queue: the requests that wait for their turn on a thread."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, NotRequired

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.formats import DEFAULT, WireFormat, queued_change
from turnstream.server.http.chat import PROTOCOL, first_event_url
from turnstream.server.http.operations import Answer, Operation, Time, component, says
from turnstream.server.http.problems import problem, unknown_thread
from turnstream.server.http.proxies import outer_address
from turnstream.server.http.state import ApiRequest, principal, thread_key
from turnstream.server.http.thread_json import as_json, written
from turnstream.server.storage.interfaces import ThreadEntry
from turnstream.server.storage.queued_requests import QueuedRequest
from turnstream.server.turns.messages import Turn, UserTurn
from turnstream.server.turns.problem_codes import STORAGE, pick
from turnstream.server.turns.requests import InvalidRequest, TurnRequest, UserMessage


class QueuedProblemJson(TypedDict):
    code: str
    message: str


class QueuedJson(TypedDict):
    """A request that waits for its turn."""

    run_id: Annotated[str, says("The id that its run gets.")]
    message: Annotated[
        Annotated[Mapping[str, Any], component("Message")] | None,
        says("In the wire format; null if the request brings none."),
    ]
    queued_at: Time
    due_at: NotRequired[Annotated[Time, says("The run begins no earlier.")]]
    stream_url: Annotated[str, says("The stream of its run, which waits for the beginning.")]
    problem: NotRequired[
        Annotated[QueuedProblemJson, says("Why its run could not begin; edit or withdraw it.")]
    ]


class QueueJson(TypedDict):
    queue: list[QueuedJson]
    run_id: Annotated[str, says("The thread's last run, live or over.")]


def queued_json(queued: QueuedRequest, format: WireFormat) -> QueuedJson:
    message = queued.request.message
    turns = [UserTurn(message.id or "", message.content, queued.queued_at)] if message else []
    at = _time(queued.queued_at)
    shown: QueuedJson = {
        "run_id": queued.run_id,
        "message": next(iter(format.snapshot(turns)), None) if turns else None,
        "queued_at": at,
        "stream_url": outer_address(first_event_url(queued.key.thread_id, queued.run_id)),
    }
    if queued.due_at is not None:
        shown["due_at"] = _time(queued.due_at)
    if queued.problem:
        shown["problem"] = {"code": queued.problem[0], "message": queued.problem[1]}
    return shown


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def waiting(
    queue: Sequence[QueuedRequest], entry: ThreadEntry, turns: Sequence[Turn] | None = None
) -> Sequence[QueuedRequest]:
    """The requests that are not in the thread yet: also one whose run was its last, and is to begin
    again because it kept nothing. With `turns`, those of the thread, also one whose run has begun
    and is about to save it."""
    shown = {turn.id for turn in turns or () if isinstance(turn, UserTurn)}

    def waits(one: QueuedRequest) -> bool:
        if not one.has_begun or one.run_id != entry.run_id:
            return True
        message = one.request.message
        return turns is not None and message is not None and message.id not in shown

    return [one for one in queue if waits(one)]


def _format(request: ApiRequest) -> WireFormat:
    name = request.query_params.get("protocol", DEFAULT.name)
    format: WireFormat = request.state["formats"].wire_format(name)
    return format


class ThreadQueue(HTTPEndpoint):
    @Operation(
        "listQueue",
        Answer("The requests, in their order.", QueueJson),
        STORAGE | pick("thread_not_found", "invalid_protocol"),
        query={"protocol": PROTOCOL},
    )
    async def get(self, request: ApiRequest) -> Response:
        """List the requests that wait for their turn on a thread."""
        key, store, format = thread_key(request), request.state["store"], _format(request)
        queue, entry = await store.queue(key), await store.get(key)
        if entry is None:
            raise unknown_thread(key)
        texts = await written([queued_json(one, format) for one in waiting(queue, entry)])
        body = b'{"run_id":%b,"queue":[%b]}' % (as_json(entry.run_id), b",".join(texts))
        return Response(body, media_type="application/json")


class Queued(HTTPEndpoint):
    @Operation(
        "editQueued",
        Answer("The request, as it waits by now.", QueuedJson),
        STORAGE
        | pick("not_queued", "invalid_protocol", "invalid_body", "unknown_key", "empty_message")
        | pick("missing_action")
        | pick("message_too_long", "too_many_images", "images_too_large", "invalid_text")
        | pick("unsupported_part", "invalid_image", "invalid_message_id", "nothing_to_edit"),
        query={"protocol": PROTOCOL},
        body="QueuedChangeBody",
        examples={"other words": {"message": "Hello again"}, "the next one": {"place": 1}},
    )
    async def patch(self, request: ApiRequest) -> Response:
        """Edit the message of a request that waits, or give it another place.

        The message keeps its id. An edited request that could not begin waits for its turn again.
        """
        key, run_id, format = thread_key(request), request.path_params["run_id"], _format(request)
        read = partial(queued_change, limits=request.state["body_limits"])
        (message, place), _ = await request.state["bodies"].read(request, read)
        queue = request.state["runs"].queue
        changed = await request.state["store"].queued(key, run_id)
        if changed is None or await request.state["store"].get(key) is None:
            raise problem("not_queued")
        if message is not None:
            changed = await queue.edit(principal(request), key, run_id, _edited(changed, message))
        if place is not None and changed is not None:
            moved = await queue.move(key, run_id, place)
            # An edited request whose run has begun meanwhile was edited all the same.
            changed = moved or (changed if message is not None else None)
        if changed is None:
            raise problem("not_queued")
        return JSONResponse(queued_json(changed, format))

    @Operation(
        "withdrawQueued",
        {204: Answer("The request is withdrawn: its run will not begin.")},
        STORAGE | pick("not_queued"),
    )
    async def delete(self, request: ApiRequest) -> Response:
        """Withdraw a request that waits."""
        key, run_id = thread_key(request), request.path_params["run_id"]
        is_there = await request.state["store"].get(key) is not None
        if not is_there or not await request.state["runs"].queue.withdraw(key, run_id):
            raise problem("not_queued")
        return Response(status_code=204)


def _edited(queued: QueuedRequest, message: UserMessage) -> TurnRequest:
    """Raises InvalidRequest."""
    before = queued.request.message
    if before is None:
        sentence = "The request has no message: withdraw it, and send another."
        raise InvalidRequest("nothing_to_edit", sentence, 409)
    if message.id not in (None, before.id):
        raise InvalidRequest("invalid_message_id", "The message keeps its id: send it, or none.")
    return replace(queued.request, message=replace(message, id=before.id))
