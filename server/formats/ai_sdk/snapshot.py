"""AI SDK: a history to `UIMessage[]`, as `useChat` would hold it after the streams of its turns.

    {"id", "role": "user", "parts": [part], "metadata"?}
    {"id", "role": "assistant", "parts": [part], "metadata"?}

A user's parts are `text` and `file`. An assistant's are, for each step, `step-start`, then its
texts, reasonings and static `tool-<name>` parts; a call that needs an approval has `approval`, and
waits as `approval-requested`. `metadata` has `usage` (the sum over the steps),
`ended` and `error` where there is one, and `version` and `versions` of a message that has several.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from turnstream.server.formats import metadata
from turnstream.server.formats.ai_sdk.stream import call_error_text, executed_by, part_id
from turnstream.server.turns.messages import (
    AssistantTurn,
    MessagePart,
    Reasoning,
    Text,
    ToolCall,
    Turn,
    UserTurn,
)
from turnstream.server.turns.requests import ImageContent, TextContent, UserContent


def snapshot(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    return [_user(turn) if isinstance(turn, UserTurn) else _assistant(turn) for turn in turns]


def _user(turn: UserTurn) -> dict[str, Any]:
    message = {"id": turn.id, "role": "user", "parts": [_content(item) for item in turn.content]}
    versions = metadata.versions_json(turn.versions)
    return {**message, "metadata": versions} if versions else message


def _content(item: UserContent) -> dict[str, Any]:
    match item:
        case TextContent(text):
            return {"type": "text", "text": text}
        case ImageContent(url, alt):
            named = {"filename": alt} if alt else {}
            return {"type": "file", "mediaType": _media_type(url), **named, "url": url}


def _media_type(url: str) -> str:
    """The key is required; of an image on the web the type is unknown."""
    scheme, _, rest = url.partition(":")
    return rest.partition(";")[0] if scheme == "data" else "image/*"


def _assistant(turn: AssistantTurn) -> dict[str, Any]:
    message = {"id": turn.id, "role": "assistant", "parts": list(_parts(turn))}
    about = metadata.turn_json(turn)
    return {**message, "metadata": about} if about else message


def _parts(turn: AssistantTurn) -> Iterator[dict[str, Any]]:
    position = count()
    for step in turn.steps:
        yield {"type": "step-start"}
        yield from (_part(part, part_id(turn.id, next(position))) for part in step.parts)


def _part(part: MessagePart, id: str) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"type": "text", "text": text, "state": "done"}
        case Reasoning(text):
            return {"type": "reasoning", "id": id, "text": text, "state": "done"}
        case ToolCall():
            return {
                "type": f"tool-{part.tool_name}",
                "toolCallId": part.tool_call_id,
                **_call_state(part),
                **executed_by(part),
            }


def _call_state(call: ToolCall) -> dict[str, Any]:
    if call.args is None and call.end is None:
        return {"state": "input-streaming"}
    input_ = {"rawInput": call.args_text} if call.args is None else {"input": call.args}
    if call.end is None:
        return {"state": _pending_state(call), **input_, **_approval(call)}
    if call.end == "declined":
        return {"state": "output-denied", **input_, **_approval(call)}
    if call.is_error or call.args is None:
        error = {"errorText": call_error_text(call.result)}
        return {"state": "output-error", **input_, **error, **_approval(call)}
    return {"state": "output-available", **input_, "output": call.result, **_approval(call)}


def _pending_state(call: ToolCall) -> str:
    if call.approval is None:
        return "input-available"
    return "approval-requested" if call.awaits_approval else "approval-responded"


def _approval(call: ToolCall) -> dict[str, Any]:
    """`{"approval": {"id", "approved"?, "reason"?}}`, or nothing. A question that was never
    answered is no part of a call that has ended."""
    approval = call.approval
    if approval is None or (call.end and approval.approved is None):
        return {}
    decision = {"approved": approval.approved, "reason": approval.reason}
    given = {key: value for key, value in decision.items() if value is not None}
    return {"approval": {"id": approval.id, **given}}
