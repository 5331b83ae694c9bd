"""assistant-transport: a history to the messages that its streams would build.

    {"id", "role": "user", "parts": [part], "version"?, "versions"?}
    {"id", "role": "assistant", "parts": [part], "steps": [step],
     "finishReason"?, "usage"?, "timing"?, "ended"?, "error"?, "version"?, "versions"?}

    part = {"type": "text", "text"}
         | {"type": "image", "image": url, "alt"?}
         | {"type": "reasoning", "text"}
         | {"type": "tool-call", "toolCallId", "toolName", "argsText", "args", "state",
            "disposition", "approval"?, "result"?, "isError"?}
    step = {"stepId", "finishReason", "usage"?, "timing"?}

`parts` are those of assistant-stream's message, over all runs of the turn. `state` says how a call
stands: `pending`, or its end (`result`, `error`, `timeout`, `cancelled`, `declined`, `shown`), and
then there are `result` and `isError`. `approval` is of a call that needs one, see
`turnstream.server.formats.metadata`. `args` is `{}` when `argsText` is no JSON object.
`finishReason` is missing while the turn runs, and when a crash cut it. `usage` is the sum over the
steps, `{"inputTokens", "outputTokens"}`; `timing` is `{"firstTokenMs", "modelMs", "toolMs"}`, the
last by call id. `ended` and `error` are of turns that ended so. `versions` are of a message that
has several: their ids, and `version` is the one that is shown. Nothing is null but what a tool
said.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from turnstream.server.formats.metadata import (
    approval_json,
    ended_json,
    timing_json,
    total,
    total_timing,
    usage_json,
    versions_json,
)
from turnstream.server.turns.messages import (
    AssistantTurn,
    MessagePart,
    Reasoning,
    Step,
    Text,
    ToolCall,
    Turn,
    UserTurn,
)
from turnstream.server.turns.requests import ImageContent, TextContent, UserContent


def snapshot(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    return [_user(turn) if isinstance(turn, UserTurn) else _assistant(turn) for turn in turns]


def _user(turn: UserTurn) -> dict[str, Any]:
    parts = [_content(item) for item in turn.content]
    return {
        "id": turn.id,
        "role": "user",
        "parts": parts,
        **versions_json(turn.versions),
        **_sent(turn),
    }


def _sent(turn: UserTurn) -> dict[str, Any]:
    if turn.sent_at is None:
        return {}
    moment = datetime.fromtimestamp(turn.sent_at, UTC)
    return {"createdAt": moment.isoformat(timespec="milliseconds")}


def _content(item: UserContent) -> dict[str, Any]:
    match item:
        case TextContent(text):
            return {"type": "text", "text": text}
        case ImageContent(url, alt):
            return {"type": "image", "image": url, **({"alt": alt} if alt else {})}


def _assistant(turn: AssistantTurn) -> dict[str, Any]:
    usage = total(turn)
    optional = {
        "finishReason": turn.finish_reason,
        "usage": None if usage is None else usage_json(usage),
        "ended": ended_json(turn.ended) if turn.ended else None,
        "error": turn.error,
    }
    return {
        "id": turn.id,
        "role": "assistant",
        "parts": [_part(part) for part in turn.parts],
        "steps": [_step(step) for step in turn.steps],
        **{key: value for key, value in optional.items() if value is not None},
        **timing_json(*total_timing(turn.steps)),
        **versions_json(turn.versions),
    }


def _step(step: Step) -> dict[str, Any]:
    usage = {} if step.usage is None else {"usage": usage_json(step.usage)}
    return {
        "stepId": step.step_id,
        "finishReason": step.finish_reason,
        **usage,
        **timing_json(step.timing, step.tool_ms),
    }


def _part(part: MessagePart) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Reasoning(text):
            return {"type": "reasoning", "text": text}
        case ToolCall():
            return _tool_call(part)


def _tool_call(call: ToolCall) -> dict[str, Any]:
    part: dict[str, Any] = {
        "type": "tool-call",
        "toolCallId": call.tool_call_id,
        "toolName": call.tool_name,
        "argsText": call.args_text,
        "args": {} if call.args is None else call.args,
        "state": call.end or "pending",
        "disposition": call.disposition,
    }
    if call.approval is not None:
        part["approval"] = approval_json(call.approval)
    if call.end is None:
        return part
    return {**part, "result": call.result, "isError": call.is_error}
