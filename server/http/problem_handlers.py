"""Which problem answers an exception: the one place where errors become HTTP.

One that no handler knows is logged, and its problem has the id of the log entry.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any
from uuid import uuid4

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnstream.server.callers.rights import Forbidden, LimitExceeded
from turnstream.server.extensions.base import Refusal
from turnstream.server.http.problems import (
    SHUTTING_DOWN,
    SOON,
    Problem,
    limit_reached,
    problem,
    unknown_thread,
)
from turnstream.server.http.proxies import outer_address
from turnstream.server.runs.busy_threads import RunInProgress
from turnstream.server.runs.capacity import TooManyRuns
from turnstream.server.runs.deadline import ThreadStillBusy
from turnstream.server.runs.hooks import GuardFailed
from turnstream.server.runs.shutdown import ShuttingDown
from turnstream.server.runs.thread_version import ThreadChanged, UnknownThread
from turnstream.server.storage.interfaces import StorageFault, StorageUnavailable
from turnstream.server.storage.queued_requests import QueueFull
from turnstream.server.turns.requests import InvalidRequest

logger = logging.getLogger(__name__)

RETRY_AFTER_SECONDS: Mapping[StorageFault, int] = {
    "storage_busy": 5,
    "storage_unreachable": 5,
    "streams_unavailable": 5,
    "storage_full": 60,
    "storage_failed": 60,
    "database_gone": 60,
}

Handler = Callable[[Request, Exception], Awaitable[Response]]


async def _problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response()


async def _invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, InvalidRequest)
    return Problem(error.status, error.code, error.message).response()


async def _busy(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RunInProgress)
    address = f"/chat/{error.key.thread_id}"
    return problem(
        "run_in_progress",
        run_id=error.run_id,
        stream_url=outer_address(f"{address}/stream"),
        stop_url=outer_address(f"{address}/stop"),
    ).response()


async def _queue_full(_request: Request, error: Exception) -> Response:
    assert isinstance(error, QueueFull)
    return problem("queue_full", limit="MAX_QUEUED_REQUESTS", value=error.limit).response()


async def _unknown_thread(_request: Request, error: Exception) -> Response:
    assert isinstance(error, UnknownThread)
    return unknown_thread(error.key).response()


async def _changed(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ThreadChanged)
    entry, ids = error.entry, error.new_messages
    since: dict[str, Any] = {} if ids is None else {"new_messages": ids}
    return problem(
        "thread_changed",
        run_id=entry.run_id,
        run_state=entry.run_state,
        updated_at=entry.updated_at,
        **since,
    ).response()


async def _shutting_down(_request: Request, _error: Exception) -> Response:
    return SHUTTING_DOWN.response()


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return Problem(error.status, error.code, error.sentence).response()


async def _guard_failed(_request: Request, _error: Exception) -> Response:
    return problem("guard_failed", headers=SOON).response()


async def _too_many_runs(_request: Request, error: Exception) -> Response:
    assert isinstance(error, TooManyRuns)
    return limit_reached(error.setting, error.limit).response()


async def _forbidden(_request: Request, _error: Exception) -> Response:
    return Problem(
        403,
        "forbidden",
        "You have no role that may do anything here. Ask whoever runs this server for one.",
    ).response()


async def _limit_exceeded(_request: Request, error: Exception) -> Response:
    assert isinstance(error, LimitExceeded)
    seconds = ceil(error.retry_after)
    return Problem(
        429,
        "limit_exceeded",
        f"Your limit {error.limit}, {error.value}, is used up. Try again in {seconds} seconds.",
        headers={"Retry-After": str(seconds)},
        limit=error.limit,
        value=error.value,
    ).response()


async def _storage_unavailable(request: Request, error: Exception) -> Response:
    assert isinstance(error, StorageUnavailable)
    error_id = uuid4().hex[:12]
    named = {
        "method": request.method,
        "path": request.url.path,
        "error": error,
        "error_id": error_id,
    }
    logger.warning("%(method)s %(path)s: 503 %(error)s, error %(error_id)s", named)
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS[error.code])}
    return Problem(503, error.code, error.message, headers=headers, id=error_id).response()


async def _still_busy(_request: Request, _error: Exception) -> Response:
    return problem("thread_still_busy", headers=SOON).response()


def _other_method(request: Request, error: HTTPException) -> str:
    allowed = (error.headers or {}).get("Allow", "GET, HEAD")
    return f"{request.method} is not for this address; it takes {allowed}."


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code, detail = {
        404: ("not_found", f"There is nothing at {request.url.path!r}."),
        405: ("method_not_allowed", _other_method(request, error)),
    }.get(error.status_code, ("http_error", error.detail))
    return Problem(error.status_code, code, detail, headers=error.headers).response()


HANDLERS: dict[Any, Handler] = {
    Problem: _problem,
    InvalidRequest: _invalid,
    RunInProgress: _busy,
    QueueFull: _queue_full,
    UnknownThread: _unknown_thread,
    ThreadChanged: _changed,
    ShuttingDown: _shutting_down,
    TooManyRuns: _too_many_runs,
    Forbidden: _forbidden,
    Refusal: _refused,
    GuardFailed: _guard_failed,
    LimitExceeded: _limit_exceeded,
    StorageUnavailable: _storage_unavailable,
    ThreadStillBusy: _still_busy,
    HTTPException: _http,
}


@dataclass(frozen=True, slots=True)
class UnexpectedErrors:
    """ASGI middleware: logs what no handler knows, and answers with a problem that has its id.

    Starlette answers such errors too, but outside its other middleware, so without CORS headers,
    and leaves the error to the server, which logs it again. An error in the middle of an answer
    is left to the server: it logs it and closes the connection.
    """

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        def watched(message: Message) -> Awaitable[None]:
            nonlocal started
            started = True
            return send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception as error:
            if started or scope["type"] != "http":
                raise
            await _unexpected(error)(scope, receive, send)


def _unexpected(error: Exception) -> Response:
    error_id = uuid4().hex[:12]
    logger.error("request failed, error %(error_id)s", {"error_id": error_id}, exc_info=error)
    return problem("internal_error", id=error_id).response()
