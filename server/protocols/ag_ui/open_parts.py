"""AG-UI: the parts that are being streamed, and the events with which they begin and end."""

from dataclasses import dataclass

from turnstream.server.protocols.ag_ui.replay import Payload
from turnstream.server.protocols.json_text import quote
from turnstream.server.turns.chunks import ToolCallPart
from turnstream.server.turns.messages import ToolCall


@dataclass(slots=True)
class OpenPart:
    delta: str
    """The payload of a delta, up to its text."""
    end: list[Payload]
    """Of a text or reasoning; a call ends with its arguments."""
    call: ToolCall | None = None


def open_text(id: str) -> tuple[OpenPart, list[Payload]]:
    part = OpenPart(_delta("TEXT_MESSAGE_CONTENT", "messageId", id), [_text("END", id)])
    return part, [{**_text("START", id), "role": "assistant"}]


def _text(edge: str, id: str) -> Payload:
    return {"type": f"TEXT_MESSAGE_{edge}", "messageId": id}


def open_reasoning(id: str) -> tuple[OpenPart, list[Payload]]:
    end = [_reasoning("MESSAGE_END", id), _reasoning("END", id)]
    part = OpenPart(_delta("REASONING_MESSAGE_CONTENT", "messageId", id), end)
    start = {**_reasoning("MESSAGE_START", id), "role": "reasoning"}
    return part, [_reasoning("START", id), start]


def _reasoning(edge: str, id: str) -> Payload:
    return {"type": f"REASONING_{edge}", "messageId": id}


def open_call(part: ToolCallPart, message_id: str) -> tuple[OpenPart, list[Payload]]:
    call = ToolCall(part.tool_call_id, part.tool_name, "", None, part.disposition)
    delta = _delta("TOOL_CALL_ARGS", "toolCallId", part.tool_call_id)
    start = {
        "type": "TOOL_CALL_START",
        "toolCallId": part.tool_call_id,
        "toolCallName": part.tool_name,
        "parentMessageId": message_id,
    }
    return OpenPart(delta, [], call), [start]


def _delta(type: str, key: str, id: str) -> str:
    # By hand, not with `dumps`: most chunks are of this kind.
    return f'{{"type":"{type}","{key}":{quote(id)},"delta":'
