"""AG-UI: a history to `Message[]`, as a client holds it after the streams of its turns, and to the
`Interrupt`s that wait for an answer.

    {"id", "role": "user", "content": text or [part]}
    {"id", "role": "assistant", "content"?, "toolCalls"?: [{"id", "type": "function", "function"}]}
    {"id", "role": "tool", "toolCallId", "content"}
    {"id", "role": "reasoning", "content"}

In 1.0 those of subagents have a `subagentRunId` too, and stand behind the messages of the step that
has called them.

A tool message stands behind the assistant message that made the call. No message has an `error`: a
stream cannot give it one, so a failed call says in its `content` what failed. In 1.0 the `content`
of a result with media is a list of parts, like a user's.

    {"id", "reason": "tool_call", "message", "toolCallId", "responseSchema", "metadata"}
    {"id", "reason": "input_required" | "confirmation", "message"?, "toolCallId"?,
     "responseSchema"?, "metadata", "subagentRunId"?}

The first interrupt is a call that waits for an approval. Its id names the call and the question:
`approval:{call id}:{approval id}`, both percent-encoded. assistant-ui shows it as an approval only
if the schema requires nothing but `approved`. The second is an interrupt of the graph, under its
own id; a breakpoint is a `confirmation`. It names a call if the call's server asks, and in 1.0 the
subagent that asks.
"""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote, unquote

from turnstream.server.formats.ag_ui.subagents import (
    StepMessages,
    Subagent,
    asking,
    below,
    message_id,
    owner,
)
from turnstream.server.formats.json_text import dumps
from turnstream.server.formats.metadata import given, interrupt_json
from turnstream.server.turns.chunks import Interrupt
from turnstream.server.turns.messages import Reasoning, Step, Text, ToolCall, Turn, UserTurn
from turnstream.server.turns.requests import ImageContent, TextContent, UserContent
from turnstream.server.turns.told_thread import calls_of

Message = dict[str, Any]

_APPROVAL = "approval"
_DECISION = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "reason": {"type": "string"},
        "editedArgs": {"type": "object"},
    },
    "required": ["approved"],
}


def snapshot(turns: Sequence[Turn], version: str | None = None) -> list[Message]:
    """Without a version: the messages of a client that knows no subagents."""
    return [message for turn in turns for message in _messages(turn, version)]


def _messages(turn: Turn, version: str | None) -> Iterator[Message]:
    if isinstance(turn, UserTurn):
        yield {"id": turn.id, "role": "user", "content": _content(turn.content)}
        return
    for step in turn.steps:
        yield from _step(step, None, version)
        for substep, speaker in below(step) if version else ():
            yield from _step(substep, speaker, version)


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


def _step(step: Step, speaker: Subagent | None, version: str | None) -> Iterator[Message]:
    messages: dict[str, Message] = {}
    results: dict[str, list[Message]] = {}
    ids = StepMessages(step.step_id, speaker)
    for part in step.said:
        id = ids.of(part)
        match part:
            case Reasoning(text):
                messages[id] = {"id": id, "role": "reasoning", "content": text}
            case Text(text):
                messages[id] = {"id": id, "role": "assistant", "content": text}
            case ToolCall():
                message = messages.setdefault(id, {"id": id, "role": "assistant"})
                message.setdefault("toolCalls", []).append(_call(part))
                if part.end is not None:
                    results.setdefault(id, []).append(result_message(part, speaker, version))
    for id, message in messages.items():
        yield {**message, **owner(speaker)}
        yield from results.get(id, ())


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.tool_name, "arguments": call.args_text}
    return {"id": call.tool_call_id, "type": "function", "function": function}


def result_message(call: ToolCall, speaker: Subagent | None, version: str | None) -> Message:
    """The tool message of a call that has ended: a string as it is, media as parts, anything else
    as JSON."""
    parts = _result_parts(call.result) if version else None
    text = call.result if isinstance(call.result, str) else None
    return {
        "id": message_id(call.result_id or f"{call.tool_call_id}.result", speaker),
        "role": "tool",
        "toolCallId": call.tool_call_id,
        "content": parts or (dumps(call.result) if text is None else text),
        **owner(speaker),
    }


def _result_parts(result: Any) -> list[dict[str, Any]] | None:
    """The parts of a result that is a list of LangChain's content blocks, with media among them;
    None: it is something else."""
    if not isinstance(result, list):
        return None
    parts = [part for part in map(_result_part, result) if part]
    has_media = any(part["type"] != "text" for part in parts)
    return parts if has_media and len(parts) == len(result) else None


def _result_part(block: Any) -> dict[str, Any] | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
            return {"type": "image", "source": _source(url)}
        case {"type": "image" | "audio" | "video" | "file" as kind}:
            source = _block_source(block)
            return source and {"type": "document" if kind == "file" else kind, "source": source}
    return None


def _block_source(block: dict[str, Any]) -> dict[str, str] | None:
    mime_type = block.get("mime_type", block.get("mimeType"))
    match block:
        case {"url": str(url)}:
            return _source(url)
        case {"base64": str(data)} | {"data": str(data)} if isinstance(mime_type, str):
            return {"type": "data", "value": data, "mimeType": mime_type}
    return None


def open_interrupts(
    turns: Sequence[Turn], asked: Sequence[Interrupt], version: str | None = None
) -> list[dict[str, Any]]:
    """The questions that the thread waits for; `asked` are the graph's open interrupts."""
    waiting = {id: call for id, call in calls_of(turns[-1:]).items() if call.awaits_approval}
    # Of an interrupt that asks to approve calls each call is a question of its own.
    # A call that the client is to run is no question: it waits as those of the client's tools do.
    others = [
        one
        for one in asked
        if one.client_call is None
        and (not one.tool_call_ids or waiting.keys().isdisjoint(one.approvals))
    ]
    askers = asking(turns[-1:]) if version else {}
    of_graph = ({**_interrupt(one), **owner(askers.get(one.id))} for one in others)
    return [*map(_approval, waiting.values()), *of_graph]


def _approval(call: ToolCall) -> dict[str, Any]:
    assert call.approval is not None
    ids = (_APPROVAL, call.tool_call_id, call.approval.id)
    again = {"mayHaveRun": True} if call.approval.may_have_run else {}
    return {
        "id": ":".join(quote(id, safe="") for id in ids),
        "reason": "tool_call",
        "message": f"Run {call.tool_name}?",
        "toolCallId": call.tool_call_id,
        "responseSchema": _DECISION,
        "metadata": {"toolName": call.tool_name, **again},
    }


def _interrupt(interrupt: Interrupt) -> dict[str, Any]:
    reason, message = "input_required", interrupt.value
    call_id: Any = None
    schema = interrupt.response_schema
    if interrupt.is_breakpoint:
        reason, message = "confirmation", f"Go on with {interrupt.node}?"
    elif isinstance(message, dict) and message.get("type") == "elicitation":
        call_id, message = message.get("tool_call_id"), message.get("message")
    said = given(
        message=message if isinstance(message, str) else None,
        toolCallId=call_id,
        responseSchema=schema if isinstance(schema, dict) else None,
    )
    return {"id": interrupt.id, "reason": reason, **said, "metadata": interrupt_json(interrupt)}


def approval_of(interrupt_id: str) -> tuple[str, str] | None:
    """The call and the question that an id names; None if the interrupt is the graph's."""
    match interrupt_id.split(":"):
        case [kind, call_id, approval_id] if kind == _APPROVAL:
            return unquote(call_id), unquote(approval_id)
    return None
