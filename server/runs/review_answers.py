"""The decisions of a request on reviewed calls, as the answers to their interrupts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from turnstream.server.runs.client_answers import as_approval
from turnstream.server.runs.reviewed_calls import review_answer
from turnstream.server.turns.chunks import Approval, Interrupt
from turnstream.server.turns.requests import ApprovalAnswer, InvalidRequest, Resume, TurnRequest


def resuming(request: TurnRequest, interrupts: Sequence[Interrupt]) -> TurnRequest:
    """The request with `resume` in the place of its decisions on calls that these interrupts ask
    about; as it is if it has none.

    Raises InvalidRequest: 409 `not_pending` or `already_answered`; 422 `invalid_approval` or
    `conflicting_actions`.
    """
    asked = {id: question for one in interrupts for id, question in one.approvals.items()}
    given = {item.tool_call_id: item for item in _decisions(request, asked)}
    if not given:
        return request
    others = [item for item in request.answers if item.tool_call_id not in asked]
    if request.message or request.branch or (others and not request.answers_are_copies):
        raise InvalidRequest(
            "conflicting_actions",
            "The request decides on a call and has something else to do: send that when the run "
            "that the decision starts has ended.",
        )
    about = [one for one in interrupts if not given.keys().isdisjoint(one.tool_call_ids)]
    others_answered = request.resume.value if request.resume else {}
    resume = Resume({**others_answered, **{one.id: review_answer(one, given) for one in about}})
    return replace(request, answers=(), approvals=(), resume=resume)


def _decisions(request: TurnRequest, asked: Mapping[str, Approval]) -> Iterator[ApprovalAnswer]:
    if not asked:
        return
    for item in request.approvals:
        question = asked.get(item.tool_call_id)
        if question and item.approval_id in (None, question.id):
            yield item
        elif not request.answers_are_copies:
            raise _refusal(item, question)
    for answer in request.answers:
        if answer.tool_call_id in asked:
            yield as_approval(answer)


def _refusal(item: ApprovalAnswer, question: Approval | None) -> InvalidRequest:
    where = "GET the thread to see which calls wait for an approval."
    if question is None:
        sentence = f"No tool call {item.tool_call_id!r} waits for an approval; {where}"
        return InvalidRequest("not_pending", sentence, 409)
    sentence = f"That question about the tool call {item.tool_call_id!r} was answered; {where}"
    return InvalidRequest("already_answered", sentence, 409)
