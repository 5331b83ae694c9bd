"""Answers of clients to calls that wait for them."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import ToolCall, ToolMessage

from turnstream.graphs.answers import answer, failed
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.turns.requests import ApprovalAnswer, InvalidRequest, ToolAnswer, TurnRequest
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.strict_json import text_of


def new_answers(request: TurnRequest, state: ThreadState) -> Sequence[ToolAnswer]:
    """Return the answers that are results: to a call that waits for an approval an answer is a
    decision."""
    gated = {call["id"] for call in state.pending("approval")}
    answers = [item for item in request.answers if item.tool_call_id not in gated]
    if not request.answers_are_copies:
        return answers
    pending = {call["id"] for call in state.unanswered}
    return [
        item
        for item in answers
        # A copy of a client's answer is fine; an answer to a call of the server never is.
        if item.tool_call_id in pending
        or (state.dispositions.get(item.tool_call_id) == "server" and not item.is_any_copy)
    ]


def decisions_in(request: TurnRequest, waiting: Mapping[str, ToolCall]) -> Sequence[ApprovalAnswer]:
    """Results of calls that wait for an approval: clients without a form of their own for
    decisions send them so."""
    return [as_approval(item) for item in request.answers if item.tool_call_id in waiting]


def as_approval(item: ToolAnswer) -> ApprovalAnswer:
    """`{"approved", "reason"?, "args"?}`; an error and `{"cancelled": true}` decline. Raises
    InvalidRequest."""
    id, result = item.tool_call_id, item.taken
    if item.is_error:
        return ApprovalAnswer(id, False, result if isinstance(result, str) else None)
    match result:
        case {"cancelled": True} if len(result) == 1:
            return ApprovalAnswer(id, False)
        case {"approved": bool(approved)} if result.keys() <= {"approved", "reason", "args"}:
            reason, args = result.get("reason"), result.get("args")
            if isinstance(reason, str | None) and isinstance(args, dict | None):
                return ApprovalAnswer(id, approved, reason, args)
    raise InvalidRequest(
        "invalid_approval",
        f"The tool call {id!r} waits for an approval: its result is "
        '{"approved": true or false, "reason"?: a string, "args"?: an object}.',
    )


def result_of(item: ToolAnswer, state: ThreadState, catalogue: Catalogue) -> ToolMessage:
    """Raises InvalidRequest: 422 `invalid_answer` or that of the answer's fault; 409
    `already_answered` or `not_pending`."""
    call, result = _pending_call(item.tool_call_id, state), item.taken
    if item.is_error:
        text = result if isinstance(result, str) else text_of(result)
        return failed(call, "client_error", text)
    tool = catalogue.ui_by_name.get(call["name"])
    if tool and tool.check_answer and not _cancels(result):
        try:
            result = tool.check_answer(call["args"], result)
        except ValueError as error:
            raise InvalidRequest(
                "invalid_answer", f"The answer to {item.tool_call_id!r} does not fit. {error}"
            ) from None
    content = result if isinstance(result, str) else text_of(result)
    message = answer(call, content, "result")
    if isinstance(result, str):
        message.artifact = result
    return message


def _pending_call(id: str, state: ThreadState) -> ToolCall:
    for call in state.pending("client"):
        if call["id"] == id:
            return call
    answered = any(isinstance(m, ToolMessage) and m.tool_call_id == id for m in state.messages)
    if answered and state.dispositions.get(id) == "client":
        raise InvalidRequest(
            "already_answered", f"The tool call {id!r} has its answer; the first one counts.", 409
        )
    raise InvalidRequest(
        "not_pending",
        f"No tool call {id!r} is waiting for an answer in this thread; GET the thread to see "
        "which calls are.",
        409,
    )


def _cancels(result: Any) -> bool:
    return isinstance(result, Mapping) and dict(result) == {"cancelled": True}
