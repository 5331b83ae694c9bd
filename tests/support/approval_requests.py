"""The requests of a random history of approvals, and what is asked with each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.approval_laws import Asked, Taken, View
from tests.support.backend import message
from tests.support.random_approvals import (
    Act,
    Again,
    Answer,
    Choice,
    Continue,
    Decide,
    Form,
    Regenerate,
)
from turnstream.server.turns.messages import ToolCall
from turnstream.server.turns.requests import ApprovalAnswer, Branch, ToolAnswer, TurnRequest

NOBODY = "call-of-nobody"


@dataclass(frozen=True)
class Sent:
    """Decisions and answers as a client sends them."""

    decisions: Sequence[ApprovalAnswer] = ()
    form: Form = "approvals"
    selections: Sequence[str] = ()

    @property
    def request(self) -> TurnRequest:
        answers = [ToolAnswer(id, {"value": "a"}) for id in self.selections]
        if self.form == "tool_results":
            answers += [ToolAnswer(one.tool_call_id, _as_result(one)) for one in self.decisions]
            return TurnRequest(answers=tuple(answers))
        return TurnRequest(
            answers=tuple(answers),
            approvals=tuple(self.decisions),
            answers_are_copies=self.form == "copies",
        )

    def asked_of(self, view: View) -> Asked:
        """The whole request is refused where one item does not fit; a copy is passed over where its
        question is not open."""
        open_ids = {call.tool_call_id: word for word, call in view.waiting.items()}
        taken: dict[str, Taken] = {}
        fits = self.form == "copies" or set(self.selections) <= set(view.selections)
        for item in self.decisions:
            word = open_ids.get(item.tool_call_id)
            call = view.waiting.get(word or "")
            if call is None or not _names_open(item, call):
                fits = fits and self.form == "copies"
                continue
            fits = fits and word not in taken and _fits(item, call)
            args = None if item.args == call.args else item.args
            taken[word or ""] = Taken(call, item.approved, item.reason, args)
        brings = taken or set(self.selections) & set(view.selections)
        return Asked(self.request, "waits", is_accepted=fits and bool(brings), taken=taken)


def _names_open(item: ApprovalAnswer, call: ToolCall) -> bool:
    assert call.approval
    return item.approval_id in (None, call.approval.id)


def _fits(item: ApprovalAnswer, call: ToolCall) -> bool:
    return item.args is None or (item.approved and item.args.keys() == (call.args or {}).keys())


def _as_result(item: ApprovalAnswer) -> dict[str, Any]:
    given = {"approved": item.approved, "reason": item.reason, "args": item.args}
    return {key: value for key, value in given.items() if value is not None}


@dataclass
class Requests:
    """Of one thread. `numbers` are those that nothing was paid for yet."""

    numbers: Iterator[int]
    last: Sent = Sent((ApprovalAnswer(NOBODY, approved=True),))

    def of(self, act: Act, view: View) -> Asked:
        match act:
            case Decide() if view.waiting or act.stray:
                self.last = self._sent(act, view)
                return self.last.asked_of(view)
            case Again():
                return self.last.asked_of(view)
            case Answer() if view.selections:
                return Sent(selections=view.selections).asked_of(view)
            case Regenerate():
                request = TurnRequest(branch=Branch("regenerate", None))
                return Asked(request, "gone", is_accepted=bool(view.turns))
            case Continue():
                refused = not view.turns or any(
                    call.approval and call.approval.may_have_run for call in view.waiting.values()
                )
                return Asked(TurnRequest(continue_=True), "waits", False if refused else None)
        return Asked(message(), "cancelled")

    def _sent(self, act: Decide, view: View) -> Sent:
        given = zip(act.choices, view.waiting.values(), strict=False)
        decisions = [self._decision(choice, call, act.form) for choice, call in given if choice]
        if act.stray:
            settled = [call for call in view.gated.values() if not call.awaits_approval]
            decisions += [self._decision(act.stray, call, act.form) for call in settled[-1:]]
        return Sent(decisions, act.form, view.selections if act.answers else ())

    def _decision(self, choice: Choice, call: ToolCall, form: Form) -> ApprovalAnswer:
        assert call.approval
        question = {None: None, "open": call.approval.id, "another": f"{call.tool_call_id}.9"}
        return ApprovalAnswer(
            call.tool_call_id,
            choice.approved,
            choice.reason,
            self._args(choice, dict(call.args or {})),
            None if form == "tool_results" else question[choice.question],
        )

    def _args(self, choice: Choice, args: dict[str, Any]) -> dict[str, Any] | None:
        if choice.args != "other":
            return {None: None, "same": args, "misfit": {"for": "nothing"}}[choice.args]
        return {name: paid_with(name, next(self.numbers)) for name in args}


def paid_with(name: str, number: int) -> Any:
    """An argument of a gated call that no other has."""
    return number if name == "amount" else f"w{number}"
