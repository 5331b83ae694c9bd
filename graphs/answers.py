"""The end of a tool call: the tool message that answers it.

The model reads `content`. The client sees `artifact`, or the JSON of `content` where there is no
artifact. How the call ended is in the message's metadata (`turnstream.graphs.stored`).
A call that failed has the same `{"error": {"code", "message", "id"?}}` for both.
"""

import re
from typing import Any
from uuid import uuid4

from langchain_core.messages import ToolCall, ToolMessage

from turnstream.graphs import stored
from turnstream.graphs.calls import StreamedCall
from turnstream.graphs.stored import End
from turnstream.tools import strict_json
from turnstream.tools.strict_json import clean_text, text_of

_OUR_ID = re.compile(r"tool-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


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
        response_metadata=stored.tool_metadata(end),
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
    return answer(call, text_of({"error": error}), end)


def shown(call: StreamedCall, args: dict[str, Any], filled: dict[str, Any]) -> ToolMessage:
    """Answer a UI call that needs no answer: its arguments are its result.

    `filled` are the arguments as the browser gets them; what the server filled in is not told to
    the model, which has it from where it came.
    """
    if filled == args:
        return answer(call, text_of(args), "shown")
    note = {name: filled[name] for name in ("note",) if name in filled and name not in args}
    return answer(call, text_of({"status": "shown", **note}), "shown", artifact=filled)


REFUSALS = (
    "unknown_tool",
    "invalid_json",
    "invalid_arguments",
    "limit_reached",
    "tool_not_allowed",
    "approval_required",
    "limit_exceeded",
)
"""Error codes of calls that were refused instead of run, shown or asked."""


def was_refused(message: ToolMessage) -> bool:
    match client_view(message) if stored.end_of(message) == "error" else None:
        case {"error": {"code": str(code)}}:
            return code in REFUSALS
    return False


def client_view(message: ToolMessage) -> Any:
    """Return the part of an answer that the client may see, as JSON data."""
    if message.artifact is not None:
        return message.artifact
    try:
        return strict_json.read(str(message.content), constant=str)
    except ValueError:
        return message.text


def is_ours(message: ToolMessage) -> bool:
    """Check that turnstream wrote the message, and not a tool or a node of another graph."""
    return bool(_OUR_ID.fullmatch(message.id or ""))


def bounded(view: Any, max_bytes: int) -> Any:
    """A client's view as plain JSON data that a checkpoint can hold; its size if it is larger.

    Raises ValueError if it is not JSON.
    """
    plain = strict_json.read_storable(clean_text(strict_json.write(view)))
    size = len(strict_json.write_spaced(plain).encode())
    return truncated(size, max_bytes) if size > max_bytes else plain


def truncated(size: int, max_bytes: int) -> dict[str, Any]:
    """Return what the client sees of a result that is too large for it."""
    return {"truncated": True, "bytes": size, "max_bytes": max_bytes}
