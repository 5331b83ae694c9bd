"""A request in one line of the server's log: names, ids, numbers and codes.

No path as it was sent, no query and no header but a request id: they hold words of the caller, and
secrets.
"""

import logging
import re
from collections.abc import Awaitable
from dataclasses import dataclass
from time import monotonic
from typing import Any
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnstream.server.callers.principal import Principal
from turnstream.server.extensions.requests import method_name, route_template
from turnstream.server.http.authenticated import PRINCIPAL
from turnstream.server.http.problems import PROBLEM
from turnstream.server.logs.messages import Event

REQUEST_ID = "X-Request-Id"
_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Logged:
    """ASGI middleware around all others. A health check that succeeds is not logged."""

    app: ASGIApp
    names_callers: bool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(scope, send)
        try:
            await self.app(scope, receive, answer.send)
        finally:
            if not answer.is_health_check:
                line = answer.line(names_callers=self.names_callers)
                logger.info(Event("request", line))


class _Answer:
    """The answer to one request, which it gives the id of the request."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._began = monotonic()
        self._request_id = _id(Headers(scope=scope).get(REQUEST_ID)) or uuid4().hex[:16]
        self._status: int | None = None
        """None: no answer has begun."""
        self._headers = Headers()
        self._is_complete = False

    def send(self, message: Message) -> Awaitable[None]:
        # No coroutine of its own: it is called for every chunk of a stream.
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers[REQUEST_ID] = self._request_id
            self._status, self._headers = message["status"], headers
        elif not message.get("more_body", False):
            self._is_complete = True
        return self._send(message)

    @property
    def is_health_check(self) -> bool:
        template = route_template(self._scope) or ""
        return self._status == 200 and template.startswith("/health")

    def line(self, *, names_callers: bool) -> dict[str, Any]:
        """Return `{"method", "route"?, "status"?, "ms", "thread"?, "run"?, "code"?, "error_id"?,
        "caller"?, "request", "broken_off"?}`."""
        caller: Principal | None = self._scope.get(PRINCIPAL) if names_callers else None
        problem = self._scope.get(PROBLEM, {})
        line = {
            "method": method_name(self._scope),
            "route": route_template(self._scope),
            "status": self._status,
            "ms": round((monotonic() - self._began) * 1000),
            "thread": self._named("X-Thread-Id", "thread_id"),
            "run": self._named("X-Run-Id", "run_id"),
            "code": problem.get("code"),
            "error_id": problem.get("id"),
            "caller": caller.id if caller else None,
            "request": self._request_id,
            "broken_off": not self._is_complete or None,
        }
        return {key: value for key, value in line.items() if value is not None}

    def _named(self, header: str, parameter: str) -> str | None:
        """Return the id that a header of the answer has, or else the path of the request."""
        return self._headers.get(header) or _id(self._scope.get("path_params", {}).get(parameter))


def _id(text: object) -> str | None:
    """Return text that looks like an id; None for any other."""
    return text if isinstance(text, str) and _ID.fullmatch(text) else None
