"""The budgets that a step can break. What broke is data: `reason` limit, `limit`, `value`."""

from collections import Counter
from collections.abc import Collection, Sequence

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from turnstream.graphs import stored
from turnstream.graphs.calls import StreamedCall
from turnstream.graphs.context import TurnContext, run_messages
from turnstream.graphs.limits import Limits
from turnstream.graphs.stored import Ended
from turnstream.tools.strict_json import text_of


def same_call_again(
    messages: Sequence[AnyMessage],
    calls: Sequence[StreamedCall],
    context: TurnContext,
    limits: Limits,
) -> Ended | None:
    """The limit of identical calls, if one of these calls would break it."""
    seen = Counter(
        (call["name"], text_of(call["args"]))
        for message in run_messages(messages, context)
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    )
    for call in calls:
        key = (call.name, text_of(call.args or {}))
        if seen[key] >= limits.max_identical_calls:
            return limit_ended("max_identical_calls", limits.max_identical_calls)
        seen[key] += 1
    return None


def tool_time_spent(
    messages: Sequence[AnyMessage],
    calls: Sequence[StreamedCall],
    context: TurnContext,
    limits: Limits,
    real_tools: Collection[str],
) -> Ended | None:
    """The limit of tool seconds, if they are spent and one of these calls would take more."""
    spent = sum(
        stored.duration_ms(message) or 0
        for message in run_messages(messages, context)
        if isinstance(message, ToolMessage)
    )
    if spent < limits.max_tool_seconds * 1000:
        return None
    if not any(call.given_name in real_tools for call in calls):
        return None
    return limit_ended("max_tool_seconds", limits.max_tool_seconds)


def last_step(messages: Sequence[AnyMessage], context: TurnContext, limits: Limits) -> Ended | None:
    """The limit of steps, if the one that was just made is the last that it allows."""
    said = [m for m in run_messages(messages, context) if isinstance(m, AIMessage)]
    if len(said) + 1 >= limits.max_steps:
        return limit_ended("max_steps", limits.max_steps)
    return None


def limit_ended(limit: str, value: float) -> Ended:
    return {"reason": "limit", "limit": limit, "value": value}
