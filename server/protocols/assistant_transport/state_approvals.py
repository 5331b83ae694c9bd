"""The approvals in the state that assistant-ui renders, as a run tells of them."""

from collections.abc import Collection, Sequence

from turnstream.server.protocols.assistant_transport.state import approvals
from turnstream.server.protocols.assistant_transport.state_operations import (
    REFUSED,
    Operation,
    set_at,
)
from turnstream.server.protocols.metadata import approval_json
from turnstream.server.turns.chunks import Approval
from turnstream.server.turns.messages import Turn


class StateApprovals:
    def __init__(self, turns: Sequence[Turn]) -> None:
        """`turns` are the thread's as the run begins."""
        self._by_call = approvals(turns)

    def set(self, call_id: str, approval: Approval) -> list[Operation]:
        value = approval_json(approval)
        if self._by_call.get(call_id) == value:
            return []
        self._by_call[call_id] = value
        return self._whole() if call_id in REFUSED else [set_at(["approvals", call_id], value)]

    def remove(self, call_ids: Collection[str]) -> list[Operation]:
        """Those of calls that are no part of the thread any more."""
        left = {id: value for id, value in self._by_call.items() if id not in call_ids}
        if len(left) == len(self._by_call):
            return []
        self._by_call = left
        return self._whole()

    def _whole(self) -> list[Operation]:
        return [set_at(["approvals"], dict(self._by_call))]
