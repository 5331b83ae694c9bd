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

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field

from turnstream.server.formats.fields import (
    Fields,
    Otherwise,
    Text,
    an_object,
    read,
    shown,
)
from turnstream.server.formats.langgraph.snapshot import approvals_id
from turnstream.server.turns.messages import ToolCall
from turnstream.server.turns.requests import ApprovalAnswer, InvalidRequest


class Decisions(Fields):
    decisions: list[Any]


class Decision(Fields):
    type: Annotated[
        Literal["approve", "edit", "reject"],
        Otherwise("invalid_approval", "send approve, edit or reject"),
    ]
    message: Text | None = None
    reason: Text | None = None
    args: dict[str, Any] | None = None
    edited_action: Any = Field(None, validation_alias=AliasChoices("edited_action", "editedAction"))


class EditedAction(Fields):
    name: Any = None
    args: dict[str, Any]


def decisions(value: Any, calls: Sequence[ToolCall]) -> tuple[ApprovalAnswer, ...]:
    """Raises InvalidRequest."""
    answer = an_object(value, "command.resume")
    id = approvals_id(calls)
    if len(answer) == 1 and next(iter(answer)).startswith("approval:"):
        if id not in answer:
            raise InvalidRequest(
                "unknown_interrupt",
                f"The thread has no interrupt {shown(next(iter(answer)))} that is open. It waits "
                f"for {id!r}.",
                409,
            )
        answer = an_object(answer[id], f"command.resume[{id!r}]")
    by_call = _by_call(answer, calls)
    given = [call for call in calls if call.tool_call_id in by_call]
    return tuple(_decision(call, by_call[call.tool_call_id]) for call in given)


def _by_call(answer: Mapping[str, Any], calls: Sequence[ToolCall]) -> Mapping[str, Any]:
    ids = [call.tool_call_id for call in calls]
    if answer and answer.keys() <= {*ids}:
        return answer
    given = [answer]
    if "decisions" in answer:
        given = read(Decisions, answer, None, "command.resume").decisions
    if len(given) != len(calls):
        raise InvalidRequest(
            "invalid_resume",
            f"{len(calls)} calls wait for an approval, command.resume decides on {len(given)}: "
            'send {"decisions": [...]} with one for each, or an object of decisions by call id.',
        )
    return dict(zip(ids, given, strict=True))


def _decision(call: ToolCall, value: Any) -> ApprovalAnswer:
    where = f"The decision on {call.tool_call_id!r}"
    fields = an_object(value, where)
    if isinstance(fields.get("approved"), bool):
        fields = {"type": "approve" if fields["approved"] else "reject", **fields}
    given = read(Decision, fields, None, where)
    question = call.approval.id if call.approval else None
    reason = given.reason if given.message is None else given.message
    if given.type == "reject":
        return ApprovalAnswer(call.tool_call_id, False, reason, approval_id=question)
    args = given.args if given.type == "approve" else _edited(call, given, where)
    return ApprovalAnswer(call.tool_call_id, True, reason, args, question)


def _edited(call: ToolCall, given: Decision, where: str) -> Mapping[str, Any]:
    action = read(EditedAction, given.edited_action, None, f"{where}.edited_action")
    if action.name not in (None, call.tool_name):
        raise InvalidRequest(
            "invalid_approval",
            f"{where}.edited_action names {shown(action.name)}: only the arguments of "
            f"{call.tool_name!r} may be edited.",
        )
    return action.args
