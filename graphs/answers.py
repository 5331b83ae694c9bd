"""How a tool call ends: the tool message that answers it.

The model reads `content`. The client sees `artifact`, or the JSON of `content` where there is no
artifact. How the call ended stands in `response_metadata["end"]`; without it, it is a result.
A call that failed has the same `{"error": {"code", "message", "id"?}}` for both.
"""

import json
from typing import Any, Literal, cast
from uuid import uuid4

from langchain_core.messages import ToolCall, ToolMessage

from graphs.calls import StreamedCall, dump_args

END = "end"

End = Literal["result", "error", "timeout", "cancelled", "shown"]


def answer(call: ToolCall | StreamedCall, content: str, end: End, **fields: Any) -> ToolMessage:
    id, name = (
        (call.id, call.name) if isinstance(call, StreamedCall) else (call["id"] or "", call["name"])
    )
    return ToolMessage(
        content=content,
        name=name,
        tool_call_id=id,
        id=f"tool-{uuid4()}",
        status="success" if end in ("result", "shown") else "error",
        response_metadata={} if end == "result" else {END: end},
        **fields,
    )


def failed(
    call: ToolCall | StreamedCall,
    code: str,
    message: str,
    *,
    end: End = "error",
    error_id: str | None = None,
) -> ToolMessage:
    """Answer a call with an error that model and client may read."""
    error = {"code": code, "message": message} | ({"id": error_id} if error_id else {})
    return answer(call, dump_args({"error": error}), end)


def shown(call: StreamedCall, args: dict[str, Any], filled: dict[str, Any]) -> ToolMessage:
    """Answer a UI call that needs no answer: its arguments are its result.

    `filled` are the arguments as the browser gets them; what the server filled in is not told to
    the model, which has it from where it came.
    """
    if filled == args:
        return answer(call, dump_args(args), "shown")
    return answer(call, dump_args({"status": "shown"}), "shown", artifact=filled)


def end_of(message: ToolMessage) -> End:
    default = "error" if message.status == "error" else "result"
    return cast(End, message.response_metadata.get(END, default))


def client_view(message: ToolMessage) -> Any:
    """What the client may see of an answer: JSON data."""
    if message.artifact is not None:
        return message.artifact
    try:
        return json.loads(str(message.content), parse_constant=str)
    except (ValueError, RecursionError):
        return message.text
