"""AI SDK UI message stream v1 (checked on ai 5.0.277, 6.0.0, 6.0.326, 7.0.173): chunks to payloads.

Its parsers reject a null for a missing field, and some builds any key they do not know. Deliberate
departures:

1. The message's `start` is in the prologue (`turnstream.server.protocols.ai_sdk.replay`), so that
   a replay can put the parts of earlier runs between it and the first event.
2. Arguments that are no JSON object are said once, when the call's error is known:
   `tool-input-error` carries its sentence. Until then the input is streaming.
3. `useChat` stops reading at `error`. The run's `finish` follows all the same, for other readers.
4. Version 5 has no approvals: it fails at `tool-approval-request`, and at `tool-output-denied`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from turnstream.server.protocols.ai_sdk import transient
from turnstream.server.protocols.ai_sdk.told_parts import ToldParts
from turnstream.server.protocols.ai_sdk.tool_call import (
    approval_request,
    error_text,
    input_available,
    input_start,
    output,
)
from turnstream.server.protocols.format import StreamContext
from turnstream.server.protocols.json_text import DONE, dumps, quote
from turnstream.server.protocols.metadata import (
    added_timing,
    ended_json,
    timing_json,
    total,
    total_timing,
    usage_json,
)
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
    Usage,
)
from turnstream.server.turns.messages import AssistantTurn, ToolCall, settle_call, with_args

Payload = dict[str, Any]


@dataclass(slots=True)
class _OpenText:
    """`delta`: the payload of a delta up to its text; `end`: what closes the part."""

    delta: str
    end: Payload


@dataclass(slots=True)
class _OpenCall:
    delta: str
    call: ToolCall
    texts: list[str]


class UIMessageStreamEncoder:
    def __init__(self, context: StreamContext) -> None:
        earlier = context.continued
        self._message_id = context.message_id
        self._first = 0 if earlier is None else len(earlier.parts)
        self._usage = total(earlier) or Usage(0, 0)
        self._timing = total_timing(() if earlier is None else earlier.steps)
        self._earlier_calls = _calls(earlier)
        self._started = 0
        self._open: dict[int, _OpenText | _OpenCall] = {}
        self._told = ToldParts(context.run_id)
        self._ended: RunEnded | None = None
        self._payloads: Mapping[type[Chunk], Callable[[Any], list[Payload]]] = {
            StepStart: self._told.start,
            PartStart: self._part_start,
            ArgsFinish: self._args_finish,
            Result: self._result,
            PartFinish: self._part_finish,
            StepFinish: self._step_finish,
            StepWithdrawn: self._told.withdraw,
            MessagesRemoved: transient.messages_removed,
            Interrupt: self._interrupt,
            InterruptsDiscarded: transient.interrupts_discarded,
            RunEnded: self._run_ended,
            ToolSettled: self._settled,
            ToolApproval: self._approval,
            ToolProgress: self._progress,
            Custom: transient.custom,
            GraphState: transient.ToldGraphState().take,
            Error: _error,
            MessageFinish: self._message_finish,
        }

    def encode(self, chunk: Chunk) -> list[str]:
        if type(chunk) is TextDelta:
            return [self._text_delta(chunk)]
        if type(chunk) is Done:
            return [DONE]
        return [dumps(payload) for payload in self._payloads[type(chunk)](chunk)]

    def _text_delta(self, chunk: TextDelta) -> str:
        part = self._open[chunk.path[0]]
        if type(part) is _OpenCall:
            part.texts.append(chunk.text)
        return f"{part.delta}{quote(chunk.text)}}}"

    def _part_start(self, chunk: PartStart) -> list[Payload]:
        path, self._started = self._started, self._started + 1
        told_again = self._told.add(path, chunk.part)
        if isinstance(chunk.part, ToolCallPart):
            return self._start_call(path, chunk.part) + told_again
        kind = "reasoning" if isinstance(chunk.part, ReasoningPart) else "text"
        id = part_id(self._message_id, self._first + path)
        delta = f'{{"type":"{kind}-delta","id":{quote(id)},"delta":'
        self._open[path] = _OpenText(delta, end={"type": f"{kind}-end", "id": id})
        return [{"type": f"{kind}-start", "id": id}]

    def _start_call(self, path: int, part: ToolCallPart) -> list[Payload]:
        call = ToolCall(part.tool_call_id, part.tool_name, "", None, part.disposition)
        known = f'"toolCallId":{quote(part.tool_call_id)}'
        delta = f'{{"type":"tool-input-delta",{known},"inputTextDelta":'
        self._open[path] = _OpenCall(delta, call, texts=[])
        return [input_start(call)]

    def _args_finish(self, chunk: ArgsFinish) -> list[Payload]:
        part = self._call(chunk.path[0])
        part.call = with_args(replace(part.call, args_text="".join(part.texts)), chunk)
        return [] if chunk.args is None else [input_available(part.call)]

    def _result(self, chunk: Result) -> list[Payload]:
        part = self._call(chunk.path[0])
        part.call = replace(part.call, end=chunk.end, result=chunk.result)
        return [output(part.call)]

    def _part_finish(self, chunk: PartFinish) -> list[Payload]:
        part = self._open.pop(chunk.path[0])
        if isinstance(part, _OpenText):
            return [part.end, *self._finish_steps()]
        return _approval_requests(part.call)

    def _step_finish(self, chunk: StepFinish) -> list[Payload]:
        self._told.finish(chunk)
        return self._finish_steps()

    def _finish_steps(self) -> list[Payload]:
        """At `finish-step` the client lets go of all open texts, those of other steps too."""
        if any(isinstance(part, _OpenText) for part in self._open.values()):
            return []
        return self._told.finish_steps()

    def _call(self, path: int) -> _OpenCall:
        part = self._open[path]
        assert isinstance(part, _OpenCall), f"part {path} is no tool call"
        return part

    def _run_ended(self, chunk: RunEnded) -> list[Payload]:
        self._ended = chunk
        return []

    def _settled(self, chunk: ToolSettled) -> list[Payload]:
        # The client throws at an output for a call of any message but this one.
        call = self._earlier_calls.get(chunk.tool_call_id)
        return [] if call is None else [output(settle_call(call, chunk))]

    def _approval(self, chunk: ToolApproval) -> list[Payload]:
        """That a call was decided on, its end says; the client that decided has its decision."""
        call = self._earlier_calls.get(chunk.tool_call_id)
        requests = [] if call is None else _approval_requests(settle_call(call, chunk))
        return [*requests, *transient.tool_approval(chunk)]

    def _interrupt(self, chunk: Interrupt) -> list[Payload]:
        requests = [
            approval_request(id, question)
            for id, question in chunk.approvals.items()
            if id in self._earlier_calls or id in self._told.calls
        ]
        return [*requests, *transient.interrupt(chunk)]

    def _progress(self, chunk: ToolProgress) -> list[Payload]:
        """An interim output, of a call that runs: elsewhere it would pass for its answer."""
        return [
            {**output(replace(call, end="result", result=chunk.data)), "preliminary": True}
            for call in (part.call for part in self._open.values() if isinstance(part, _OpenCall))
            if call.tool_call_id == chunk.tool_call_id and _is_running(call)
        ]

    def _message_finish(self, chunk: MessageFinish) -> list[Payload]:
        metadata: Payload = {
            "usage": usage_json(self._usage + chunk.usage),
            **timing_json(*added_timing(self._timing, chunk.timing, chunk.tool_ms)),
        }
        finish = {"type": "finish", "finishReason": chunk.reason, "messageMetadata": metadata}
        if self._ended is None:
            return [finish]
        metadata["ended"] = ended_json(self._ended)
        return [{"type": "abort"}, finish]


def _error(chunk: Error) -> list[Payload]:
    error = {"message": chunk.message, "id": chunk.error_id}
    return [{"type": "error", "errorText": error_text(error)}]


def _approval_requests(call: ToolCall) -> list[Payload]:
    if call.approval is None or not call.awaits_approval:
        return []
    return [approval_request(call.tool_call_id, call.approval)]


def _is_running(call: ToolCall) -> bool:
    return call.args is not None and call.end is None and call.disposition == "server"


def part_id(message_id: str, position: int) -> str:
    """`position`: of the part in the whole message, over all its runs."""
    return f"{message_id}.{position}"


def _calls(turn: AssistantTurn | None) -> Mapping[str, ToolCall]:
    parts = turn.parts if turn else ()
    return {part.tool_call_id: part for part in parts if isinstance(part, ToolCall)}
