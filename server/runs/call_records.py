"""Records of a run's tool calls, read off its chunks: the calls that the server was to end, and
those that were refused. What a client shows or answers is the client's own."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from turnstream.server.runs.start import RunStart
from turnstream.server.turns.audit_records import AuditRecord
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Disposition,
    PartStart,
    Path,
    Result,
    Substep,
    TextDelta,
    ToolCallPart,
    ToolSettled,
)

RECORDED: tuple[Disposition, ...] = ("server", "approval", "invalid")
DENIALS = ("tool_not_allowed", "approval_required", "limit_exceeded")
"""Codes that say more than that a call has failed."""
MAX_ID_CHARS = 128

_NAME = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_CODE = re.compile(r"[a-z_]{1,40}")


class _Call(NamedTuple):
    id: str
    name: str
    disposition: Disposition


class CallRecords:
    """The records of the calls of one run. A call has one record, also if its step is told
    again."""

    def __init__(self, start: RunStart) -> None:
        self._key, self._run_id = start.key, start.run_id
        self._classifier = start.classifier
        self._calls: dict[tuple[str | None, Path], _Call] = {}
        """By the call whose subagent makes them, and their path."""
        self._recorded: set[str] = set()
        before = start.plan.before
        self._earlier = {
            call["id"]: _Call(call["id"] or "", call["name"], disposition)
            for disposition in RECORDED
            for call in before.pending(disposition)
        }
        """Calls of earlier runs that wait for their end."""

    def read(self, chunks: Sequence[Chunk]) -> list[AuditRecord]:
        """The records of the calls that end with these chunks, the next of the run."""
        records = []
        for chunk in chunks:
            if type(chunk) is TextDelta:
                continue  # most are, and the patterns would be tried for each
            if isinstance(chunk, Substep):
                records += self._read(chunk.chunk, chunk.tool_call_id)
            else:
                records += self._read(chunk, None)
        return records

    def _read(self, chunk: Chunk, around: str | None) -> list[AuditRecord]:
        """`around` is the call whose subagent says the chunk; None: nobody's."""
        match chunk:
            case PartStart(path=path, part=ToolCallPart(id, name, disposition)):
                self._calls[around, path] = _Call(id, name, disposition)
            case ArgsFinish(path=path, disposition=disposition) if (around, path) in self._calls:
                call = self._calls[around, path]
                self._calls[around, path] = call._replace(disposition=disposition)
            case Result(path=path) if (around, path) in self._calls:
                return self._record(self._calls.pop((around, path)), chunk)
            case ToolSettled(id) if id in self._earlier:
                return self._record(self._earlier.pop(id), chunk)
        return []

    def _record(self, call: _Call, end: Result | ToolSettled) -> list[AuditRecord]:
        if call.disposition not in RECORDED or call.id in self._recorded:
            return []
        self._recorded.add(call.id)
        return [
            AuditRecord(
                "tool_call",
                self._key.owner,
                thread_id=self._key.thread_id,
                run_id=self._run_id,
                tool_call_id=call.id[:MAX_ID_CHARS],
                name=self._name(call.name),
                disposition=call.disposition,
                outcome=_outcome(call.disposition, end),
                duration_ms=end.duration_ms,
            )
        ]

    def _name(self, name: str) -> str | None:
        """None: no tool has this name, so it is the model's own word."""
        rules = self._classifier
        known = name in rules.catalogue.real_by_name or name in rules.ui_tools
        return name if (known or rules.unknown != "invalid") and _NAME.fullmatch(name) else None


def _outcome(disposition: Disposition, end: Result | ToolSettled) -> str:
    code = _code(end.result)
    is_telling = code in DENIALS or (disposition == "invalid" and _CODE.fullmatch(code))
    return code if is_telling else end.end


def _code(result: Any) -> str:
    error = result.get("error") if isinstance(result, Mapping) else None
    return str(error.get("code", "")) if isinstance(error, Mapping) else ""
