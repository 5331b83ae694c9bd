"""The state that assistant-ui's `useAssistantTransportRuntime` renders: LangChain messages.

    {"thread_id", "messages": [message], "approvals"?: {call id: approval}}

    message = {"type": "human", "id", "content"}
            | {"type": "ai", "id", "content", "tool_calls": [call]}
            | {"type": "tool", "id", "tool_call_id", "name", "content": string,
               "status": "success" | "error"}
    call    = {"type": "tool_call", "id", "name", "args", "partial_json"}

That runtime ignores part chunks and shows what `update-state` operations make of its state. An ai
message is one step, its tool messages follow in the order of its calls; a step without parts has
none. `content` is a string while the message has one text at most, else a list of blocks, one a
part. `partial_json` is the arguments' text and stays when they are complete: the runtime throws
when the text of a call does not go on as it began.

`approvals` are of the calls that need one, see `server.protocols.metadata`. A call that has its
tool message waits no more. Without any such call the object is missing, or empty.
"""

from collections.abc import Sequence
from typing import Any

from server.protocols.json_text import dumps
from server.protocols.metadata import approval_json
from server.turns.messages import (
    AssistantTurn,
    MessagePart,
    Reasoning,
    Step,
    Text,
    ToolCall,
    Turn,
    UserTurn,
)
from server.turns.requests import ImageContent, TextContent, UserContent

Json = dict[str, Any]


def snapshot(turns: Sequence[Turn], thread_id: str) -> Json:
    messages: list[Json] = []
    asked = approvals(turns)
    for turn in turns:
        match turn:
            case UserTurn():
                messages.append({"type": "human", "id": turn.id, "content": _human(turn.content)})
            case AssistantTurn():
                for step in turn.steps:
                    messages.extend(_step_messages(step))
    return {"thread_id": thread_id, "messages": messages, **({"approvals": asked} if asked else {})}


def approvals(turns: Sequence[Turn]) -> Json:
    return {
        part.tool_call_id: approval_json(part.approval)
        for turn in turns
        if isinstance(turn, AssistantTurn)
        for part in turn.parts
        if isinstance(part, ToolCall) and part.approval is not None
    }


def _human(content: Sequence[UserContent]) -> str | list[Json]:
    match content:
        case [TextContent(text)]:
            return text
        case _:
            return [_human_block(item) for item in content]


def _human_block(item: UserContent) -> Json:
    match item:
        case TextContent(text):
            return {"type": "text", "text": text}
        case ImageContent(url):
            return {"type": "image_url", "image_url": {"url": url}}


def _step_messages(step: Step) -> list[Json]:
    if not step.parts:
        return []
    calls = [part for part in step.parts if isinstance(part, ToolCall)]
    results = [tool_message(call) for call in calls if call.end is not None]
    return [ai_message(step.step_id, _content(step.parts), [call_json(c) for c in calls]), *results]


def ai_message(step_id: str, content: str | list[Json], calls: list[Json]) -> Json:
    return {"type": "ai", "id": step_id, "content": content, "tool_calls": calls}


def _content(parts: Sequence[MessagePart]) -> str | list[Json]:
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


def call_json(call: ToolCall) -> Json:
    return {
        "type": "tool_call",
        "id": call.tool_call_id,
        "name": call.tool_name,
        "args": {} if call.args is None else call.args,
        "partial_json": call.args_text,
    }


def tool_message(call: ToolCall) -> Json:
    return {
        "type": "tool",
        "id": call.result_id,
        "tool_call_id": call.tool_call_id,
        "name": call.tool_name,
        "content": call.result if isinstance(call.result, str) else dumps(call.result),
        "status": "error" if call.is_error else "success",
    }
