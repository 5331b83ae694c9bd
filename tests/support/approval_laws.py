"""What may become of calls that wait for an approval: a table, held against a thread before and
after a request."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from turnstream.server.turns.chunks import Approval
from turnstream.server.turns.messages import AssistantTurn, ToolCall, Turn
from turnstream.server.turns.requests import TurnRequest

Fate = str
"""Of a call: `waits` (nothing has changed), `asked again`, `gone` with its message, or its end."""


@dataclass(frozen=True)
class View:
    """A thread as its client has it."""

    turns: tuple[Turn, ...]

    @property
    def calls(self) -> dict[str, ToolCall]:
        """By id."""
        turns = (turn for turn in self.turns if isinstance(turn, AssistantTurn))
        parts = (part for turn in turns for part in turn.parts)
        return {part.tool_call_id: part for part in parts if isinstance(part, ToolCall)}

    @property
    def gated(self) -> dict[str, ToolCall]:
        """Calls about which a person was asked, by what they pay for: that is in no two calls."""
        calls = (call for call in self.calls.values() if call.approval)
        return {paid_for(call.args): call for call in calls}

    @property
    def waiting(self) -> dict[str, ToolCall]:
        return {word: call for word, call in self.gated.items() if call.awaits_approval}

    @property
    def open(self) -> dict[str, ToolCall]:
        """Calls without an answer, by id."""
        return {id: call for id, call in self.calls.items() if call.end is None}

    @property
    def selections(self) -> list[str]:
        """The ids of those that the client is to answer."""
        return [id for id, call in self.open.items() if call.disposition == "client"]


def paid_for(args: Mapping[str, Any] | None) -> str:
    [value] = (args or {}).values()
    return str(value)


@dataclass(frozen=True)
class Taken:
    """A decision that the thread can take; `args`: others than the model's."""

    call: ToolCall
    approved: bool
    reason: str | None = None
    args: Mapping[str, Any] | None = None

    @property
    def pays_for(self) -> str:
        return paid_for(self.args or self.call.args)

    @property
    def outcome(self) -> str:
        """In the audit trail."""
        if not self.approved:
            return "declined"
        return "changed" if self.args else "approved"


@dataclass(frozen=True)
class Asked:
    """What a request asks of a thread. `is_accepted` None: that depends on how its last run ended.
    `others`: the fate of calls that wait, and on which it decides nothing."""

    request: TurnRequest
    others: Fate
    is_accepted: bool | None = True
    taken: Mapping[str, Taken] = field(default_factory=dict)
    """By what the call pays for."""


@dataclass(frozen=True)
class Run:
    """How a request went. `end`: refused, or how its run ended; `is_heard`: its client had heard
    that it was taken, before the crash."""

    end: Literal["refused", "by itself", "stop", "crash"]
    is_heard: bool = True
    told: View = View(())
    """The thread as its client had it at the crash."""
    steps: int = 0
    """How often the model was asked."""
    asks: frozenset[str] = frozenset()
    """What the gated calls of the model's last message pay for."""


def _had_said_all(before: View, after: View) -> bool:
    """The model's last message was saved when the run before was cut off: nothing but the end of
    the turn was missing, which a run that continues it writes without the model."""
    if not before.turns or not after.turns:
        return False
    was, ended = before.turns[-1], after.turns[-1]
    if not isinstance(was, AssistantTurn) or not isinstance(ended, AssistantTurn) or not was.steps:
        return False
    same = [step.parts for step in was.steps] == [step.parts for step in ended.steps]
    calls = any(isinstance(part, ToolCall) for part in was.steps[-1].parts)
    return same and not calls and was.finish_reason is None and ended.finish_reason == "stop"


def check(asked: Asked, run: Run, before: View, after: View, paid: Counter[str]) -> None:
    """`paid` since `before`."""
    if run.end != "crash" or run.is_heard:
        assert asked.is_accepted in (None, run.end != "refused")
    if run.end == "refused" or asked.is_accepted is False:
        assert (after.turns, paid) == (before.turns, Counter())
        return
    for id, call in run.told.calls.items():
        assert call.end is None or after.calls[id] == call, "what was told is lost"
    rest = Counter(paid)
    for word, call in before.gated.items():
        taken = asked.taken.get(word)
        times = rest.pop(taken.pays_for, 0) if taken and taken.approved else 0
        fate = fate_of(call, after.gated.get(word))
        if not call.awaits_approval:
            if asked.others == "gone":  # a branch closes anew what was left open ahead of it
                assert fate in ("gone", call.end)
            else:
                assert after.gated[word] == call
            continue
        assert fate in _fates(taken, asked, run, is_paid=times > 0), (word, fate, asked, run)
        assert times in ({"result": (1,), "asked again": (0, 1)}.get(fate, (0,))), (word, fate)
        if taken and fate != "waits":
            _check_shown(taken, call, after.gated[word], fate)
    assert not rest, "paid without an approval, or for something else"
    if run.end == "by itself":
        waits = asked.others == "waits" and any(id in before.calls for id in after.open)
        rests = waits or _had_said_all(before, after)
        assert bool(run.steps) is not rests, "the model goes on when nothing waits"
    _check_new(run, {w: c for w, c in after.gated.items() if w not in before.gated})


def _fates(taken: Taken | None, asked: Asked, run: Run, *, is_paid: bool) -> set[Fate]:
    fates = {asked.others}
    if taken:
        fates = {"result" if taken.approved else "declined"}
        if taken.approved and run.end != "by itself":
            fates.add("asked again")
    if not run.is_heard and not is_paid:
        fates.add("waits")
    return fates


def fate_of(before: ToolCall, after: ToolCall | None) -> Fate:
    if after is None:
        return "gone"
    if after.end:
        return after.end
    question, number = after.approval, _number(before) + 1
    if question == before.approval:
        return "waits"
    again = Approval(f"{before.tool_call_id}.{number}", may_have_run=True)
    return "asked again" if question == again else f"waits with {question}"


def _number(call: ToolCall) -> int:
    """How often a person was asked about a call, from 1."""
    assert call.approval
    number = call.approval.id.removeprefix(call.tool_call_id)
    return int(number.removeprefix(".") or 1)


def _check_shown(taken: Taken, before: ToolCall, after: ToolCall, fate: Fate) -> None:
    """The thread shows the decision, and the result of the call that was approved."""
    assert before.approval
    if fate in ("result", "declined"):
        assert after.approval == Approval(
            before.approval.id, False, taken.approved, None, taken.reason, taken.args
        )
    if fate == "result":
        assert [*after.result.values()] == [*(taken.args or before.args or {}).values()]


def _check_new(run: Run, calls: Mapping[str, ToolCall]) -> None:
    """Calls that the run has made wait, unless it was cut off."""
    waiting = {word for word, call in calls.items() if call.awaits_approval}
    if run.end == "by itself":
        assert waiting == calls.keys() == run.asks
    for word, call in calls.items():
        assert call.approval == Approval(call.tool_call_id)
        assert word in waiting or call.end == "cancelled"
