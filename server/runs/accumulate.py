"""Chunks back to the message that they tell: what a reader holds who has read them."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from server.protocols.chunks import (
    ArgsFinish,
    Chunk,
    Data,
    Error,
    MessageFinish,
    Part,
    PartStart,
    Result,
    StepFinish,
    StepStart,
    TextDelta,
    TextPart,
    ToolCallPart,
)
from server.protocols.history import (
    AssistantTurn,
    MessagePart,
    Reasoning,
    Step,
    Text,
    ToolCall,
    settled_step,
)


def accumulate(
    chunks: Iterable[Chunk], message_id: str, earlier: tuple[Step, ...] = ()
) -> AssistantTurn:
    """The message after these chunks of a run; `earlier` are its steps from runs before.

    It is running (no finish reason) until its `MessageFinish`.
    """
    said = _Said(earlier)
    for chunk in chunks:
        said.take(chunk)
    return said.turn(message_id)


class _Said:
    def __init__(self, earlier: tuple[Step, ...]) -> None:
        self._earlier = list(earlier)
        self._steps: list[Step] = []
        self._parts: list[MessagePart] = []
        self._starts: list[int] = []
        self._end: dict[str, Any] = {}

    def take(self, chunk: Chunk) -> None:
        match chunk:
            case StepStart():
                self._steps.append(Step(chunk.step_id, (), "tool-calls"))
                self._starts.append(len(self._parts))
            case PartStart():
                self._parts.append(_empty(chunk.part))
            case TextDelta() | ArgsFinish() | Result():
                (i,) = chunk.path
                self._parts[i] = _grown(self._parts[i], chunk)
            case StepFinish():
                self._steps[-1] = replace(
                    self._steps[-1],
                    finish_reason=chunk.reason,
                    usage=chunk.usage,
                    timing=chunk.timing,
                )
            case Data(name="tool-settled"):
                self._earlier = [settled_step(step, chunk.data) for step in self._earlier]
            case Data(name="run-ended"):
                self._end["ended"] = chunk.data
            case Error():
                error = {"code": chunk.code, "message": chunk.message, "id": chunk.error_id}
                self._end["error"] = error
            case MessageFinish():
                self._end["finish_reason"] = chunk.reason

    def turn(self, message_id: str) -> AssistantTurn:
        ends = [*self._starts[1:], len(self._parts)][: len(self._starts)]
        steps = (
            replace(step, parts=tuple(self._parts[start:end]))
            for step, start, end in zip(self._steps, self._starts, ends, strict=True)
        )
        return AssistantTurn(message_id, (*self._earlier, *steps), **self._end)


def _empty(part: Part) -> MessagePart:
    if isinstance(part, ToolCallPart):
        return ToolCall(part.tool_call_id, part.tool_name, "", None, part.awaits_client)
    return Text("") if isinstance(part, TextPart) else Reasoning("")


def _grown(part: MessagePart, chunk: TextDelta | ArgsFinish | Result) -> MessagePart:
    match chunk:
        case TextDelta():
            if isinstance(part, ToolCall):
                return replace(part, args_text=part.args_text + chunk.text)
            return replace(part, text=part.text + chunk.text)
        case ArgsFinish():
            assert isinstance(part, ToolCall)
            return replace(part, args=chunk.args)
        case Result():
            assert isinstance(part, ToolCall)
            return replace(
                part,
                end=chunk.end,
                result=chunk.result,
                result_id=chunk.result_id,
                duration_ms=chunk.duration_ms,
            )
