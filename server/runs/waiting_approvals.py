"""The calls of a thread that wait for an approval, for the list over all threads."""

from collections.abc import Sequence

from turnstream.graphs.approvals import asked_at, open_question
from turnstream.graphs.stored_approvals import AskedApproval
from turnstream.server.callers.principal import Principal
from turnstream.server.runs.thread_state import ThreadState
from turnstream.server.storage.interfaces import Asker, WaitingApproval
from turnstream.server.turns.header import ThreadKey


def waiting_approvals(
    state: ThreadState, key: ThreadKey, expire_seconds: float = 0
) -> Sequence[WaitingApproval]:
    """Return the calls of a thread at rest that wait for an approval."""
    questions, waiting = state.asked, []
    is_alone = not state.interrupts and not state.pending("client")
    for call in state.pending("approval"):
        id = call["id"] or ""
        asked = questions.get(id)
        if asked:
            since = asked_at(asked)
            waiting.append(
                WaitingApproval(
                    key=key,
                    tool_call_id=id,
                    approval_id=open_question(id, asked),
                    tool_name=call["name"],
                    args=call["args"],
                    asked_at=since,
                    asker=_asker(asked, key),
                    expires_at=since + expire_seconds if expire_seconds else None,
                    may_have_run=bool(asked["decisions"]),
                    is_alone=is_alone,
                )
            )
    return waiting


def _asker(asked: AskedApproval, key: ThreadKey) -> Asker:
    """Return the asker. Of an owner who got the thread from another, nothing is known but the
    id."""
    return Asker(tuple(asked["roles"]), asked["name"]) if asked["by"] == key.owner else Asker()


def asker_of(waiting: WaitingApproval) -> Principal:
    """Return the principal whose run goes on when somebody else has decided: their roles are as
    they were when they asked. Raises ValueError for a thread that was made without authentication:
    it is nobody's."""
    asker = waiting.asker
    return Principal(waiting.key.owner, asker.roles, asker.display_name, method="approval")
