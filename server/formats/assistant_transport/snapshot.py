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

from turnstream.server.formats import metadata
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
    versions = metadata.versions_json(turn.versions)
    return {"id": turn.id, "role": "user", "parts": parts, **versions, **_sent(turn)}


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
    reason = turn.finish_reason
    return {
        "id": turn.id,
        "role": "assistant",
        "parts": [_part(part) for part in turn.parts],
        "steps": [_step(step) for step in turn.steps],
        **({} if reason is None else {"finishReason": reason}),
        **metadata.turn_json(turn),
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "stepId": step.step_id,
        "finishReason": step.finish_reason,
        **({} if step.usage is None else {"usage": metadata.usage_json(step.usage)}),
        **metadata.timing_json(step.timing, step.tool_ms),
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
    approval, ended = call.approval, call.end is not None
    return {
        "type": "tool-call",
        "toolCallId": call.tool_call_id,
        "toolName": call.tool_name,
        "argsText": call.args_text,
        "args": {} if call.args is None else call.args,
        "state": call.end or "pending",
        "disposition": call.disposition,
        **({} if approval is None else {"approval": metadata.approval_json(approval)}),
        **({"result": call.result, "isError": call.is_error} if ended else {}),
    }
