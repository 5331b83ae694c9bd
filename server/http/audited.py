"""Audit records of requests: a deed of a caller, and the address that it came from."""

from typing import Any

from starlette.requests import Request

from turnstream.server.callers.principal import Principal
from turnstream.server.http.state import ApiRequest, principal
from turnstream.server.storage.also import Also
from turnstream.server.turns.audit_records import AuditEvent, AuditRecord


def joining(request: ApiRequest, event: AuditEvent, caller: Principal, **values: Any) -> Also:
    """Return the writes that record a caller's deed in the transaction of it."""
    return request.state["recorder"].joining(_record(request, event, caller, **values))


async def record_now(request: ApiRequest, event: AuditEvent, caller: Principal) -> None:
    """Record it before anything is done. Raises StorageUnavailable."""
    also = joining(request, event, caller)
    if also:
        await request.state["store"].perform(also)


def note_call(request: ApiRequest, tool: str, end: str, duration_ms: int | None) -> None:
    """Record a call of a tool without a run."""
    values = {"name": tool, "disposition": "server", "outcome": end, "duration_ms": duration_ms}
    record = _record(request, "tool_call", principal(request), **values)
    request.state["recorder"].note(record)


def _record(
    request: Request[Any], event: AuditEvent, caller: Principal, **values: Any
) -> AuditRecord:
    address = request.client.host if request.client else None
    return AuditRecord(event, caller.id, caller.method, address=address, **values)
