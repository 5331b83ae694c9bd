"""Chunks to the message that a client has accumulated from them."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Error,
    MessageFinish,
    Part,
    PartStart,
    Result,
    RunEnded,
    StepFinish,
    StepStart,
    TextDelta,
    TextPart,
    ToolCallPart,
    ToolSettled,
)
from server.turns.messages import (
    AssistantTurn,
    MessagePart,
    Reasoning,
    Step,
    Text,
    ToolCall,
    settle_step,
)


def accumulate(
    chunks: Iterable[Chunk], message_id: str, earlier: tuple[Step, ...] = ()
) -> AssistantTurn:
    """The message after these chunks of a run; `earlier` are its steps from runs before.

    It is running (no finish reason) until its `MessageFinish`.
    """
    message = _Message(earlier)
    for chunk in chunks:
        message.take(chunk)
    return message.turn(message_id)


class _Message:
    def __init__(self, earlier: tuple[Step, ...]) -> None:
        self._earlier = list(earlier)
        self._steps: list[Step] = []
        self._parts: list[MessagePart] = []
        self._texts: list[list[str]] = []
        """Of each part, joined at the end: a part has as many deltas as its model has words."""
        self._starts: list[int] = []
        self._end: dict[str, Any] = {}

    def take(self, chunk: Chunk) -> None:
        match chunk:
            case StepStart():
                self._steps.append(Step(chunk.step_id, (), "tool-calls"))
                self._starts.append(len(self._parts))
            case PartStart():
                self._parts.append(_empty(chunk.part))
                self._texts.append([])
            case TextDelta():
                self._texts[chunk.path[0]].append(chunk.text)
            case ArgsFinish() | Result():
                (i,) = chunk.path
                self._parts[i] = _grown(self._parts[i], chunk)
            case StepFinish():
                self._steps[-1] = replace(
                    self._steps[-1],
                    finish_reason=chunk.reason,
                    usage=chunk.usage,
                    timing=chunk.timing,
                )
            case ToolSettled():
                self._earlier = [settle_step(step, chunk) for step in self._earlier]
            case RunEnded():
                self._end["ended"] = chunk
            case Error():
                error = {"code": chunk.code, "message": chunk.message, "id": chunk.error_id}
                self._end["error"] = error
            case MessageFinish():
                self._end["finish_reason"] = chunk.reason

    def turn(self, message_id: str) -> AssistantTurn:
        parts = [
            _with_text(part, "".join(texts))
            for part, texts in zip(self._parts, self._texts, strict=True)
        ]
        ends = [*self._starts[1:], len(parts)][: len(self._starts)]
        steps = (
            replace(step, parts=tuple(parts[start:end]))
            for step, start, end in zip(self._steps, self._starts, ends, strict=True)
        )
        return AssistantTurn(message_id, (*self._earlier, *steps), **self._end)


def _empty(part: Part) -> MessagePart:
    if isinstance(part, ToolCallPart):
        return ToolCall(part.tool_call_id, part.tool_name, "", None, part.disposition)
    return Text("") if isinstance(part, TextPart) else Reasoning("")


def _with_text(part: MessagePart, text: str) -> MessagePart:
    if isinstance(part, ToolCall):
        return replace(part, args_text=text)
    return replace(part, text=text)


def _grown(part: MessagePart, chunk: ArgsFinish | Result) -> MessagePart:
    assert isinstance(part, ToolCall)
    match chunk:
        case ArgsFinish():
            return replace(part, args=chunk.args, disposition=chunk.disposition)
        case Result():
            return replace(
                part,
                end=chunk.end,
                result=chunk.result,
                result_id=chunk.result_id,
                duration_ms=chunk.duration_ms,
            )
