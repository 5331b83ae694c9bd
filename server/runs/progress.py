"""The words of tools and nodes while they work, out of two of LangGraph's stream modes.

`tools` has what a tool says with `ToolRuntime.emit_output_delta(data)`. `custom` has what is
written to the stream writer, which names no call by itself: `{"tool_call_id": id, "data": data}` of
a call that is not answered yet is its progress; anything else is told as it is. What is dispatched
with LangChain's `adispatch_custom_event(name, data)` is written there too, as `{"name", "data"}`.
"""

import logging
from collections.abc import Container
from contextlib import suppress
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.config import get_stream_writer

from turnstream.server.turns.chunks import Custom, ToolProgress
from turnstream.tools import strict_json

logger = logging.getLogger(__name__)

MAX_CHARS = 100_000
"""Characters of one piece, as JSON."""


class DispatchedEvents(BaseCallbackHandler):
    """Writes LangChain's custom events to LangGraph's stream."""

    run_inline = True

    def on_custom_event(self, name: str, data: Any, **_about: Any) -> None:
        with suppress(RuntimeError, KeyError):  # Dispatched where no graph is at work.
            get_stream_writer()({"name": name, "data": data})


def progress(
    kind: str,
    data: Any,
    open_calls: Container[str],
    node: str | None = None,
    namespace: tuple[str, ...] = (),
) -> list[ToolProgress | Custom]:
    """The chunk of a stream item, if it is to be told. `node` is the one that is at work in the
    graph of the namespace, None if there are several."""
    match kind, data:
        case "tools", {"event": "tool-output-delta", "tool_call_id": id, "delta": told}:
            return _progress(id, told) if id in open_calls else []
        case "custom", {"tool_call_id": str(id), "data": told, **rest} if (
            not rest and id in open_calls
        ):
            return _progress(id, told)
        case "custom", value:
            copies = _copied(value, "what the graph writes to its stream")
            return [Custom(copy, node, namespace) for copy in copies]
    return []


def _progress(tool_call_id: str, told: Any) -> list[ToolProgress | Custom]:
    copies = _copied(told, f"progress of the call {tool_call_id}")
    return [ToolProgress(tool_call_id, copy) for copy in copies]


def _copied(told: Any, what: str) -> list[Any]:
    """A copy, since its author may go on to change it; none of what no client can take."""
    named = {"what": what}
    try:
        text = strict_json.write(told)
        if len(text) <= MAX_CHARS:
            return [strict_json.read(text)]
        logger.warning("%(what)s is too long and is dropped", named)
    except ValueError:
        logger.warning("%(what)s is not JSON and is dropped", named)
    return []
