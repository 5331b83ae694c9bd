"""What the audit trail gets of requests: those that were refused, and what an endpoint records."""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnstream.server.http.authenticated import PRINCIPAL, session_cookie
from turnstream.server.http.problems import PROBLEM_CODE
from turnstream.server.storage.also import Also
from turnstream.server.storage.audit_records import AuditEvent, AuditRecord
from turnstream.server.users.audit import Audit
from turnstream.server.users.principal import Principal

REFUSALS = (401, 403, 429)
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
"""Any other is named `other`: a method is a word of the caller's."""


@dataclass(frozen=True, slots=True)
class Audited:
    """ASGI middleware: records each answer that refuses its caller, but not that a login is needed
    to one who came without credentials."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        audit: Audit | None = scope["state"]["audit"] if scope["type"] == "http" else None
        if audit is None:
            await self.app(scope, receive, send)
            return
        noting = audit

        def watched(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start" and message["status"] in REFUSALS:
                _note(noting, Request(scope), message["status"])
            return send(message)

        await self.app(scope, receive, watched)


def joining(request: Request[Any], event: AuditEvent, caller: Principal, **values: Any) -> Also:
    """Return what records a caller's deed in the transaction of it; nothing without a trail."""
    audit: Audit | None = request.state["audit"]
    return audit.joining(_record(request, event, caller, **values)) if audit else ()


async def record_now(request: Request[Any], event: AuditEvent, caller: Principal) -> None:
    """Record it before anything is done. Raises StorageUnavailable."""
    audit: Audit | None = request.state["audit"]
    if audit:
        await audit.record(_record(request, event, caller))


def note_call(request: Request[Any], tool: str, end: str, duration_ms: int | None) -> None:
    """Record a call of a tool without a run."""
    caller: Principal = request.scope[PRINCIPAL]
    values = {"name": tool, "disposition": "server", "outcome": end, "duration_ms": duration_ms}
    audit: Audit | None = request.state["audit"]
    if audit:
        audit.note(_record(request, "tool_call", caller, **values))


def _record(
    request: Request[Any], event: AuditEvent, caller: Principal, **values: Any
) -> AuditRecord:
    address = _address(request)
    return AuditRecord(event, caller.id, caller.method, address=address, **values)


def _note(audit: Audit, request: Request[Any], status: int) -> None:
    caller: Principal | None = request.scope.get(PRINCIPAL)
    if status == 401 and not _has_credentials(request):
        return
    refusal = AuditRecord(
        "refusal",
        caller.id if caller else None,
        caller.method if caller else None,
        name=matched_route(request.scope),
        outcome=request.scope.get(PROBLEM_CODE),
        address=_address(request),
    )
    audit.note_refusal(refusal)


def _has_credentials(request: Request[Any]) -> bool:
    """Whether the request said who its caller is, and was not believed."""
    given = "authorization" in request.headers or session_cookie(request) is not None
    return given or request.url.path == "/login"


def matched_route(scope: Scope) -> str | None:
    """Return method and first step of the route that the router has matched, such as `POST /chat`;
    nothing of it is the caller's own words. None without a route."""
    if "endpoint" not in scope:
        return None
    method = scope["method"] if scope["method"] in METHODS else "other"
    return f"{method} /{scope['route'].path.split('/')[1]}"


def _address(request: Request[Any]) -> str | None:
    return request.client.host if request.client else None
