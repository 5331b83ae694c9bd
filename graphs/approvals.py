"""Questions to people about calls, and their decisions: kept with the message of the call.

An approval holds for one run: the run that brings it. If that run is cut off before the call has
its answer, the call may have run, and a person is asked again. So a tool runs at most once for each
approval.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage

from turnstream.graphs import stored
from turnstream.graphs.answers import client_view
from turnstream.graphs.stored_approvals import AskedApproval, Decision
from turnstream.tools.strict_json import text_of

CHANGED = "A person changed the arguments of this call to "
"""With the arguments as JSON and a full stop, the first line of what the model reads of a result of
other arguments than its own."""

APPROVED_IN, ARGS_CHANGED = "approved_in", "args_changed"
"""Keys of a call on its way to the tools: the run that brought the approval, and whether the
arguments are a person's."""


def asked_in(messages: Sequence[AnyMessage]) -> dict[str, AskedApproval]:
    """By call id, of all calls of the messages that need an approval."""
    return {
        id: asked
        for message in messages
        if isinstance(message, AIMessage)
        for id, asked in stored.approvals(message).items()
    }


def question_id(call_id: str, number: int) -> str:
    """Return the id of the question that a person is asked for the n-th time, from 1."""
    return call_id if number == 1 else f"{call_id}.{number}"


def open_question(call_id: str, asked: AskedApproval) -> str:
    """The id of the question, of a call that waits."""
    return question_id(call_id, len(asked["decisions"]) + 1)


def asked_at(asked: AskedApproval) -> float:
    """Unix time at which the question was opened, of a call that waits."""
    return asked["decisions"][-1]["at"] if asked["decisions"] else asked["asked_at"]


def with_decisions(
    messages: Sequence[AnyMessage], decisions: Mapping[str, Decision]
) -> list[AIMessage]:
    """The messages whose calls are decided on, with the decisions, given by call id."""
    changed: list[AIMessage] = []
    if not decisions:
        return changed
    for message in messages:
        if isinstance(message, AIMessage):
            asked = stored.approvals(message)
            decided = {id: decisions[id] for id in asked if id in decisions}
            if decided:
                changed.append(stored.with_decisions(message, decided))
    return changed


def approved_calls(messages: Sequence[AnyMessage], run_id: str | None) -> list[ToolCall]:
    """The calls without an answer that this run brings an approval for, with the arguments that
    were approved."""
    asking = [m for m in messages if isinstance(m, AIMessage) and stored.approvals(m)]
    if not asking:
        return []
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    return [
        _approved(call, decision)
        for message in asking
        for call in message.tool_calls
        if call["id"] not in answered
        if (decision := _last_decision(message, call["id"] or ""))
        if decision["approved"] and decision["run_id"] == run_id
    ]


def _last_decision(message: AIMessage, call_id: str) -> Decision | None:
    asked = stored.approvals(message).get(call_id)
    return asked["decisions"][-1] if asked and asked["decisions"] else None


def _approved(call: ToolCall, decision: Decision) -> ToolCall:
    about = {APPROVED_IN: decision["run_id"], ARGS_CHANGED: "args" in decision}
    return cast(ToolCall, {**call, "args": decision.get("args", call["args"]), **about})


def is_approved(call: Mapping[str, Any], run_id: str | None) -> bool:
    """Check that a call on its way to the tools has the approval of this very run."""
    return run_id is not None and call.get(APPROVED_IN) == run_id


def with_note(message: ToolMessage, call: ToolCall) -> ToolMessage:
    """The result of a call, which says so if a person has put other arguments in the place of the
    model's; the client's view stays."""
    if not cast(Mapping[str, Any], call).get(ARGS_CHANGED):
        return message
    note = f"{CHANGED}{text_of(call['args'])}."
    return message.model_copy(
        update={"content": f"{note}\n{message.text}", "artifact": client_view(message)}
    )
