"""assistant-transport: chunks to payloads.

The canonical part chunks of assistant-stream (0.3.44): one payload a chunk, and all a reader of
parts needs. Extra keys are allowed in this format: a step has its `stepId`, `node` and `namespace`,
a part its `stepId` if that is not the step that started last, a tool call its `disposition`, a
result its `end`, an `error` the `id` of its log entry.
"""

from collections.abc import Callable, Mapping
from typing import Any

from turnstream.server.formats.json_text import DONE, dumps, quote
from turnstream.server.formats.metadata import (
    custom_json,
    ended_json,
    graph_state_json,
    interrupt_json,
    place_json,
    settled_json,
    timing_json,
    tool_approval_json,
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
    Part,
    PartFinish,
    PartStart,
    ReasoningPart,
    Result,
    RunEnded,
    StepFinish,
    StepStart,
    StepWithdrawn,
    TextDelta,
    TextPart,
    ToolApproval,
    ToolCallPart,
    ToolProgress,
    ToolSettled,
)


class PartsEncoder:
    def __init__(self) -> None:
        self._newest: str | None = None
        """The id of the step that started last: a chunk of it needs no `stepId`."""

    def encode(self, chunk: Chunk) -> list[str]:
        match chunk:
            case TextDelta():
                return [_text_delta(chunk)]
            case StepStart():
                self._newest = chunk.step_id
            case PartStart():
                return [_part_start(chunk, self._step(chunk.step_id))]
            case StepFinish():
                return [_step_finish(chunk, self._step(chunk.step_id))]
        return [_ENCODE[type(chunk)](chunk)]

    def _step(self, step_id: str) -> dict[str, str]:
        return {} if step_id == self._newest else {"stepId": step_id}


def _step_start(chunk: StepStart) -> str:
    return dumps(
        {
            "type": "step-start",
            "messageId": chunk.message_id,
            "stepId": chunk.step_id,
            **place_json(chunk.node, chunk.namespace),
            "path": [],
        }
    )


def _part_start(chunk: PartStart, step: Mapping[str, str]) -> str:
    return dumps({"type": "part-start", "part": _part(chunk.part), **step, "path": []})


def _part(part: Part) -> dict[str, str]:
    match part:
        case TextPart():
            return {"type": "text"}
        case ReasoningPart():
            return {"type": "reasoning"}
        case ToolCallPart():
            return {
                "type": "tool-call",
                "toolCallId": part.tool_call_id,
                "toolName": part.tool_name,
                "disposition": part.disposition,
            }


def _text_delta(chunk: TextDelta) -> str:
    # By hand, not with `dumps`: most chunks are of this kind.
    return f'{{"type":"text-delta","textDelta":{quote(chunk.text)},"path":[{chunk.path[0]}]}}'


def _args_finish(chunk: ArgsFinish) -> str:
    return dumps(
        {
            "type": "tool-call-args-text-finish",
            "disposition": chunk.disposition,
            "path": chunk.path,
        }
    )


def _result(chunk: Result) -> str:
    return dumps(
        {
            "type": "result",
            "result": chunk.result,
            "isError": chunk.is_error,
            "end": chunk.end,
            "path": chunk.path,
        }
    )


def _part_finish(chunk: PartFinish) -> str:
    return dumps({"type": "part-finish", "path": chunk.path})


def _step_finish(chunk: StepFinish, step: Mapping[str, str]) -> str:
    return dumps(
        {
            "type": "step-finish",
            "finishReason": chunk.reason,
            "usage": usage_json(chunk.usage),
            **timing_json(chunk.timing, chunk.tool_ms),
            "isContinued": False,
            **step,
            "path": [],
        }
    )


def _run_ended(chunk: RunEnded) -> str:
    return _data("run-ended", ended_json(chunk))


def _tool_settled(chunk: ToolSettled) -> str:
    return _data("tool-settled", settled_json(chunk))


def _tool_approval(chunk: ToolApproval) -> str:
    return _data("tool-approval", tool_approval_json(chunk))


def _tool_progress(chunk: ToolProgress) -> str:
    return _data("tool-progress", {"tool_call_id": chunk.tool_call_id, "data": chunk.data})


def _custom(chunk: Custom) -> str:
    return _data("custom", custom_json(chunk))


def _graph_state(chunk: GraphState) -> str:
    return _data("state", graph_state_json(chunk))


def _step_withdrawn(chunk: StepWithdrawn) -> str:
    return _data("step-withdrawn", {"step_id": chunk.step_id, "parts": chunk.parts})


def _messages_removed(chunk: MessagesRemoved) -> str:
    return _data("messages-removed", {"ids": chunk.ids})


def _interrupt(chunk: Interrupt) -> str:
    return _data("interrupt", interrupt_json(chunk))


def _interrupts_discarded(chunk: InterruptsDiscarded) -> str:
    return _data("interrupts-discarded", {"ids": chunk.ids})


def _data(name: str, data: Mapping[str, Any]) -> str:
    return dumps({"type": "data", "data": [{"name": name, "data": data}], "path": []})


def _error(chunk: Error) -> str:
    logged = {} if chunk.error_id is None else {"id": chunk.error_id}
    return dumps(
        {"type": "error", "error": chunk.message, "code": chunk.code, **logged, "path": []}
    )


def _message_finish(chunk: MessageFinish) -> str:
    return dumps(
        {
            "type": "message-finish",
            "finishReason": chunk.reason,
            "usage": usage_json(chunk.usage),
            **timing_json(chunk.timing, chunk.tool_ms),
            "path": [],
        }
    )


def _done(_: Done) -> str:
    return DONE


_ENCODE: Mapping[type[Chunk], Callable[[Any], str]] = {
    StepStart: _step_start,
    ArgsFinish: _args_finish,
    Result: _result,
    PartFinish: _part_finish,
    StepWithdrawn: _step_withdrawn,
    MessagesRemoved: _messages_removed,
    Interrupt: _interrupt,
    InterruptsDiscarded: _interrupts_discarded,
    RunEnded: _run_ended,
    ToolSettled: _tool_settled,
    ToolApproval: _tool_approval,
    ToolProgress: _tool_progress,
    Custom: _custom,
    GraphState: _graph_state,
    Error: _error,
    MessageFinish: _message_finish,
    Done: _done,
}
