"""AG-UI: a history to `Message[]`, as a client holds it after the streams of its turns.

    {"id", "role": "user", "content": text or [part]}
    {"id", "role": "assistant", "content"?, "toolCalls"?: [{"id", "type": "function", "function"}]}
    {"id", "role": "tool", "toolCallId", "content"}
    {"id", "role": "reasoning", "content"}

A tool message stands behind the assistant message that made the call. No message has an `error`: a
stream cannot give it one, so a failed call says in its `content` what failed.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from turnstream.server.formats.ag_ui.placing import StepMessages
from turnstream.server.formats.json_text import dumps
from turnstream.server.turns.messages import Reasoning, Step, Text, ToolCall, Turn, UserTurn
from turnstream.server.turns.requests import ImageContent, TextContent, UserContent

Message = dict[str, Any]


def snapshot(turns: Sequence[Turn]) -> list[Message]:
    return [message for turn in turns for message in _messages(turn)]


def _messages(turn: Turn) -> Iterator[Message]:
    if isinstance(turn, UserTurn):
        yield {"id": turn.id, "role": "user", "content": _content(turn.content)}
        return
    for step in turn.steps:
        yield from _step(step)


def _content(content: Sequence[UserContent]) -> str | list[dict[str, Any]]:
    if all(isinstance(item, TextContent) for item in content):
        return "".join(item.text for item in content if isinstance(item, TextContent))
    return [_part(item) for item in content]


def _part(item: UserContent) -> dict[str, Any]:
    match item:
        case TextContent(text):
            return {"type": "text", "text": text}
        case ImageContent(url, alt):
            named = {"metadata": {"filename": alt}} if alt else {}
            return {"type": "image", "source": _source(url), **named}


def _source(url: str) -> dict[str, str]:
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:"):
        mime_type = head.removeprefix("data:").removesuffix(";base64")
        return {"type": "data", "value": data, "mimeType": mime_type}
    return {"type": "url", "value": url}


def _step(step: Step) -> Iterator[Message]:
    messages: dict[str, Message] = {}
    results: dict[str, list[Message]] = {}
    placing = StepMessages(step.step_id)
    for part in step.parts:
        match part:
            case Reasoning(text):
                id = placing.of_reasoning()
                messages[id] = {"id": id, "role": "reasoning", "content": text}
            case Text(text):
                id = placing.of_text()
                messages[id] = {"id": id, "role": "assistant", "content": text}
            case ToolCall():
                id = placing.of_call()
                message = messages.setdefault(id, {"id": id, "role": "assistant"})
                message.setdefault("toolCalls", []).append(_call(part))
                if part.end is not None:
                    results.setdefault(id, []).append(result_message(part))
    for id, message in messages.items():
        yield message
        yield from results.get(id, ())


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.tool_name, "arguments": call.args_text}
    return {"id": call.tool_call_id, "type": "function", "function": function}


def result_message(call: ToolCall) -> Message:
    """The tool message of a call that has ended."""
    return {
        "id": result_id(call.tool_call_id, call.result_id),
        "role": "tool",
        "toolCallId": call.tool_call_id,
        "content": result_text(call.result),
    }


def result_id(tool_call_id: str, id: str | None) -> str:
    return id or f"{tool_call_id}.result"


def result_text(result: Any) -> str:
    """A string as it is, anything else as JSON."""
    return result if isinstance(result, str) else dumps(result)
