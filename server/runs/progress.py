"""What a tool says while it works, out of two of LangGraph's stream modes.

`tools` has what it says with `ToolRuntime.emit_output_delta(data)`. `custom` has what it writes
with the stream writer, which names no call by itself: `write({"tool_call_id": id, "data": data})`
is progress, anything else is the graph's own affair.
"""

import logging
from collections.abc import Container
from typing import Any

from server.turns.chunks import ToolProgress
from tools import strict_json

logger = logging.getLogger(__name__)

MAX_CHARS = 100_000
"""Of one piece of progress, as JSON."""


def progress(kind: str, data: Any, open_calls: Container[str]) -> list[ToolProgress]:
    """The chunk of a stream item that is progress of a call which is not answered yet."""
    match kind, data:
        case "tools", {"event": "tool-output-delta", "tool_call_id": id, "delta": told}:
            pass
        case "custom", {"tool_call_id": str(id), "data": told, **rest} if not rest:
            pass
        case _:
            return []
    text = _json(id, told) if id in open_calls else None
    # A copy: a tool may go on to change what it has told.
    return [] if text is None else [ToolProgress(id, strict_json.read(text))]


def _json(tool_call_id: str, told: Any) -> str | None:
    named = {"call": tool_call_id}
    try:
        text = strict_json.write(told)
    except ValueError:
        logger.warning("progress of the call %(call)s is not JSON and is dropped", named)
        return None
    if len(text) > MAX_CHARS:
        logger.warning("progress of the call %(call)s is too long and is dropped", named)
        return None
    return text
