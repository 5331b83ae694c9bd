"""A run in one line of the log: ids, counts and durations, never content."""

import json
import time

from server.protocols.chunks import (
    Data,
    Error,
    MessageFinish,
    PartStart,
    Result,
    StepStart,
    ToolCallPart,
)
from server.runs.run import Run


def summary(run: Run) -> str:
    """One JSON object: `{"run", "thread", "state", "finish", "steps", "tool_calls", "failed_calls",
    "input_tokens", "output_tokens", "first_token_ms"?, "model_ms"?, "tool_ms", "run_ms", "chunks",
    "ended"?, "error"?}`."""
    chunks = run.log.chunks
    finish = next((c for c in reversed(chunks) if isinstance(c, MessageFinish)), None)
    line = {
        "run": run.id,
        "thread": run.thread_id,
        "state": run.state,
        "finish": finish.reason if finish else None,
        "steps": sum(isinstance(c, StepStart) for c in chunks),
        "tool_calls": sum(
            isinstance(c, PartStart) and isinstance(c.part, ToolCallPart) for c in chunks
        ),
        "failed_calls": sum(isinstance(c, Result) and c.is_error for c in chunks),
        "input_tokens": finish.usage.input_tokens if finish else 0,
        "output_tokens": finish.usage.output_tokens if finish else 0,
        "first_token_ms": finish.timing.first_token_ms if finish and finish.timing else None,
        "model_ms": finish.timing.model_ms if finish and finish.timing else None,
        "tool_ms": sum(finish.tool_ms.values()) if finish else 0,
        "run_ms": round((time.monotonic() - run.started) * 1000),
        "chunks": len(chunks),
        "ended": next(
            (dict(c.data) for c in chunks if isinstance(c, Data) and c.name == "run-ended"), None
        ),
        "error": next((c.code for c in chunks if isinstance(c, Error)), None),
    }
    return json.dumps({key: value for key, value in line.items() if value is not None})
