"""LangGraph SDK: what a submission means for its thread, which says whose checkpoint it names, what
of it is new, and which questions its `resume` answers.

A `resume` is decisions if calls of our own tools wait for an approval:

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
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field

from turnstream.server.formats.fields import Fields, Otherwise, Text, an_object, read, shown
from turnstream.server.formats.langchain_messages import Json
from turnstream.server.formats.langgraph.body import Submission, new_answers, new_message
from turnstream.server.formats.langgraph.snapshot import approvals_id, asked_calls
from turnstream.server.formats.langgraph.states import SavedThread, boundary
from turnstream.server.turns.messages import ToolCall
from turnstream.server.turns.requests import (
    ApprovalAnswer,
    Branch,
    InvalidRequest,
    Resume,
    TurnRequest,
)
from turnstream.server.turns.told_thread import calls_of


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


def turn_request(asked: Submission, thread: SavedThread, graph: str | None) -> TurnRequest:
    """`thread` is the branch of it that has the checkpoint. Raises InvalidRequest."""
    given, limits, messages = asked.messages, asked.limits, thread.messages
    place = asked.branches_at
    count = len(messages) if place is None else boundary(messages, place)
    message = new_message(given, {one["id"] for one in messages[:count]}, limits)
    is_branch = count < len(messages) or thread.head is not None
    pending = set() if is_branch else _pending(thread)
    answers = tuple(new_answers(given, pending, limits, beside_message=message is not None))
    request = replace(
        asked.request,
        thread_id=thread.thread_id,
        message=message,
        answers=answers,
        head=thread.head,
        graph=graph,
    )
    if request.resume is not None:
        return _resuming(request, request.resume, thread)
    if count < len(messages):
        return replace(request, branch=_branch(messages, count, edits=message is not None))
    if message or answers:
        return request
    if not given and thread.head is None:
        return _going_on(request, thread)
    raise InvalidRequest(
        "nothing_to_do", "The request brings nothing that the thread does not have.", 409
    )


def _pending(thread: SavedThread) -> set[str]:
    """The calls that a client may answer."""
    return {
        call.tool_call_id
        for call in calls_of(thread.turns[-1:]).values()
        if call.end is None and (call.disposition in ("client", "approval") or call.awaits_approval)
    }


def _resuming(request: TurnRequest, resume: Resume, thread: SavedThread) -> TurnRequest:
    """Answer the calls that wait for an approval, or the graph's own interrupts."""
    if request.message or request.answers:
        raise InvalidRequest(
            "conflicting_actions",
            "The body has command.resume and new messages: send one of them.",
        )
    calls = asked_calls(thread.turns)
    if not calls or thread.interrupts:
        return request
    return replace(request, resume=None, approvals=decisions(resume.value, calls))


def _going_on(request: TurnRequest, thread: SavedThread) -> TurnRequest:
    """Go on from the last checkpoint, past breakpoints too, as LangGraph does without input and
    command."""
    interrupts = thread.interrupts
    if interrupts and all(one.is_breakpoint for one in interrupts):
        return replace(request, resume=Resume({one.id: None for one in interrupts}))
    return replace(request, continue_=True)


def _branch(messages: Sequence[Json], count: int, *, edits: bool) -> Branch:
    """A message replaces the user's that follows the checkpoint; without one, the answer that
    follows is made anew, from its question on."""
    follows = messages[count]
    if edits:
        if follows["type"] != "human":
            raise InvalidRequest(
                "unsupported_checkpoint",
                "A message replaces one of the user's: take the checkpoint that is the parent of "
                "the state in which that message is first seen.",
            )
        return Branch("edit", follows["id"])
    questions = [one["id"] for one in messages[:count] if one["type"] == "human"]
    if follows["type"] == "human" or not questions:
        raise InvalidRequest(
            "nothing_to_do", "Behind this checkpoint there is no answer to make anew.", 409
        )
    return Branch("regenerate", questions[-1])


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
