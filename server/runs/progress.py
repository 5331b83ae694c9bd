"""What a tool says while it works, out of two of LangGraph's stream modes.

`tools` has what it says with `ToolRuntime.emit_output_delta(data)`. `custom` has what it writes
with the stream writer, which names no call by itself: `write({"tool_call_id": id, "data": data})`
is progress, anything else is the graph's own affair.
"""

import json
import logging
from collections.abc import Container, Mapping
from typing import Any

from server.protocols.chunks import Data

logger = logging.getLogger(__name__)

MAX_CHARS = 100_000
"""Of one piece of progress, as JSON."""


def progress(kind: str, data: Any, open_calls: Container[str]) -> list[Data]:
    """The chunk of a stream item that is progress of a call which is not answered yet."""
    match kind, data:
        case "tools", {"event": "tool-output-delta", "tool_call_id": id, "delta": said}:
            pass
        case "custom", {"tool_call_id": str(id), "data": said, **rest} if not rest:
            pass
        case _:
            return []
    plain = _plain(id, said) if id in open_calls else None
    return [] if plain is None else [Data("tool-progress", {"tool_call_id": id, **plain})]


def _plain(tool_call_id: str, said: Any) -> Mapping[str, Any] | None:
    """A copy, as JSON: a tool may go on to change what it has said."""
    try:
        text = json.dumps(said, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        logger.warning("progress of the call %s is not JSON, and not told: %s", tool_call_id, error)
        return None
    if len(text) > MAX_CHARS:
        logger.warning("progress of the call %s is too long, and not told", tool_call_id)
        return None
    return {"data": json.loads(text)}
