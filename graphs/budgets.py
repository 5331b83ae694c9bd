"""The budgets that a step can break. What broke is data: `reason` limit, `limit`, `value`."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

from graphs.calls import StreamedCall, dump_args, parse_args
from graphs.context import TurnContext, run_messages
from graphs.limits import Limits

Ended = dict[str, Any]


def same_call_again(
    messages: Sequence[AnyMessage],
    calls: Sequence[StreamedCall],
    context: TurnContext,
    limits: Limits,
) -> Ended | None:
    """The limit of identical calls, if one of these calls would break it."""
    seen = [
        (call["name"], dump_args(call["args"]))
        for message in run_messages(messages, context)
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]
    for call in calls:
        key = (call.name, dump_args(parse_args(call.args_text) or {}))
        if seen.count(key) >= limits.max_identical_calls:
            return limit_ended("max_identical_calls", limits.max_identical_calls)
        seen.append(key)
    return None


def last_step(messages: Sequence[AnyMessage], context: TurnContext, limits: Limits) -> Ended | None:
    """The limit of steps, if the one that was just made is the last that it allows."""
    said = [m for m in run_messages(messages, context) if isinstance(m, AIMessage)]
    if len(said) + 1 >= limits.max_steps:
        return limit_ended("max_steps", limits.max_steps)
    return None


def limit_ended(limit: str, value: float) -> Ended:
    return {"reason": "limit", "limit": limit, "value": value}
