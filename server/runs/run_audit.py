"""Audit records of runs and threads."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from langchain_core.messages import ToolCall

from turnstream.graphs.approvals import APPROVED_IN, approved_calls
from turnstream.server.extensions.recording import AuditRecorder
from turnstream.server.runs.call_records import CallRecords
from turnstream.server.runs.log_writer import Watch
from turnstream.server.runs.run import Run
from turnstream.server.runs.start import RunStart
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.storage.also import Also
from turnstream.server.storage.interfaces import LostRun
from turnstream.server.turns.audit_records import AuditEvent, AuditRecord
from turnstream.server.turns.chunks import Approval, Chunk, MessageFinish
from turnstream.server.turns.header import ThreadKey


class RunAudit:
    def __init__(self, recorder: AuditRecorder) -> None:
        self._recorder = recorder

    def started(self, start: RunStart, by: str) -> Also:
        """A run's start, and the decisions on calls that it brings; `by` is who decided."""
        if not self._recorder.is_on:
            return ()
        key, run_id, plan = start.key, start.run_id, start.plan
        names = {call["id"]: call["name"] for call in plan.before.pending("approval")}
        decisions = [
            AuditRecord(
                "approval",
                by,
                thread_id=key.thread_id,
                run_id=run_id,
                tool_call_id=item.tool_call_id,
                name=names.get(item.tool_call_id),
                outcome=outcome(item.approval),
            )
            for item in plan.approvals
        ]
        begun = _of_run("run_started", key, run_id, name=start.graph)
        return self._recorder.joining(begun, *decisions)

    def watch(self, start: RunStart) -> Watch | None:
        """Return the watcher of the run's chunks, or None."""
        if not self._recorder.is_on:
            return None
        return partial(_note, self._recorder, CallRecords(start))

    def ended(self, run: Run, last: Sequence[Chunk]) -> Also:
        """Return the writes of the run's end; `last` are its last chunks."""
        if not self._recorder.is_on:
            return ()
        if run.watch:
            run.watch(last)
        start = run.start
        finish = next(chunk for chunk in last if isinstance(chunk, MessageFinish))
        end = _of_run(
            "run_ended",
            start.key,
            start.run_id,
            outcome=run.state,
            input_tokens=finish.usage.input_tokens,
            output_tokens=finish.usage.output_tokens,
            duration_ms=round((time.monotonic() - run.started) * 1000),
        )
        return self._recorder.joining(end)

    def interrupted(self, key: ThreadKey, run_id: str) -> Also:
        """A run that has begun, and cannot go on."""
        if not self._recorder.is_on:
            return ()
        return self._recorder.joining(_of_run("run_ended", key, run_id, outcome="interrupted"))

    def lost(self, run: LostRun, state: str, thread: ThreadState | None = None) -> Also:
        """A run whose process died: the calls that the crash cut off, and the run's end. What the
        process had not written yet is lost."""
        if not self._recorder.is_on:
            return ()
        cut_off: Sequence[ToolCall] = ()
        if thread and not thread.interrupts:
            approved = approved_calls(thread.messages, run.run_id)
            cut_off = [*thread.pending("server"), *approved]
        calls = [
            _of_run(
                "tool_call",
                run.key,
                run.run_id,
                tool_call_id=call["id"],
                name=call["name"],
                disposition="approval" if APPROVED_IN in call else "server",
                outcome="interrupted",
            )
            for call in cut_off
        ]
        end = _of_run("run_ended", run.key, run.run_id, outcome=state)
        return self._recorder.joining(*calls, end)

    def edited(self, key: ThreadKey, run_id: str) -> Also:
        """A request that waits for its turn, and has other words now."""
        return self._of_request("request_edited", key, run_id)

    def withdrawn(self, key: ThreadKey, run_id: str) -> Also:
        return self._of_request("request_withdrawn", key, run_id)

    def _of_request(self, event: AuditEvent, key: ThreadKey, run_id: str) -> Also:
        if not self._recorder.is_on:
            return ()
        return self._recorder.joining(_of_run(event, key, run_id))

    def deleted(self, key: ThreadKey) -> Also:
        return self._of_thread("thread_deleted", key)

    def restored(self, key: ThreadKey) -> Also:
        """A deleted thread that was brought back."""
        return self._of_thread("thread_restored", key)

    def expired(self, key: ThreadKey) -> Also:
        """A thread that was deleted since nobody had used it for long."""
        return self._of_thread("thread_deleted", key, "expired")

    def _of_thread(self, event: AuditEvent, key: ThreadKey, outcome: str | None = None) -> Also:
        if not self._recorder.is_on:
            return ()
        record = AuditRecord(event, key.owner, thread_id=key.thread_id, outcome=outcome)
        return self._recorder.joining(record)


def outcome(approval: Approval) -> str:
    if not approval.approved:
        return "declined"
    return "approved" if approval.args is None else "changed"


def _note(recorder: AuditRecorder, calls: CallRecords, chunks: Sequence[Chunk]) -> None:
    records = calls.read(chunks)
    if records:
        recorder.note(*records)


def _of_run(event: AuditEvent, key: ThreadKey, run_id: str, **values: Any) -> AuditRecord:
    return AuditRecord(event, key.owner, thread_id=key.thread_id, run_id=run_id, **values)
