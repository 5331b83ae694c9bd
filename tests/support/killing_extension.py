"""An extension that keeps rows of the runs and threads that it was told of, and kills its server at
a statement or a commit."""

import os
import signal
from collections.abc import Sequence
from itertools import count
from typing import Any

from pydantic import Field
from pydantic_settings import BaseSettings, CliImplicitFlag
from sqlalchemy import Column, Connection, Engine, MetaData, String, Table, event, insert
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from turnstream.server.extensions.base import (
    EXTENSION_API,
    Extension,
    RunSpec,
    WatchedRun,
    Write,
)
from turnstream.server.turns.audit_records import AuditRecord
from turnstream.server.turns.chunks import Chunk

metadata = MetaData()
rows = Table(
    "killing_rows",
    metadata,
    # Not `thread_id`: the rows stay when their thread is deleted.
    Column("thread", String, primary_key=True),
    Column("event", String, primary_key=True),
    Column("outcome", String),
)
RECORDED = ("run_started", "run_ended", "thread_deleted")


class KillingSettings(BaseSettings):
    killing_at: int = Field(0, description="the step at which to be killed; 0: none")
    killing_counts_all: CliImplicitFlag[bool] = Field(
        False, description="count every statement and commit since the first run as a step"
    )


class Killing(Extension):
    """Its steps are its own writes, the commits of their transactions, and the first statement
    behind each of these commits."""

    name = "killing"
    api = EXTENSION_API
    settings = KillingSettings
    tables = metadata

    def __init__(self, settings: KillingSettings) -> None:
        self._at = settings.killing_at
        self._counts_all = settings.killing_counts_all
        self._steps = count(1)
        self._last = 0
        self._has_begun = False
        self._has_committed = False
        event.listen(Engine, "before_cursor_execute", self._execute)
        event.listen(Engine, "commit", self._commit)

    def _execute(self, connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        is_own = rows.name in statement
        if is_own:
            connection.info[rows.name] = True
        if is_own or self._has_committed or self._counts_all:
            self._has_committed = False
            self._step()

    def _commit(self, connection: Connection) -> None:
        is_own = connection.info.pop(rows.name, False)
        if is_own or self._counts_all:
            self._step()
        self._has_committed = self._has_committed or is_own

    def _step(self) -> None:
        if not self._has_begun:
            return
        self._last = next(self._steps)
        if self._last == self._at:
            os.kill(os.getpid(), signal.SIGKILL)

    def routes(self) -> Sequence[Route]:
        async def steps(_request: Request[Any]) -> Response:
            return JSONResponse(self._last)

        return [Route("/killing", steps)]

    async def before_run(self, spec: RunSpec) -> None:  # noqa: ARG002
        self._has_begun = True

    async def run_begins(self, spec: RunSpec) -> Sequence[Write]:
        return [_row(spec.key.thread_id, "run_begins", None)]

    async def after_run(
        self,
        run: WatchedRun,
        chunks: Sequence[Chunk],  # noqa: ARG002
    ) -> Sequence[Write]:
        return [_row(run.spec.key.thread_id, "after_run", run.state)]

    def record(self, records: Sequence[AuditRecord]) -> Sequence[Write]:
        return [
            _row(each.thread_id, each.event, each.outcome)
            for each in records
            if each.event in RECORDED
        ]


def _row(thread: str | None, name: str, outcome: str | None) -> Write:
    return insert(rows).values(thread=thread, event=name, outcome=outcome)
