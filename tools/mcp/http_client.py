"""The HTTP client below the MCP client library: it keeps the status of a request that failed.

The library reports a failed POST as a JSON-RPC error: the server's own, if the body is one, else
one that it makes up. Neither says which status came, and a request that finds no server ends the
session with all its calls. Here a failure that a session must know of is answered with a JSON-RPC
error of ours, for that request alone; `failure_of` reads it.

- 404 for a request with a session id: the server does not know the session, whatever the body says.
  https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#session-management
- 400 for one, with a JSON-RPC error that answers no request (`"id": null`) or with none: the server
  refused the request before it read the message. Some servers say so of an unknown session.
- 502, 503, 504: a gateway has no answer of the server. The server may have taken the request. So
  does 404 without a JSON-RPC error, for a request without a session id: some gateways say so.
- No connection: the request was not sent.
- A connection that broke before the answer began: the server may have taken the request.
"""

import json
import secrets
from collections.abc import Callable
from enum import Enum
from typing import Any

import httpx2
from mcp import MCPError
from mcp.types import INTERNAL_ERROR

SESSION_ID = "mcp-session-id"
GATEWAY_STATUSES = (502, 503, 504)
_BEFORE_SENDING = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_MARK = secrets.token_hex(16)
"""Marks the errors that are made here; no server knows it."""


class Failure(Enum):
    """The state behind a failed request."""

    NOT_SENT = "not-sent"
    SESSION_GONE = "session-gone"
    REFUSED = "refused"
    """The server did not read the message; perhaps the session is gone."""
    UNAVAILABLE = "unavailable"
    BROKEN = "broken"


def failure_of(error: MCPError) -> Failure | None:
    """Return None for an error that the server answered, or that the client library made up."""
    data = error.data
    if not isinstance(data, dict) or data.get("mark") != _MARK:
        return None
    return Failure(data["failure"])


class HttpClient(httpx2.AsyncClient):
    """The client of one session; `troubled` is called when a failure may mean that the server was
    restarted."""

    def __init__(self, troubled: Callable[[], None], **options: Any) -> None:
        super().__init__(**options)
        self._troubled = troubled
        self.is_open = False
        """Set once the session is open. Before that a failed connection is an exception, which ends
        the attempt to open it."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            response = await super().send(request, **options)
        except httpx2.TransportError as error:
            if not self.is_open:
                raise
            self._troubled()
            if request.method != "POST":
                raise
            failure = _failure_to_connect(error, request)
            return _failed(request, failure, type(error).__name__)
        return await self._checked(request, response)

    async def _checked(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        status = response.status_code
        has_session = SESSION_ID in request.headers
        is_gone = status == 404 and has_session
        if self.is_open and (is_gone or status in GATEWAY_STATUSES) and request.method != "DELETE":
            self._troubled()
        if request.method != "POST":
            return response
        if is_gone or status in GATEWAY_STATUSES:
            await response.aclose()
            failure = Failure.SESSION_GONE if is_gone else Failure.UNAVAILABLE
            return _failed(request, failure, f"HTTP {status}")
        if status == 400 and has_session:
            said = await _error_of(response)
            if said.get("id") is None:
                what = said["error"].get("message") if said else None
                return _failed(request, Failure.REFUSED, str(what or "HTTP 400"))
        if status == 404 and self.is_open and not await _error_of(response):
            self._troubled()
            return _failed(request, Failure.UNAVAILABLE, "HTTP 404")
        return response


async def _error_of(response: httpx2.Response) -> dict[str, Any]:
    """Return the JSON-RPC error that is the body, or nothing."""
    try:
        answer = json.loads(await response.aread())
    except (ValueError, RecursionError):
        return {}
    is_error = isinstance(answer, dict) and isinstance(answer.get("error"), dict)
    return answer if is_error and "jsonrpc" in answer else {}


def _failure_to_connect(error: httpx2.TransportError, request: httpx2.Request) -> Failure:
    if isinstance(error, _BEFORE_SENDING) and not _is_later_round(request):
        return Failure.NOT_SENT
    return Failure.BROKEN


def _is_later_round(request: httpx2.Request) -> bool:
    """Return True for a request that continues a call which the server has begun: it answered with
    `input_required`. To make that call again would begin it twice."""
    params = json.loads(request.content).get("params") or {}
    return "requestState" in params or "inputResponses" in params


def _failed(request: httpx2.Request, failure: Failure, what: str) -> httpx2.Response:
    data = {"mark": _MARK, "failure": failure.value}
    error = {"code": INTERNAL_ERROR, "message": what, "data": data}
    return httpx2.Response(
        500, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request
    )
