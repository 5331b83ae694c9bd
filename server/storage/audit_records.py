"""What the audit trail says: who did what, when and how it ended. Ids, names and numbers; never
what anybody wrote."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from turnstream.server.storage.also import Also

AuditEvent = Literal[
    "login",
    "logout",
    "refusal",
    "run_started",
    "run_ended",
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
    """How the caller was recognised."""
    thread_id: str | None = None
    run_id: str | None = None
    tool_call_id: str | None = None
    name: str | None = None
    """Of the tool, graph, key, route or new owner."""
    disposition: str | None = None
    """Of a tool call: who was to end it."""
    outcome: str | None = None
    """How a run or call ended, or what was decided; the code of a refusal."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    duration_ms: int | None = None
    count: int | None = None
    """Of threads, or of refusals that were left out."""
    address: str | None = None
    """The client's."""
    at: float = field(default_factory=time.time)
    """Unix time."""


Records = Sequence[AuditRecord]


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """None: any."""

    principal: str | None = None
    thread_id: str | None = None
    event: AuditEvent | None = None
    since: float | None = None
    """Unix time."""


class AuditStore(Protocol):
    """Records are appended and, when they are old enough, deleted; none is changed.

    Every method is one transaction, and raises StorageUnavailable if that cannot be done.
    """

    async def append(self, records: Records) -> None: ...

    def joining(self, records: Records) -> Also:
        """Return what appends the records in a transaction of the store of threads."""

    async def expire(self, before: float, limit: int) -> int:
        """Delete so many records of before a Unix time, at most; returns how many it were."""

    async def page(
        self, filter: AuditFilter, after: int, limit: int
    ) -> Sequence[tuple[int, AuditRecord]]:
        """Numbered records in the order in which they were written; `after` is the number of the
        last one of the page before, 0 for the first page."""
