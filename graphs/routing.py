"""The conditional edges: pure functions of the history."""

from collections.abc import Collection, Sequence

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langgraph.graph import END
from langgraph.types import Send

from graphs.answers import end_of
from graphs.recovery import fresh_misses

ENDED = "ended"
"""Key in an AI message's `response_metadata`: the run ended here, `{"reason", ...}` says why."""

AGENT, TOOLS, RECOVER = "agent", "tools", "recover"


def after_agent(messages: Sequence[AnyMessage], real_tools: Collection[str]) -> list[Send] | str:
    """Where a model's message leads.

    Real calls run, one task each, whatever stands beside them. Without them a UI call, shown or
    pending, ends the turn; invalid calls (answered with their error) go back to the model; a
    message without calls ends the turn. Results that found no data are recovered from before the
    model sees them.
    """
    if fresh_misses(messages):
        return RECOVER
    message, answers = _last_step(messages)
    if message is None:
        return END
    real = [c for c in message.tool_calls if c["id"] not in answers and c["name"] in real_tools]
    if real:
        return [Send(TOOLS, [call]) for call in real]
    return AGENT if message.tool_calls and not _ends(message, answers, real_tools) else END


def after_tools(messages: Sequence[AnyMessage], real_tools: Collection[str]) -> str:
    """Back to the model with the results, unless the message also had a UI call."""
    message, answers = _last_step(messages)
    return END if message is None or _ends(message, answers, real_tools) else AGENT


def after_recovery(messages: Sequence[AnyMessage]) -> str:
    """Back to the model, unless the user was asked."""
    message, answers = _last_step(messages)
    asked = message and any(call["id"] not in answers for call in message.tool_calls)
    return END if asked else AGENT


def _ends(message: AIMessage, answers: dict[str, ToolMessage], real_tools: Collection[str]) -> bool:
    return ENDED in message.response_metadata or any(
        _is_ui(call, answers, real_tools) for call in message.tool_calls
    )


def _is_ui(call: ToolCall, answers: dict[str, ToolMessage], real_tools: Collection[str]) -> bool:
    found = answers.get(call["id"] or "")
    return call["name"] not in real_tools if found is None else end_of(found) == "shown"


def _last_step(
    messages: Sequence[AnyMessage],
) -> tuple[AIMessage | None, dict[str, ToolMessage]]:
    """The last model message and the answers to its calls so far."""
    answers: dict[str, ToolMessage] = {}
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return message, answers
        if not isinstance(message, ToolMessage):
            break
        answers[message.tool_call_id] = message
    return None, answers
