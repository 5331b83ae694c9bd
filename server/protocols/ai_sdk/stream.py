"""AI SDK UI message stream v1 (checked on ai 5.0.277, 6.0.0 and 6.0.326): chunks to payloads.

Its parsers reject a null for a missing field, and some builds any key they do not know. Deliberate
departures:

1. The message's `start` is in the prologue, so that a replay can put the parts of earlier runs
   between it and the first event.
2. Arguments that are no JSON object are said once, when the call's error is known:
   `tool-input-error` carries its sentence. Until then the input is streaming.
3. `useChat` stops reading at `error`. The run's `finish` follows all the same, for other readers.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from server.protocols.ai_sdk.tool_call import (
    error_text,
    executed_by,
    input_available,
    input_delta,
    input_start,
    output,
)
from server.protocols.format import StreamContext
from server.protocols.json_text import DONE, dumps, quote
from server.protocols.metadata import (
    added_timing,
    ended_json,
    timing_json,
    total,
    total_timing,
    usage_json,
)
from server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Custom,
    Done,
    Error,
    MessageFinish,
    PartFinish,
    PartStart,
    ReasoningPart,
    Result,
    RunEnded,
    StepFinish,
    StepStart,
    TextDelta,
    ToolCallPart,
    ToolProgress,
    ToolSettled,
    Usage,
)
from server.turns.messages import AssistantTurn, Reasoning, Text, ToolCall, settle_call

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
        self._ended: RunEnded | None = None
        self._payloads: Mapping[type[Chunk], Callable[[Any], list[Payload]]] = {
            StepStart: _step_start,
            PartStart: self._part_start,
            ArgsFinish: self._args_finish,
            Result: self._result,
            PartFinish: self._part_finish,
            StepFinish: _step_finish,
            RunEnded: self._run_ended,
            ToolSettled: self._settled,
            ToolProgress: self._progress,
            Custom: _custom,
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
        if isinstance(chunk.part, ToolCallPart):
            return self._start_call(path, chunk.part)
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
        part.call = replace(
            part.call,
            args_text="".join(part.texts),
            args=chunk.args,
            disposition=chunk.disposition,
        )
        return [] if chunk.args is None else [input_available(part.call)]

    def _result(self, chunk: Result) -> list[Payload]:
        part = self._call(chunk.path[0])
        part.call = replace(part.call, end=chunk.end, result=chunk.result)
        return [output(part.call)]

    def _part_finish(self, chunk: PartFinish) -> list[Payload]:
        part = self._open.pop(chunk.path[0])
        return [part.end] if isinstance(part, _OpenText) else []

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


def _custom(chunk: Custom) -> list[Payload]:
    """Transient: for `onData`, and no part of a message, since none has it that is loaded."""
    return [{"type": "data-custom", "data": {"value": chunk.value}, "transient": True}]


def _step_start(_: StepStart) -> list[Payload]:
    return [{"type": "start-step"}]


def _step_finish(_: StepFinish) -> list[Payload]:
    return [{"type": "finish-step"}]


def _error(chunk: Error) -> list[Payload]:
    error = {"message": chunk.message, "id": chunk.error_id}
    return [{"type": "error", "errorText": error_text(error)}]


def part_id(message_id: str, position: int) -> str:
    """`position`: of the part in the whole message, over all its runs."""
    return f"{message_id}.{position}"


def _is_running(call: ToolCall) -> bool:
    return call.args is not None and call.end is None and call.disposition == "server"


def prologue(context: StreamContext, *, replay: bool) -> list[str]:
    """The message's `start`, and for a replay the parts of earlier runs."""
    earlier = context.continued if replay else None
    start = {"type": "start", "messageId": context.message_id}
    return [dumps(payload) for payload in (start, *(_replay(earlier) if earlier else ()))]


def _calls(turn: AssistantTurn | None) -> Mapping[str, ToolCall]:
    parts = turn.parts if turn else ()
    return {part.tool_call_id: part for part in parts if isinstance(part, ToolCall)}


def _replay(turn: AssistantTurn) -> Iterator[Payload]:
    """The parts of a message that earlier runs said, each in one piece."""
    position = 0
    for step in turn.steps:
        yield {"type": "start-step"}
        for part in step.parts:
            match part:
                case Text(text):
                    yield from _whole("text", part_id(turn.id, position), text)
                case Reasoning(text):
                    yield from _whole("reasoning", part_id(turn.id, position), text)
                case ToolCall():
                    yield from _whole_call(part)
            position += 1
        yield {"type": "finish-step"}


def _whole(kind: str, part_id: str, text: str) -> Iterator[Payload]:
    yield {"type": f"{kind}-start", "id": part_id}
    yield {"type": f"{kind}-delta", "id": part_id, "delta": text}
    yield {"type": f"{kind}-end", "id": part_id}


def _whole_call(call: ToolCall) -> Iterator[Payload]:
    """An answered question comes without `tool-input-available`, at which the client would call the
    app's `onToolCall`: the app has answered it."""
    if call.args is not None and call.end is not None and not executed_by(call):
        yield input_start(call)
        yield input_delta(call)
    elif call.args is not None:
        yield input_available(call)
    elif call.end is None:
        yield input_start(call)
    if call.end is not None:
        yield output(call)
