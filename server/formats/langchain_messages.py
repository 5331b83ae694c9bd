"""LangChain's messages as JSON: what two formats have of them in common.

content = string, if the message has one text at most; else a list of blocks, one a part
block   = {"type": "text", "text"} | {"type": "image_url", "image_url": {"url"},
          "metadata"?: {"name"}}
        | {"type": "reasoning", "summary": [{"type": "summary_text", "text"}]}
"""

from collections.abc import Sequence
from typing import Any

from turnstream.server.formats.json_text import dumps
from turnstream.server.turns.messages import Reasoning, Text, ToolCall, UserTurn
from turnstream.server.turns.requests import ImageContent, TextContent, UserContent

Json = dict[str, Any]


def human_message(turn: UserTurn) -> Json:
    match turn.content:
        case [TextContent(text)]:
            return {"type": "human", "id": turn.id, "content": text}
        case content:
            return {"type": "human", "id": turn.id, "content": [*map(_human_block, content)]}


def _human_block(item: UserContent) -> Json:
    match item:
        case TextContent(text):
            return {"type": "text", "text": text}
        case ImageContent(url, alt):
            named = {"metadata": {"name": alt}} if alt else {}
            return {"type": "image_url", "image_url": {"url": url}, **named}


def ai_content(parts: Sequence[Text | Reasoning | ToolCall]) -> str | list[Json]:
    """The content of a model's message; tool calls stand beside it."""
    match [part for part in parts if not isinstance(part, ToolCall)]:
        case []:
            return ""
        case [Text(text)]:
            return text
        case spoken:
            return [block(part) for part in spoken]


def block(part: Text | Reasoning) -> Json:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Reasoning(text):
            return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}


def tool_message(call: ToolCall) -> Json:
    """`{"type": "tool", "id", "tool_call_id", "name", "content": string, "status"}`, of a call that
    has its end."""
    return {
        "type": "tool",
        "id": call.result_id,
        "tool_call_id": call.tool_call_id,
        "name": call.tool_name,
        "content": call.result if isinstance(call.result, str) else dumps(call.result),
        "status": "error" if call.is_error else "success",
    }
