"""A run in one line of the server's log: ids, counts and durations, never content."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from turnstream.server.logs.messages import Event
from turnstream.server.runs.run import Run
from turnstream.server.storage.run_logs import RunLog
from turnstream.server.turns.chunks import (
    Chunk,
    Error,
    MessageFinish,
    PartStart,
    Result,
    RunEnded,
    StepStart,
    ToolCallPart,
    ToolSettled,
)

C = TypeVar("C")


async def all_chunks(log: RunLog) -> Sequence[Chunk]:
    return [chunk async for batch in log.read(0) for _, chunk in batch]


def summary(run: Run, chunks: Sequence[Chunk]) -> Event:
    """`{"run", "thread", "graph", "model"?, "setup"?, "state", "finish", "steps", "tool_calls",
    "failed_calls", "input_tokens", "output_tokens", "first_token_ms"?, "model_ms"?, "tool_ms",
    "run_ms", "chunks", "ended"?, "error"?}`. The run is over, and `chunks` are all of its."""
    line = {
        "run": run.start.run_id,
        "thread": run.start.key.thread_id,
        "graph": run.start.graph,
        "model": run.start.model,
        "setup": run.start.setup,
        "state": run.state,
        **_counts(chunks),
        "run_ms": round((time.monotonic() - run.started) * 1000),
        "chunks": len(chunks),
        **_end(chunks),
    }
    return Event("run ended", {key: value for key, value in line.items() if value is not None})


def _counts(chunks: Sequence[Chunk]) -> dict[str, Any]:
    finish = _first(chunks, MessageFinish)
    timing = finish.timing if finish else None
    calls = sum(isinstance(c.part, ToolCallPart) for c in chunks if isinstance(c, PartStart))
    # Those of earlier runs that this one ran, since they were approved.
    settled = [c for c in chunks if isinstance(c, ToolSettled) and c.duration_ms is not None]
    return {
        "finish": finish.reason if finish else None,
        "steps": sum(isinstance(c, StepStart) for c in chunks),
        "tool_calls": calls + len(settled),
        "failed_calls": sum(c.is_error for c in chunks if isinstance(c, Result))
        + sum(c.end != "result" for c in settled),
        "input_tokens": finish.usage.input_tokens if finish else 0,
        "output_tokens": finish.usage.output_tokens if finish else 0,
        "first_token_ms": timing.first_token_ms if timing else None,
        "model_ms": timing.model_ms if timing else None,
        "tool_ms": sum(finish.tool_ms.values()) if finish else 0,
    }


def _end(chunks: Sequence[Chunk]) -> dict[str, Any]:
    ended, error = _first(chunks, RunEnded), _first(chunks, Error)
    values = asdict(ended) if ended else {}
    return {
        "ended": {key: value for key, value in values.items() if value is not None} or None,
        "error": error.code if error else None,
    }


def _first(chunks: Sequence[Chunk], kind: type[C]) -> C | None:
    return next((chunk for chunk in chunks if isinstance(chunk, kind)), None)
