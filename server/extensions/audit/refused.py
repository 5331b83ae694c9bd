"""Requests that were refused, as the audit trail records them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnstream.server.callers.principal import Principal
from turnstream.server.extensions.audit.trail import Trail
from turnstream.server.extensions.requests import matched_route
from turnstream.server.http.authenticated import HAS_CREDENTIALS, PRINCIPAL
from turnstream.server.http.problems import PROBLEM
from turnstream.server.turns.audit_records import AuditRecord

REFUSALS = (401, 403, 429)


@dataclass(frozen=True, slots=True)
class Refused:
    """ASGI middleware: records each answer that refuses its caller, but not that a login is needed
    to one who came without credentials."""

    app: ASGIApp
    trail: Callable[[], Trail | None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        trail = self.trail() if scope["type"] == "http" else None
        if trail is None:
            await self.app(scope, receive, send)
            return
        noting = trail

        def watched(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start" and message["status"] in REFUSALS:
                _note(noting, Request(scope), message["status"])
            return send(message)

        await self.app(scope, receive, watched)


def _note(trail: Trail, request: Request[Any], status: int) -> None:
    caller: Principal | None = request.scope.get(PRINCIPAL)
    if status == 401 and not request.scope["state"].get(HAS_CREDENTIALS):
        return
    refusal = AuditRecord(
        "refusal",
        caller.id if caller else None,
        caller.method if caller else None,
        name=matched_route(request.scope),
        outcome=request.scope.get(PROBLEM, {}).get("code"),
        address=request.client.host if request.client else None,
    )
    trail.note_refusal(refusal)
