"""The conditional edges: pure functions of the history."""

from collections.abc import Mapping, Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph import END
from langgraph.types import Send

from turnstream.graphs import stored
from turnstream.graphs.approvals import approved_calls
from turnstream.graphs.classify import Classifier, ends_turn
from turnstream.graphs.dispositions import of_message
from turnstream.graphs.history import pending_calls
from turnstream.graphs.no_data import fresh_misses
from turnstream.tools.contract import Disposition

AGENT, TOOLS, RECOVER = "agent", "tools", "recover"


def at_start(messages: Sequence[AnyMessage], run_id: str | None) -> list[Send] | str:
    """Return the first node of a run: the tools, with the calls that it brings approvals for, else
    the model."""
    approved = approved_calls(messages, run_id)
    return [Send(TOOLS, [call]) for call in approved] if approved else AGENT


def after_agent(messages: Sequence[AnyMessage], classifier: Classifier) -> list[Send] | str:
    """Return the node that a model's message leads to.

    Calls of real tools run, one task each, whatever is beside them. Without them a UI call, shown
    or pending, ends the turn; invalid calls (answered with their error) go back to the model; a
    message without calls ends the turn. Results that found no data are recovered from before the
    model sees them.
    """
    if fresh_misses(messages):
        return RECOVER
    message, answers = _last_step(messages)
    if message is None:
        return END
    dispositions = of_message(message, answers, classifier.fallback)
    real = [
        call
        for call in message.tool_calls
        if call["id"] not in answers and dispositions[call["id"] or ""] == "server"
    ]
    if real:
        return [Send(TOOLS, [call]) for call in real]
    return AGENT if message.tool_calls and not _ends(message, dispositions) else END


def after_tools(
    messages: Sequence[AnyMessage], classifier: Classifier, run_id: str | None = None
) -> str:
    """Back to the model with the results, unless the message also had a UI call.

    Behind a call that was approved the model goes on when no other call waits any more. Each task
    is asked with its own result alone: the calls that this run brings approvals for end in the same
    superstep.
    """
    if _was_decided(messages):
        ending = {call["id"] for call in approved_calls(messages, run_id)}
        waits = any(call["id"] not in ending for call in pending_calls(messages))
        return END if waits else AGENT
    message, answers = _last_step(messages)
    if message is None:
        return END
    return END if _ends(message, of_message(message, answers, classifier.fallback)) else AGENT


def after_recovery(messages: Sequence[AnyMessage]) -> str:
    """Back to the model, unless the user was asked."""
    message, answers = _last_step(messages)
    asked = message and any(call["id"] not in answers for call in message.tool_calls)
    return END if asked else AGENT


def _ends(message: AIMessage, dispositions: Mapping[str, Disposition]) -> bool:
    return stored.ended(message) is not None or any(map(ends_turn, dispositions.values()))


def _was_decided(messages: Sequence[AnyMessage]) -> bool:
    """Check that a person has decided on a call of the last message that made calls."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return False
        if isinstance(message, AIMessage) and message.tool_calls:
            return any(asked["decisions"] for asked in stored.approvals(message).values())
    return False


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
