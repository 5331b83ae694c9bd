"""LangChain's messages as JSON: what two formats have of them in common.

content = string, if the message has one text at most; else a list of blocks, one a part
block   = {"type": "text", "text", "annotations"?: [{"type": "citation", "url", "title"?}]}
        | {"type": "image_url", "image_url": {"url"}, "metadata"?: {"name"}}
        | {"type": "file", "source_type": "base64" | "url", "data" or "url", "mime_type",
           "metadata"?: {"filename"}}
        | {"type": "reasoning", "summary": [{"type": "summary_text", "text"}]}

A page that a model cites is an annotation of the last text, or of an empty one.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from turnstream.server.formats.json_text import dumps
from turnstream.server.formats.metadata import given
from turnstream.server.turns.chunks import FilePart, SourcePart
from turnstream.server.turns.messages import MessagePart, Reasoning, Text, ToolCall, UserTurn
from turnstream.server.turns.requests import ImageContent, TextContent, UserContent

Json = dict[str, Any]

REMOVED: Mapping[str, Any] = {"additional_kwargs": {"metadata": {"removed": True}}}
"""The mark of a message that the graph has removed from what its model gets. assistant-ui shows
`metadata` as the message's own."""


def human_message(turn: UserTurn) -> Json:
    content: str | list[Json] = [*map(_human_block, turn.content)]
    match turn.content:
        case [TextContent(text)]:
            content = text
    head = {"type": "human", "id": turn.id, "content": content}
    return {**head, **REMOVED} if turn.removed else head


def _human_block(item: UserContent) -> Json:
    match item:
        case TextContent(text):
            return {"type": "text", "text": text}
        case ImageContent(url, alt):
            named = {"metadata": {"name": alt}} if alt else {}
            return {"type": "image_url", "image_url": {"url": url}, **named}


def ai_content(parts: Iterable[MessagePart]) -> str | list[Json]:
    """The content of a model's message; tool calls stand beside it."""
    blocks = list[Json]()
    for part in parts:
        if isinstance(part, SourcePart):
            texts = [one for one in blocks if one["type"] == "text"]
            if not texts:
                blocks.append(block(Text("")))
            text = texts[-1] if texts else blocks[-1]
            text["annotations"] = [*text.get("annotations", ()), citation(part)]
        elif not isinstance(part, ToolCall):
            blocks.append(block(part))
    match blocks:
        case []:
            return ""
        case [{"type": "text", "text": text, **others}] if not others:
            return str(text)
    return blocks


def block(part: Text | Reasoning | FilePart) -> Json:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Reasoning(text):
            return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}
    if part.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": part.url}}
    head, comma, data = part.url.partition(";base64,")
    source = {"source_type": "base64", "data": data}
    if not comma or not head.startswith("data:"):
        source = {"source_type": "url", "url": part.url}
    named = {"metadata": {"filename": part.name}} if part.name else {}
    return {"type": "file", **source, "mime_type": part.media_type, **named}


def citation(part: SourcePart) -> Json:
    """An annotation of a text."""
    return given(type="citation", url=part.url, title=part.title)


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
