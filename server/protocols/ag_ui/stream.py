"""AG-UI: chunks to events (`@ag-ui/core` 1.0.0 and 0.0.59).

    run  = RUN_STARTED MESSAGES_SNAPSHOT* (part | other)* MESSAGES_SNAPSHOT* end
    part = TEXT_MESSAGE_START _CONTENT* _END
         | REASONING_START REASONING_MESSAGE_START _CONTENT* _END REASONING_END
         | TOOL_CALL_START _ARGS* _END
    other = TOOL_CALL_RESULT | STATE_SNAPSHOT | STATE_DELTA | CUSTOM
    end  = RUN_FINISHED | RUN_ERROR

No more than both versions accept: no null, no `[DONE]`, no steps (two of one name may not be open),
no `pendingToolCallIds`, no outcome but `interrupt`. The end is that of the run's last chunk, so who
has seen its id has seen all. A run that withdraws a step, or whose steps interleave, says at its
end what the thread has: a client cannot take back a message, nor move one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from turnstream.server.protocols.ag_ui.interrupts import open_interrupts
from turnstream.server.protocols.ag_ui.open_parts import (
    OpenPart,
    open_call,
    open_reasoning,
    open_text,
)
from turnstream.server.protocols.ag_ui.placing import StepMessages
from turnstream.server.protocols.ag_ui.replay import Payload, replaced, result_of
from turnstream.server.protocols.ag_ui.snapshot import snapshot
from turnstream.server.protocols.ag_ui.state import AgUiState
from turnstream.server.protocols.format import StreamContext
from turnstream.server.protocols.json_text import dumps, quote
from turnstream.server.protocols.metadata import custom_json, ended_json, usage_json
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Custom,
    Done,
    Error,
    GraphState,
    Interrupt,
    InterruptsDiscarded,
    MessageFinish,
    MessagesRemoved,
    PartFinish,
    PartStart,
    ReasoningPart,
    Result,
    RunEnded,
    StepFinish,
    StepStart,
    StepWithdrawn,
    TextDelta,
    ToolApproval,
    ToolCallPart,
    ToolProgress,
    ToolSettled,
)
from turnstream.server.turns.messages import ToolCall, settle_call
from turnstream.server.turns.told_thread import ToldThread, calls_of


@dataclass(slots=True)
class _End:
    """What the run's last chunks say of its end."""

    ended: RunEnded | None = None
    error: Error | None = None
    finish: MessageFinish | None = None
    asked: list[Interrupt] = field(default_factory=list)


