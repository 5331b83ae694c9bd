"""Logs and chunks for the contract of the logs, and what its tests do with them."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from tests.support.waiting import WAIT_SECONDS
from turnstream.server.storage.run_logs import RunLog, RunLogs
from turnstream.server.turns.chunks import (
    Approval,
    ArgsFinish,
    Aside,
    Chunk,
    Custom,
    Done,
    Error,
    FilePart,
    GraphState,
    HistoryShortened,
    Interrupt,
    InterruptsDiscarded,
    MessageFinish,
    MessagesRemoved,
    PartFinish,
    PartMade,
    PartStart,
    ReasoningPart,
    Result,
    RunEnded,
    SourcePart,
    StepFinish,
    StepStart,
    StepWithdrawn,
    Substep,
    TaskFinish,
    TaskStart,
    TextDelta,
    TextPart,
    Timing,
    ToolApproval,
    ToolCallPart,
    ToolProgress,
    ToolSettled,
    Usage,
)
from turnstream.server.turns.header import RunHeader, ThreadKey

T = TypeVar("T")
PassTime = Callable[[float], Awaitable[None]]

THREAD = ThreadKey("ann", "t1")
CHUNKS: Sequence[Chunk] = (
    ToolSettled("c0", "cancelled", {"error": {"code": "not_answered", "message": "No."}}, "tool-0"),
    ToolApproval("c0", Approval("c0.2", True, True, "Ann", "Fine.", {"id": "x"})),
    ToolApproval("c0", Approval("c0.3")),
    InterruptsDiscarded(("i0",)),
    MessagesRemoved(("u0", "step-0")),
    HistoryShortened(("u1", "step-1")),
    TaskStart("t1", "router", ("sub:t1",)),
    TaskFinish("t1", "router", ("sub:t1",), ("step-0",), ("c0",), ({"todos": [{"type": "Done"}]},)),
    StepStart("u1.a", "step-0", "router", ("sub:t1",)),
    StepStart("u1.a", "step-1", "agent"),
    Aside("aside-1", "u1", "tool", "Done", "c9", "echo"),
    StepFinish("step-0", "other", Usage(0, 0)),
    StepWithdrawn("step-0", ()),
    PartStart("step-1", (0,), ReasoningPart()),
    TextDelta("step-1", (0,), "Hm.\n\u2028"),
    PartFinish("step-1", (0,)),
    PartStart("step-1", (1,), TextPart()),
    TextDelta("step-1", (1,), 'Grüße, "🙂" \\'),
    PartFinish("step-1", (1,)),
    PartStart("step-1", (2,), ToolCallPart("c1", "echo", "client")),
    TextDelta("step-1", (2,), '{"word":'),
    ArgsFinish("step-1", (2,), {"word": ["tea", None, 1.5]}, "invalid"),
    ToolProgress("c1", {"type": "Done"}),
    Substep("c1", StepStart("u1.a", "below", "model", ("tools:t1",), "researcher")),
    Substep("c1", PartStart("below", (0,), ToolCallPart("c2", "look_up"))),
    Substep("c1", ArgsFinish("below", (0,), {"type": "Done"})),
    Substep("c1", PartFinish("below", (0,))),
    Substep("c1", StepFinish("below", "tool-calls", Usage(7, 5), Timing(1, 2))),
    Custom({"type": "Done"}, "tools", ("sub:t1",)),
    GraphState({"todos": [{"type": "Done"}]}, is_whole=True),
    Result("step-1", (2,), {"path": [1]}, "error", "tool-1", 12),
    PartFinish("step-1", (2,)),
    PartMade("step-1", (4,), FilePart("data:image/png;base64,AA==", "image/png", "a.png")),
    PartMade("step-1", (3,), SourcePart("s1", "https://a.example", None)),
    StepFinish("step-1", "tool-calls", Usage(7, 5), Timing(1, 2), {"c1": 12}),
    Interrupt("i1", {"question": ["Sure?"]}, "ask", ("sub:t1",)),
    RunEnded("limit", "max_run_seconds", 0.5),
    Error("internal_error", "It broke.", None),
    MessageFinish("error", Usage(7, 5), None, {"c1": 12}),
    Done(),
)
"""The chunks of a run: one of every kind at least."""
NUMBERED = list(enumerate(CHUNKS, start=1))


def header(run_id: str = "r1", key: ThreadKey = THREAD) -> RunHeader:
    return RunHeader(
        key=key,
        run_id=run_id,
        graph="chat",
        message_id="u1.a",
        user_message_id="u1",
        wire_format="assistant-transport",
        checkpoint_id="c1",
        continues=True,
    )


async def opened(logs: RunLogs, run_id: str = "r1", key: ThreadKey = THREAD) -> RunLog:
    log = await logs.create(run_id)
    await log.open(header(run_id, key))
    return log


async def rest(log: RunLog, after: int = 0) -> list[tuple[int, Chunk]]:
    """What a reader gets from there to the end of the log."""
    async with asyncio.timeout(WAIT_SECONDS), aclosing(log.read(after)) as batches:
        return [item async for batch in batches for item in batch]


async def waiting(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task that has begun, and waits."""
    begun = asyncio.Event()

    async def begin() -> T:
        begun.set()
        async with asyncio.timeout(WAIT_SECONDS):
            return await work

    task = asyncio.create_task(begin())
    await begun.wait()
    assert not task.done()
    return task


async def got(logs: RunLogs, run_id: str) -> RunLog:
    log = await logs.get(run_id)
    assert log is not None
    return log


async def state_of(log: RunLog) -> tuple[str, int]:
    status = await log.status()
    return status.state, status.last
