"""assistant-transport: chunks to payloads.

The canonical part chunks of assistant-stream (0.3.44): one payload a chunk, and all a reader of
parts needs. Extra keys are allowed in this format: an `error` also has the `id` of its log entry.
"""

from collections.abc import Callable, Mapping
from typing import Any

from server.protocols.chunks import (
    ArgsFinish,
    Chunk,
    Data,
    Done,
    Error,
    MessageFinish,
    Part,
    PartFinish,
    PartStart,
    ReasoningPart,
    Result,
    StepFinish,
    StepStart,
    TextDelta,
    TextPart,
    ToolCallPart,
)
from server.protocols.frames import DONE, dumps, quote
from server.protocols.usage import timing_json, usage_json


class PartsEncoder:
    def prologue(self) -> list[str]:
        return []

    def encode(self, chunk: Chunk) -> list[str]:
        return [_ENCODE[type(chunk)](chunk)]


def _step_start(chunk: StepStart) -> str:
    return dumps({"type": "step-start", "messageId": chunk.message_id, "path": []})


def _part_start(chunk: PartStart) -> str:
    return dumps({"type": "part-start", "part": _part(chunk.part), "path": []})


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
            }


def _text_delta(chunk: TextDelta) -> str:
    # By hand, not with `dumps`: most chunks are of this kind.
    return f'{{"type":"text-delta","textDelta":{quote(chunk.text)},"path":[{chunk.path[0]}]}}'


def _args_finish(chunk: ArgsFinish) -> str:
    return dumps({"type": "tool-call-args-text-finish", "path": chunk.path})


def _result(chunk: Result) -> str:
    return dumps(
        {
            "type": "result",
            "result": chunk.result,
            "isError": chunk.is_error,
            "path": chunk.path,
        }
    )


def _part_finish(chunk: PartFinish) -> str:
    return dumps({"type": "part-finish", "path": chunk.path})


def _step_finish(chunk: StepFinish) -> str:
    return dumps(
        {
            "type": "step-finish",
            "finishReason": chunk.reason,
            "usage": usage_json(chunk.usage),
            **timing_json(chunk.timing, chunk.tool_ms),
            "isContinued": False,
            "path": [],
        }
    )


def _data(chunk: Data) -> str:
    return dumps({"type": "data", "data": [{"name": chunk.name, "data": chunk.data}], "path": []})


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
    PartStart: _part_start,
    TextDelta: _text_delta,
    ArgsFinish: _args_finish,
    Result: _result,
    PartFinish: _part_finish,
    StepFinish: _step_finish,
    Data: _data,
    Error: _error,
    MessageFinish: _message_finish,
    Done: _done,
}
