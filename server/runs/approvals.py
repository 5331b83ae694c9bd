"""Decisions of a request on calls that wait for an approval."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool

from turnstream.graphs.answers import failed
from turnstream.graphs.approvals import asked_at, asked_in, open_question, with_decisions
from turnstream.graphs.classify import check_args
from turnstream.graphs.stored_approvals import AskedApproval, Decision
from turnstream.server.callers.principal import Principal
from turnstream.server.runs.approval_view import decided_approval
from turnstream.server.runs.client_answers import decisions_in
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.turns.chunks import Approval, ToolApproval
from turnstream.server.turns.requests import ApprovalAnswer, InvalidRequest, TurnRequest
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.strict_json import read_storable, write

MAY_HAVE_RUN = "The call was approved, and may have run before its run was cut off."

NEVER = 0.0
"""Seconds after which a question expires: it does not."""


@dataclass(frozen=True, slots=True)
class Decider:
    """The person who decides, and the run that brings the decision."""

    principal: Principal
    run_id: str
    expire_seconds: float = NEVER
    may_approve: Callable[[str], bool] = lambda _tool: True
    """Checks that they may approve a call of the tool of this name; anybody who decides may
    decline."""
    stopped: Collection[str] = ()
    """The runs that the request has stopped: a question that this has opened is not what it
    answers, unless it says so."""


@dataclass(frozen=True, slots=True)
class Decided:
    """`messages` are those of the calls, with the decisions; `answers` end the declined calls."""

    messages: Sequence[AIMessage] = ()
    answers: Sequence[ToolMessage] = ()
    approvals: tuple[ToolApproval, ...] = ()

    @property
    def approved(self) -> list[str]:
        """The ids of the calls that are to run."""
        return [item.tool_call_id for item in self.approvals if item.approval.approved]


def decide(
    request: TurnRequest, state: ThreadState, catalogue: Catalogue, decider: Decider
) -> Decided:
    """Raises InvalidRequest: 409 `not_pending`, `already_answered`, `approval_expired` or
    `unknown_tool`; 422 `invalid_arguments` or `invalid_approval`; 403 `forbidden`."""
    asked = state.asked
    pending = state.pending("approval")
    waiting = {id: call for call in pending if (id := call["id"] or "") in asked}
    given = [*request.approvals, *decisions_in(request, waiting)]
    if request.answers_are_copies:
        given = [
            item
            for item in given
            if (id := item.tool_call_id) in waiting and _means(item, asked[id], decider)
        ]
    if len({item.tool_call_id for item in given}) < len(given):
        raise InvalidRequest("already_answered", "The request decides on a call twice.", 409)
    decisions: dict[str, Decision] = {}
    answers = []
    for item in given:
        _check_open(item, state, waiting, asked, decider)
        call = waiting[item.tool_call_id]
        decisions[item.tool_call_id] = _decision(item, call, catalogue, decider)
        if not item.approved:
            answers.append(_declined(call, item.reason, asked[item.tool_call_id]))
    messages = with_decisions(state.messages, decisions)
    return Decided(messages, answers, tuple(_told(messages, decisions)))


def _check_open(
    item: ApprovalAnswer,
    state: ThreadState,
    waiting: Mapping[str, ToolCall],
    asked: Mapping[str, AskedApproval],
    decider: Decider,
) -> None:
    id = item.tool_call_id
    if id in waiting:
        if not _means(item, asked[id], decider):
            raise InvalidRequest(
                "already_answered",
                f"That question about the tool call {id!r} was answered, and is asked anew; GET "
                "the thread for the one that is open.",
                409,
            )
        if has_expired(asked[id], decider.expire_seconds):
            raise InvalidRequest(
                "approval_expired",
                f"The time to decide on the tool call {id!r} is over; send a message instead.",
                409,
            )
        return
    answered = any(isinstance(m, ToolMessage) and m.tool_call_id == id for m in state.messages)
    if answered and id in asked:
        raise InvalidRequest(
            "already_answered", f"The tool call {id!r} was decided on; the first one counts.", 409
        )
    raise InvalidRequest(
        "not_pending",
        f"No tool call {id!r} is waiting for an approval in this thread; GET the thread to see "
        "which calls are.",
        409,
    )


def _means(item: ApprovalAnswer, asked: AskedApproval, decider: Decider) -> bool:
    """Check that the decision is on the question that is open."""
    if item.asked_at not in (None, asked_at(asked)):
        return False
    if item.approval_id is None:
        return all(decision["run_id"] not in decider.stopped for decision in asked["decisions"])
    return item.approval_id == open_question(item.tool_call_id, asked)


def check_no_approval_pending(state: ThreadState) -> None:
    """A run goes on past no approval. What a crash left unfinished beside an undecided call goes
    on; a call that was approved does not. Raises InvalidRequest."""
    pending = state.pending("approval")
    if pending and (not state.unfinished or any(may_have_run(call, state) for call in pending)):
        raise InvalidRequest(
            "approval_pending",
            f"The call {pending[0]['id']!r} of {pending[0]['name']!r} waits for an approval: send "
            '{"approvals": [{"tool_call_id", "approved": true or false}]}, or a message, which '
            "cancels the call.",
            409,
        )


def may_have_run(call: ToolCall, state: ThreadState) -> bool:
    """Check that a call without an answer was approved, and its run cut off."""
    asked = state.asked.get(call["id"] or "")
    return bool(asked and asked["decisions"])


def expired(calls: Sequence[ToolCall], state: ThreadState, decider: Decider) -> list[ToolMessage]:
    """The ends of those calls whose questions have expired."""
    asked = state.asked
    return [
        failed(call, "approval_expired", "Nobody approved this call in time.", end="cancelled")
        for call in calls
        if (question := asked.get(call["id"] or ""))
        and has_expired(question, decider.expire_seconds)
    ]


def has_expired(asked: AskedApproval, seconds: float) -> bool:
    return seconds != NEVER and asked_at(asked) + seconds < time.time()


def _decision(
    item: ApprovalAnswer, call: ToolCall, catalogue: Catalogue, decider: Decider
) -> Decision:
    tool = catalogue.real_by_name.get(call["name"])
    if item.approved and tool is None:
        raise InvalidRequest(
            "unknown_tool",
            f"There is no tool {call['name']!r} any more: decline the call.",
            409,
        )
    if item.approved and not decider.may_approve(call["name"]):
        raise InvalidRequest(
            "forbidden",
            f"You may not approve a call of {call['name']!r} that is your own: somebody whose role "
            "approves it must.",
            403,
        )
    args = _changed(item, call, tool)
    principal = decider.principal
    decision = Decision(
        approved=item.approved, run_id=decider.run_id, by=principal.id, at=time.time()
    )
    if principal.display_name:
        decision["name"] = principal.display_name
    if item.reason:
        decision["reason"] = item.reason
    if args is not None:
        decision["args"] = args
    return decision


def _changed(item: ApprovalAnswer, call: ToolCall, tool: BaseTool | None) -> dict[str, Any] | None:
    """The arguments that are to take the place of the model's, if they differ."""
    if item.args is None or tool is None:
        return None
    if not item.approved:
        raise InvalidRequest(
            "invalid_approval",
            f"The decision on {item.tool_call_id!r} declines the call: leave out its arguments.",
        )
    try:
        # As those of the model are read.
        args: dict[str, Any] = read_storable(write(item.args))
        check_args(tool, args)
    except ValueError as error:
        raise InvalidRequest("invalid_arguments", str(error)) from None
    return args if args != call["args"] else None


def _declined(call: ToolCall, reason: str | None, asked: AskedApproval) -> ToolMessage:
    sentence = "The user declined this call."
    if reason:
        sentence = f"The user declined this call: {reason}"
    if asked["decisions"]:
        sentence = f"{MAY_HAVE_RUN} {sentence}"
    return failed(call, "declined", sentence, end="declined")


def _told(
    messages: Sequence[AIMessage], decisions: Mapping[str, Decision]
) -> Sequence[ToolApproval]:
    asked = asked_in(messages)
    return [ToolApproval(id, decided_approval(id, asked[id])) for id in decisions]


def asked_again(state: ThreadState, call_ids: Sequence[str]) -> list[ToolApproval]:
    """The questions that are open again, of calls that a run was to run and that have no answer."""
    asked = state.asked
    waiting = {call["id"] for call in state.pending("approval")} & asked.keys()
    return [
        ToolApproval(id, Approval(open_question(id, asked[id]), may_have_run=True))
        for id in call_ids
        if id in waiting
    ]
