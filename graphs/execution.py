"""Running one real tool: its time limit, its failures, the size of its result."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langgraph.errors import GraphInterrupt

from turnstream.graphs.answers import answer, bounded, client_view, failed
from turnstream.graphs.calls import parse_args
from turnstream.graphs.limits import Limits
from turnstream.graphs.stored import tool_metadata
from turnstream.tools import strict_json
from turnstream.tools.components import OUR_COMPONENTS
from turnstream.tools.contract import ASIDE, TIMEOUT_SECONDS
from turnstream.tools.json_size import is_larger
from turnstream.tools.strict_json import clean_text
from turnstream.tools.threads import in_thread

logger = logging.getLogger(__name__)

INNER = "inner"
"""Tag of what runs inside a tool: a model that it asks does not speak to the user."""


Drawable = Callable[[Mapping[str, Any]], list[str]]
"""Returns what can be drawn of a result, as the client may see it."""


async def execute(
    call: ToolCall,
    run: Callable[[], Awaitable[Any]],
    limits: Limits,
    drawable: Drawable = OUR_COMPONENTS.drawable,
) -> ToolMessage:
    """Run a tool and answer its call, whatever happens; only cancellation passes through, and the
    interrupt of a tool that asks the user.

    A `ToolException` is told to model and client in its own words. Of any other exception both
    get a fixed sentence and an error id, under which the log has the cause. Neither an exit nor a
    cancelled future of the tool's own can end more than its call.
    """
    start = time.monotonic()
    message = await _answered(call, run, limits, drawable)
    took = round((time.monotonic() - start) * 1000)
    message.response_metadata |= tool_metadata("result", took)
    return message


def limits_of(tool: BaseTool, limits: Limits) -> Limits:
    """The limits of one tool's calls: it may have a time limit of its own."""
    seconds = (tool.metadata or {}).get(TIMEOUT_SECONDS)
    return limits if seconds is None else replace(limits, tool_timeout_seconds=seconds)


async def _answered(
    call: ToolCall, run: Callable[[], Awaitable[Any]], limits: Limits, drawable: Drawable
) -> ToolMessage:
    try:
        async with asyncio.timeout(limits.tool_timeout_seconds) as clock:
            returned = await run()
        bounded = partial(_bounded, call, returned, limits, drawable)
        aside = isinstance(returned, ToolMessage) and (
            is_larger([returned.content, returned.artifact], *ASIDE)
        )
        return await in_thread(bounded) if aside else bounded()
    except ToolException as refusal:
        return failed(call, "tool_error", clean_text(str(refusal))[: limits.max_result_chars])
    except GraphInterrupt:
        raise
    except (Exception, SystemExit, asyncio.CancelledError) as cause:
        task = asyncio.current_task()
        if isinstance(cause, asyncio.CancelledError) and task and task.cancelling():
            raise
        if isinstance(cause, TimeoutError) and clock.expired():
            return _timed_out(call, limits)
        error_id = uuid4().hex[:12]
        named = {"tool": call["name"], "error_id": error_id}
        logger.error("tool %(tool)s failed, error %(error_id)s", named, exc_info=cause)
        return failed(call, "tool_failed", "The tool failed unexpectedly.", error_id=error_id)


def _timed_out(call: ToolCall, limits: Limits) -> ToolMessage:
    return failed(
        call,
        "tool_timeout",
        f"The tool did not finish within {limits.tool_timeout_seconds:g} seconds.",
        end="timeout",
    )


def _bounded(call: ToolCall, returned: Any, limits: Limits, drawable: Drawable) -> ToolMessage:
    """The answer, cut to what model and client may get.

    Raises TypeError or ValueError if the tool returned no tool message, or what is no JSON.
    """
    if not isinstance(returned, ToolMessage):
        raise TypeError(f"{call['name']} returned {type(returned).__name__}, not a tool message")
    content = clean_text(returned.text)
    if returned.status == "error":
        return failed(call, "tool_error", content[: limits.max_result_chars])
    view = bounded(client_view(returned), limits.max_result_bytes)
    draws = drawable(view) if isinstance(view, dict) else []
    content = _with_offer(call, content, draws, limits)
    if len(content) > limits.max_result_chars:
        cut = f"\n[cut: the first {limits.max_result_chars} of {len(content)} characters]"
        content = content[: limits.max_result_chars] + cut
    message = answer(call, content, "result")
    if client_view(message) != view:
        message.artifact = view
    return message


def _with_offer(call: ToolCall, content: str, draws: list[str], limits: Limits) -> str:
    """Return the content that the model reads of a result that has the points of a component: first
    the call's id, for `data_from`, and the components that it draws. A result that is cut anyway
    keeps the offer; one that just fits is not cut for its sake."""
    said = parse_args(content) if draws else None
    if said is None:
        return content
    offer = {"data_from": call["id"], "draws": draws}
    offered = strict_json.write(offer | said | offer)
    fits = len(offered) <= limits.max_result_chars
    return offered if fits or len(content) > limits.max_result_chars else content
