"""The approval of a call, as clients see it: the question, or the decision."""

from turnstream.graphs.approvals import open_question, question_id
from turnstream.graphs.stored_approvals import AskedApproval, Decision
from turnstream.server.turns.chunks import Approval, End
from turnstream.server.turns.header import LOCAL_OWNER


def shown_approval(
    call_id: str, asked: AskedApproval | None, end: End | None, run_id: str | None
) -> Approval | None:
    """Return the approval of a call, as clients see it. `end`: of the call, if it has its answer;
    `run_id`: of the run that is live. A call that was cancelled has left its question open.

    A call that was cancelled has left its question open.
    """
    if asked is None:
        return None
    decisions = asked["decisions"]
    if decisions and (end not in (None, "cancelled") or decisions[-1]["run_id"] == run_id):
        return decided_approval(call_id, asked)
    return Approval(open_question(call_id, asked), may_have_run=bool(decisions))


def decided_approval(call_id: str, asked: AskedApproval) -> Approval:
    """Return the approval of a call on which somebody has decided."""
    last = asked["decisions"][-1]
    return Approval(
        question_id(call_id, len(asked["decisions"])),
        approved=last["approved"],
        by=_shown_name(last),
        reason=last.get("reason"),
        args=last.get("args"),
    )


def _shown_name(decision: Decision) -> str | None:
    """None: authentication was off, so there is one person alone."""
    name = decision.get("name", decision["by"])
    return None if name == LOCAL_OWNER else name
