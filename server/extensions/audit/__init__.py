"""The audit trail: who did what and when, in a table of the database, and `turnstream audit`."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, NonNegativeInt
from pydantic_settings import BaseSettings
from starlette.middleware import Middleware

from turnstream.server.extensions.audit.tables import metadata
from turnstream.server.extensions.base import (
    EXTENSION_API,
    AddCommands,
    Extension,
    Opened,
    Write,
)
from turnstream.server.settings import Settings
from turnstream.server.turns.audit_records import AuditRecord

if TYPE_CHECKING:
    from turnstream.server.extensions.audit.trail import Trail


class AuditSettings(BaseSettings):
    audit_days: NonNegativeInt = Field(
        90, le=36_500, description="days that the audit trail is kept; 0: there is none"
    )


class AllSettings(Settings, AuditSettings):
    """The settings that the trail reads."""


def _add_command(groups: Any) -> None:
    from turnstream.server.extensions.audit.command import add_to

    add_to(groups)


class AuditExtension(Extension):
    """It is always on: what was recorded earlier and is too old is deleted also while callers are
    not recognised, or nothing is recorded any more."""

    name = "audit"
    api = EXTENSION_API
    order = 0
    settings = AuditSettings
    tables = metadata
    administration: ClassVar[Mapping[str, AddCommands]] = {"audit": _add_command}

    def __init__(self, settings: AllSettings) -> None:
        self._days = settings.audit_days
        self.records = settings.authenticates and self._days > 0
        self.trail: Trail | None = None
        """None: nothing is recorded, or the server is not open yet."""

    def middleware(self) -> Sequence[Middleware]:
        if not self.records:
            return ()
        from turnstream.server.extensions.audit.refused import Refused

        return [Middleware(Refused, trail=lambda: self.trail)]

    @asynccontextmanager
    async def open(self, opened: Opened) -> AsyncIterator[None]:
        from turnstream.server.extensions.audit.trail import expire, open_trail

        if not self.records:
            await expire(opened.database, self._days)
            yield
            return
        async with open_trail(opened.database, self._days) as trail:
            self.trail = trail
            yield

    def record(self, records: Sequence[AuditRecord]) -> Sequence[Write]:
        """Return what adds the records; behind the records of a run that still wait, if they tell
        its end."""
        from turnstream.server.extensions.audit.records import adding

        if not self._days:
            return ()
        ended = {record.run_id for record in records if record.event == "run_ended"}
        waiting = self.trail.take(ended) if self.trail and ended else []
        return adding([*waiting, *records])

    def note(self, records: Sequence[AuditRecord]) -> None:
        if self.trail:
            self.trail.note(*records)
