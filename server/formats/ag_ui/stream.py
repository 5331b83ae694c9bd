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
from typing import Any

from turnstream.server.formats.ag_ui.replay import replaced, result_of
from turnstream.server.formats.ag_ui.snapshot import StepMessages, open_interrupts, snapshot
from turnstream.server.formats.ag_ui.state import AgUiState, Payload
from turnstream.server.formats.format import StreamContext
from turnstream.server.formats.json_text import dumps, quote
from turnstream.server.formats.metadata import ended_json, given, named_data, usage_json
from turnstream.server.turns import chunks
from turnstream.server.turns.messages import ToolCall, settle_call
from turnstream.server.turns.told_thread import ToldThread, calls_of

_OpenPart = tuple[str, list[Payload]]
"""The payload of a delta, up to its text, and the events that end a text or a reasoning. A call
ends with its arguments."""


def _open(part: chunks.Part, id: str) -> tuple[list[Payload], _OpenPart]:
    """Begin a part of the message that has this id: return its first events, and the rest."""
    match part:
        case chunks.ToolCallPart(call_id, name):
            call = {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name}
            delta = _delta("TOOL_CALL_ARGS", "toolCallId", call_id)
            return [{**call, "parentMessageId": id}], (delta, [])
        case chunks.ReasoningPart():
            message = {**_edge("REASONING_MESSAGE_START", id), "role": "reasoning"}
            delta = _delta("REASONING_MESSAGE_CONTENT", "messageId", id)
            end = [_edge("REASONING_MESSAGE_END", id), _edge("REASONING_END", id)]
            return [_edge("REASONING_START", id), message], (delta, end)
    start = {**_edge("TEXT_MESSAGE_START", id), "role": "assistant"}
    delta = _delta("TEXT_MESSAGE_CONTENT", "messageId", id)
    return [start], (delta, [_edge("TEXT_MESSAGE_END", id)])


def _edge(type: str, id: str) -> Payload:
    return {"type": type, "messageId": id}


def _delta(type: str, key: str, id: str) -> str:
    # By hand, not with `dumps`: most chunks are of this kind.
    return f'{{"type":"{type}","{key}":{quote(id)},"delta":'


class AgUiEncoder:
    def __init__(self, context: StreamContext) -> None:
        self._context = context
        self._thread = ToldThread(context.turns, context.message_id)
        self._steps: dict[str, StepMessages] = {}
        self._open: dict[chunks.Path, _OpenPart] = {}
        self._calls: dict[chunks.Path, chunks.ToolCallPart] = {}
        self._earlier_calls = calls_of(context.turns)
        self._is_in_order = True
        """True while a client has the thread's messages, in the thread's order."""
        self._asked: list[chunks.Interrupt] = []
        self._last: dict[type[chunks.Chunk], Any] = {}
        """The last chunk of each type: several of them make the end."""
        self._payloads: Mapping[type[chunks.Chunk], Callable[[Any], list[Payload]]] = {
            chunks.StepStart: self._step_start,
            chunks.PartStart: self._part_start,
            chunks.ArgsFinish: self._args_finish,
            chunks.Result: self._result,
            chunks.PartFinish: lambda chunk: self._open.pop(chunk.path)[1],
            chunks.StepWithdrawn: self._disorder,
            chunks.MessagesRemoved: self._disorder,
            chunks.Interrupt: self._interrupt,
            chunks.ToolSettled: self._settled,
            chunks.ToolProgress: _custom,
            chunks.Custom: _custom,
            chunks.GraphState: AgUiState().take,
            chunks.Done: self._done,
        }

    def encode(self, chunk: chunks.Chunk) -> list[str]:
        self._thread.take(chunk)
        if type(chunk) is chunks.TextDelta:
            return [f"{self._open[chunk.path][0]}{quote(chunk.text)}}}"]
        self._last[type(chunk)] = chunk
        payloads = self._payloads.get(type(chunk))
        return [*map(dumps, payloads(chunk))] if payloads else []

    # parts

    def _step_start(self, chunk: chunks.StepStart) -> list[Payload]:
        self._steps[chunk.step_id] = StepMessages(chunk.step_id)
        return []

    def _part_start(self, chunk: chunks.PartStart) -> list[Payload]:
        messages = self._steps[chunk.step_id]
        if chunk.step_id != next(reversed(self._steps)):
            self._is_in_order = False
        if isinstance(chunk.part, chunks.ToolCallPart):
            self._calls[chunk.path] = chunk.part
        start, self._open[chunk.path] = _open(chunk.part, messages.of(chunk.part))
        return start

    def _args_finish(self, chunk: chunks.ArgsFinish) -> list[Payload]:
        return [{"type": "TOOL_CALL_END", "toolCallId": self._calls[chunk.path].tool_call_id}]

    def _result(self, chunk: chunks.Result) -> list[Payload]:
        part = self._calls[chunk.path]
        ended = {"end": chunk.end, "result": chunk.result, "result_id": chunk.result_id}
        return [result_of(ToolCall(part.tool_call_id, part.tool_name, "", None, **ended))]

    def _settled(self, chunk: chunks.ToolSettled) -> list[Payload]:
        """A client that lacks what the thread has from the beginning gets it ahead of the run."""
        call = self._earlier_calls.get(chunk.tool_call_id)
        return [] if call is None or call.end else [result_of(settle_call(call, chunk))]

    # the end

    def _disorder(self, _chunk: chunks.StepWithdrawn | chunks.MessagesRemoved) -> list[Payload]:
        self._is_in_order = False
        return []

    def _interrupt(self, chunk: chunks.Interrupt) -> list[Payload]:
        self._asked.append(chunk)
        return []

    def _done(self, _chunk: chunks.Done) -> list[Payload]:
        corrections = [] if self._is_in_order else [*replaced(snapshot(self._thread.turns()))]
        error = self._last.get(chunks.Error)
        return [*corrections, _failed(error) if error else self._finished()]

    def _finished(self) -> Payload:
        finish: chunks.MessageFinish = self._last[chunks.MessageFinish]
        ended, context = self._last.get(chunks.RunEnded), self._context
        # A run that was stopped may leave a question open: its call was approved, and did not end.
        waits = finish.reason != "stop"
        interrupts = open_interrupts(self._thread.turns(), self._asked) if waits else []
        outcome = {"type": "interrupt", "interrupts": interrupts} if interrupts else None
        return {
            "type": "RUN_FINISHED",
            "threadId": context.thread_id,
            "runId": context.run_id,
            "usage": [usage_json(finish.usage)],
            "result": given(finishReason=finish.reason, ended=ended and ended_json(ended)),
            **given(outcome=outcome),
        }


def _custom(chunk: chunks.Chunk) -> list[Payload]:
    name, value = named_data(chunk)
    return [{"type": "CUSTOM", "name": name, "value": value}]


def _failed(error: chunks.Error) -> Payload:
    """The id of the log entry goes into the sentence: the event has no other place for it."""
    logged = f" ({error.error_id})" if error.error_id else ""
    return {"type": "RUN_ERROR", "message": f"{error.message}{logged}", "code": error.code}
