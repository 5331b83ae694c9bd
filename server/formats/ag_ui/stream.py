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

from turnstream.server.formats.ag_ui.interrupts import open_interrupts
from turnstream.server.formats.ag_ui.placing import StepMessages
from turnstream.server.formats.ag_ui.replay import Payload, replaced, result_of
from turnstream.server.formats.ag_ui.snapshot import snapshot
from turnstream.server.formats.ag_ui.state import AgUiState
from turnstream.server.formats.format import StreamContext
from turnstream.server.formats.json_text import dumps, quote
from turnstream.server.formats.metadata import custom_json, ended_json, usage_json
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
    Path,
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
class OpenPart:
    delta: str
    """The payload of a delta, up to its text."""
    end: list[Payload]
    """The events that end a text or a reasoning. A call ends with its arguments."""
    call: ToolCall | None = None


def open_text(id: str) -> tuple[OpenPart, list[Payload]]:
    part = OpenPart(_delta("TEXT_MESSAGE_CONTENT", "messageId", id), [_text("END", id)])
    return part, [{**_text("START", id), "role": "assistant"}]


def _text(edge: str, id: str) -> Payload:
    return {"type": f"TEXT_MESSAGE_{edge}", "messageId": id}


def open_reasoning(id: str) -> tuple[OpenPart, list[Payload]]:
    end = [_reasoning("MESSAGE_END", id), _reasoning("END", id)]
    part = OpenPart(_delta("REASONING_MESSAGE_CONTENT", "messageId", id), end)
    start = {**_reasoning("MESSAGE_START", id), "role": "reasoning"}
    return part, [_reasoning("START", id), start]


def _reasoning(edge: str, id: str) -> Payload:
    return {"type": f"REASONING_{edge}", "messageId": id}


def open_call(part: ToolCallPart, message_id: str) -> tuple[OpenPart, list[Payload]]:
    call = ToolCall(part.tool_call_id, part.tool_name, "", None, part.disposition)
    delta = _delta("TOOL_CALL_ARGS", "toolCallId", part.tool_call_id)
    start = {
        "type": "TOOL_CALL_START",
        "toolCallId": part.tool_call_id,
        "toolCallName": part.tool_name,
        "parentMessageId": message_id,
    }
    return OpenPart(delta, [], call), [start]


def _delta(type: str, key: str, id: str) -> str:
    # By hand, not with `dumps`: most chunks are of this kind.
    return f'{{"type":"{type}","{key}":{quote(id)},"delta":'


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
        self._open: dict[Path, OpenPart] = {}
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
            return [f"{self._open[chunk.path].delta}{quote(chunk.text)}}}"]
        return [dumps(payload) for payload in self._payloads[type(chunk)](chunk)]

    # parts

    def _step_start(self, chunk: StepStart) -> list[Payload]:
        self._steps[chunk.step_id] = StepMessages(chunk.step_id)
        return []

    def _part_start(self, chunk: PartStart) -> list[Payload]:
        messages = self._steps[chunk.step_id]
        if chunk.step_id != next(reversed(self._steps)):
            self._is_in_order = False
        match chunk.part:
            case ToolCallPart():
                part, start = open_call(chunk.part, messages.of_call())
            case ReasoningPart():
                part, start = open_reasoning(messages.of_reasoning())
            case _:
                part, start = open_text(messages.of_text())
        self._open[chunk.path] = part
        return start

    def _args_finish(self, chunk: ArgsFinish) -> list[Payload]:
        return [{"type": "TOOL_CALL_END", "toolCallId": self._call(chunk.path).tool_call_id}]

    def _result(self, chunk: Result) -> list[Payload]:
        ended = {"end": chunk.end, "result": chunk.result, "result_id": chunk.result_id}
        return [result_of(replace(self._call(chunk.path), **ended))]

    def _call(self, path: Path) -> ToolCall:
        call = self._open[path].call
        assert call is not None, f"part {path} is no tool call"
        return call

    def _part_finish(self, chunk: PartFinish) -> list[Payload]:
        return self._open.pop(chunk.path).end

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
