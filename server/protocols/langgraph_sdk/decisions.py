"""LangGraph SDK: a `resume` as decisions on the calls of our own tools that wait for an approval.

    {"decisions": [decision]}           one for each call, in the interrupt's order
    decision                            if one call waits
    {call id: decision}                 of some or all calls
    {interrupt id: any of these}

    decision = {"type": "approve"} | {"type": "reject", "message"?}
             | {"type": "edit", "edited_action": {"name", "args"}}
             | {"approved", "reason"?, "args"?}

The first form of a decision is that of LangChain's `HumanInTheLoopMiddleware` (langchain 1.4), the
second that of every other body.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from turnstream.server.protocols.fields import mapping, sequence, shown, string
from turnstream.server.protocols.langgraph_sdk.snapshot import DECISIONS, approvals_id
from turnstream.server.turns.messages import ToolCall
from turnstream.server.turns.requests import ApprovalAnswer, InvalidRequest


def decisions(value: Any, calls: Sequence[ToolCall]) -> tuple[ApprovalAnswer, ...]:
    """Raises InvalidRequest."""
    answer = mapping(value, "command.resume")
    id = approvals_id(calls)
    if len(answer) == 1 and next(iter(answer)).startswith("approval:"):
        if id not in answer:
            raise InvalidRequest(
                "unknown_interrupt",
                f"The thread has no interrupt {shown(next(iter(answer)))} that is open. It waits "
                f"for {id!r}.",
                409,
            )
        answer = mapping(answer[id], f"command.resume[{id!r}]")
    by_call = _by_call(answer, calls)
    given = [call for call in calls if call.tool_call_id in by_call]
    return tuple(_decision(call, by_call[call.tool_call_id]) for call in given)


def _by_call(answer: Mapping[str, Any], calls: Sequence[ToolCall]) -> Mapping[str, Any]:
    ids = [call.tool_call_id for call in calls]
    if answer and answer.keys() <= {*ids}:
        return answer
    given = sequence(answer["decisions"], "decisions") if "decisions" in answer else [answer]
    if len(given) != len(calls):
        raise InvalidRequest(
            "invalid_resume",
            f"{len(calls)} calls wait for an approval, command.resume decides on {len(given)}: "
            'send {"decisions": [...]} with one for each, or an object of decisions by call id.',
        )
    return dict(zip(ids, given, strict=True))


def _decision(call: ToolCall, value: Any) -> ApprovalAnswer:
    where = f"the decision on {call.tool_call_id!r}"
    fields = mapping(value, where)
    if isinstance(fields.get("approved"), bool):
        fields = {"type": "approve" if fields["approved"] else "reject", **fields}
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in _READ:
        raise InvalidRequest(
            "invalid_approval",
            f"The type of {where} is {shown(kind)}: send {', '.join(DECISIONS)}.",
        )
    return _READ[kind](call, fields, where)


def _approve(call: ToolCall, fields: Mapping[str, Any], where: str) -> ApprovalAnswer:
    args = fields.get("args")
    return ApprovalAnswer(
        call.tool_call_id,
        True,
        _reason(fields, where),
        None if args is None else mapping(args, f"args in {where}"),
        _question(call),
    )


def _reject(call: ToolCall, fields: Mapping[str, Any], where: str) -> ApprovalAnswer:
    reason = _reason(fields, where)
    return ApprovalAnswer(call.tool_call_id, False, reason, approval_id=_question(call))


def _edit(call: ToolCall, fields: Mapping[str, Any], where: str) -> ApprovalAnswer:
    edited = fields.get("edited_action", fields.get("editedAction"))
    action = mapping(edited, f"edited_action in {where}")
    name = action.get("name", call.tool_name)
    if name != call.tool_name:
        raise InvalidRequest(
            "invalid_approval",
            f"edited_action in {where} names {shown(name)}: only the arguments of "
            f"{call.tool_name!r} may be edited.",
        )
    return _approve(call, {"args": mapping(action.get("args"), f"args in {where}")}, where)


_READ: Mapping[str, Callable[[ToolCall, Mapping[str, Any], str], ApprovalAnswer]] = {
    "approve": _approve,
    "edit": _edit,
    "reject": _reject,
}


def _reason(fields: Mapping[str, Any], where: str) -> str | None:
    reason = fields.get("message", fields.get("reason"))
    return None if reason is None else string(reason, f"the reason in {where}")


def _question(call: ToolCall) -> str | None:
    return call.approval.id if call.approval else None