class AgUiEncoder:
    def __init__(self, context: StreamContext) -> None:
        self._context = context
        self._thread = ToldThread(context.turns, context.message_id)
        self._steps: dict[str, StepMessages] = {}
        self._latest = ""
        self._parts = 0
        self._open: dict[int, OpenPart] = {}
        self._earlier_calls = calls_of(context.turns)
        self._is_in_order = True
        """Whether a client has the thread's messages, in the thread's order."""
        self._end = _End()
        self._payloads: Mapping[type[Chunk], Callable[[Any], list[Payload]]] = {
            StepStart: self._step_start,
            PartStart: self._part_start,
            ArgsFinish: self._args_finish,
            Result: self._result,
            PartFinish: self._part_finish,
            StepFinish: _nothing,
            StepWithdrawn: self._disorder,
            MessagesRemoved: self._disorder,
            Interrupt: self._interrupt,
            InterruptsDiscarded: _nothing,
            RunEnded: self._run_ended,
            ToolSettled: self._settled,
            ToolApproval: _nothing,
            ToolProgress: _progress,
            Custom: _custom,
            GraphState: AgUiState().take,
            Error: self._error,
            MessageFinish: self._message_finish,
            Done: self._done,
        }

    def encode(self, chunk: Chunk) -> list[str]:
        self._thread.take(chunk)
        if type(chunk) is TextDelta:
            return [f"{self._open[chunk.path[0]].delta}{quote(chunk.text)}}}"]
        return [dumps(payload) for payload in self._payloads[type(chunk)](chunk)]

    # parts

    def _step_start(self, chunk: StepStart) -> list[Payload]:
        self._latest = chunk.step_id
        self._steps[chunk.step_id] = StepMessages(chunk.step_id)
        return []

    def _part_start(self, chunk: PartStart) -> list[Payload]:
        if chunk.step_id not in (None, self._latest):
            self._is_in_order = False
        number, self._parts = self._parts, self._parts + 1
        messages = self._steps[chunk.step_id or self._latest]
        match chunk.part:
            case ToolCallPart():
                self._open[number], start = open_call(chunk.part, messages.of_call())
            case ReasoningPart():
                self._open[number], start = open_reasoning(messages.of_reasoning())
            case _:
                self._open[number], start = open_text(messages.of_text())
        return start

    def _args_finish(self, chunk: ArgsFinish) -> list[Payload]:
        return [{"type": "TOOL_CALL_END", "toolCallId": self._call(chunk.path[0]).tool_call_id}]

    def _result(self, chunk: Result) -> list[Payload]:
        ended = {"end": chunk.end, "result": chunk.result, "result_id": chunk.result_id}
        return [result_of(replace(self._call(chunk.path[0]), **ended))]

    def _call(self, number: int) -> ToolCall:
        call = self._open[number].call
        assert call is not None, f"part {number} is no tool call"
        return call

    def _part_finish(self, chunk: PartFinish) -> list[Payload]:
        return self._open.pop(chunk.path[0]).end

    def _settled(self, chunk: ToolSettled) -> list[Payload]:
        """A client that lacks what the thread has from the beginning gets it ahead of the run."""
        call = self._earlier_calls.get(chunk.tool_call_id)
        return [] if call is None or call.end else [result_of(settle_call(call, chunk))]

    # the end

    def _disorder(self, _chunk: StepWithdrawn | MessagesRemoved) -> list[Payload]:
        self._is_in_order = False
        return []

    def _interrupt(self, chunk: Interrupt) -> list[Payload]:
        self._end.asked.append(chunk)
        return []

    def _run_ended(self, chunk: RunEnded) -> list[Payload]:
        self._end.ended = chunk
        return []

    def _error(self, chunk: Error) -> list[Payload]:
        self._end.error = chunk
        return []

    def _message_finish(self, chunk: MessageFinish) -> list[Payload]:
        self._end.finish = chunk
        return []

    def _done(self, _chunk: Done) -> list[Payload]:
        corrections = [] if self._is_in_order else [*replaced(snapshot(self._thread.turns()))]
        error = self._end.error
        return [*corrections, self._finished() if error is None else _failed(error)]

    def _finished(self) -> Payload:
        finish, ended = self._end.finish, self._end.ended
        assert finish is not None, "the run has no message-finish"
        context, result = self._context, {"finishReason": finish.reason}
        # A run that was stopped may leave a question open: its call was approved, and did not end.
        waits = finish.reason != "stop"
        interrupts = open_interrupts(self._thread.turns(), self._end.asked) if waits else []
        outcome = {"outcome": {"type": "interrupt", "interrupts": interrupts}}
        return {
            "type": "RUN_FINISHED",
            "threadId": context.thread_id,
            "runId": context.run_id,
            "usage": [usage_json(finish.usage)],
            "result": result if ended is None else {**result, "ended": ended_json(ended)},
            **(outcome if interrupts else {}),
        }


def _nothing(_chunk: Chunk) -> list[Payload]:
    return []


def _progress(chunk: ToolProgress) -> list[Payload]:
    value = {"tool_call_id": chunk.tool_call_id, "data": chunk.data}
    return [{"type": "CUSTOM", "name": "tool-progress", "value": value}]


def _custom(chunk: Custom) -> list[Payload]:
    return [{"type": "CUSTOM", "name": "custom", "value": custom_json(chunk)}]


def _failed(error: Error) -> Payload:
    """The id of the log entry goes into the sentence: the event has no other place for it."""
    logged = f" ({error.error_id})" if error.error_id else ""
    return {"type": "RUN_ERROR", "message": f"{error.message}{logged}", "code": error.code}
