"""Records for an audit trail: who did what, when, and how it ended. They hold ids, names and
numbers, and nothing that anybody wrote."""

import time
from dataclasses import dataclass, field
from typing import Literal

AuditEvent = Literal[
    "login",
    "logout",
    "refusal",
    "run_started",
    "run_ended",
    "request_edited",
    "request_withdrawn",
    "tool_call",
    "approval",
    "thread_deleted",
    "thread_restored",
    "key_added",
    "key_revoked",
    "threads_assigned",
    "data_exported",
    "data_deleted",
]


@dataclass(frozen=True, slots=True)
class AuditRecord:
    event: AuditEvent
    principal: str | None = None
    """The id of whoever it is about: who calls, or whose key or threads an administrator changes.
    None: of a refusal, nobody who is known."""
    method: str | None = None
    """The way in which the caller was recognised."""
    thread_id: str | None = None
    run_id: str | None = None
    tool_call_id: str | None = None
    name: str | None = None
    """The name of the tool, graph, key, route or new owner."""
    disposition: str | None = None
    """For a tool call: who was to end it."""
    outcome: str | None = None
    """The end of a run or a call, a decision, or the code of a refusal."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    duration_ms: int | None = None
    count: int | None = None
    """The number of threads, or of refusals that were left out."""
    address: str | None = None
    """The client's."""
    at: float = field(default_factory=time.time)
    """Unix time."""
