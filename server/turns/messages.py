"""A thread as every wire format shows it: messages made of the parts that a stream carries."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from turnstream.server.turns.chunks import (
    Approval,
    ArgsFinish,
    Disposition,
    End,
    FilePart,
    FinishReason,
    Interrupt,
    RunEnded,
    SourcePart,
    Timing,
    ToolApproval,
    ToolSettled,
    Usage,
)
from turnstream.server.turns.requests import UserContent
from turnstream.server.turns.versions import Versions


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    tool_call_id: str
    tool_name: str
    args_text: str
    """The arguments as the model wrote them; `{}` if it wrote none."""
    args: Mapping[str, Any] | None
    """None when `args_text` is not a JSON object."""
    disposition: Disposition = "server"
    end: End | None = None
    """None: pending."""
    result: Any = None
    result_id: str | None = None
    duration_ms: int | None = None
    """Milliseconds that the tool took; None of a call that no tool ran for."""
    approval: Approval | None = None
    """None: the call needs none."""
    substeps: "tuple[Step, ...]" = ()
    """The steps of subagents that ran under the call."""
    substeps_cut: int = 0
    """The number of earlier ones that are not kept."""

    @property
    def is_error(self) -> bool:
        return self.end not in (None, "result", "shown")

    @property
    def awaits_approval(self) -> bool:
        return self.end is None and self.approval is not None and self.approval.approved is None


SUBAGENT_ENDED = "The subagent ended before this call finished."
MessagePart = Text | Reasoning | ToolCall | FilePart | SourcePart


@dataclass(frozen=True, slots=True)
class Step:
    """One model call: the id of its message in the thread, and what it said."""

    step_id: str
    parts: tuple[MessagePart, ...]
    finish_reason: FinishReason = "stop"
    usage: Usage | None = None
    timing: Timing | None = None
    removed: bool = False
    """True if the graph has removed it from what its model gets."""
    model: str | None = None
    """The name of the model that has spoken, as its server gives it."""
    agent: str | None = None
    """The agent that speaks in a substep, else the author of the message as the graph names it."""
    namespace: tuple[str, ...] = ()
    """The graphs around it, as in `StepStart`, of a substep."""
    interrupt_ids: tuple[str, ...] = ()
    """The interrupts in which the agent has stopped to ask, as in `StepFinish`, of a substep."""

    @property
    def said(self) -> tuple[Text | Reasoning | ToolCall, ...]:
        """The parts without what the model has made beside them, which some formats have no form
        for."""
        return tuple(one for one in self.parts if not isinstance(one, FilePart | SourcePart))

    @property
    def tool_ms(self) -> dict[str, int]:
        return {
            part.tool_call_id: part.duration_ms
            for part in self.parts
            if isinstance(part, ToolCall) and part.duration_ms is not None
        }


@dataclass(frozen=True, slots=True)
class UserTurn:
    id: str
    content: tuple[UserContent, ...]
    sent_at: float | None = field(default=None, compare=False)
    """Unix time; None: it is not known."""
    versions: Versions | None = None
    """None: there is no other."""
    removed: bool = False
    """True if the graph has removed it from what its model gets."""


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    id: str
    steps: tuple[Step, ...]
    finish_reason: FinishReason | None = None
    """None: the turn is still running, or was interrupted by a crash."""
    ended: RunEnded | None = None
    """The end of a turn that was ended from outside or by a limit."""
    error: Mapping[str, Any] | None = None
    """The error of a turn that failed: `{"code", "message", "id"?}`."""
    versions: Versions | None = None
    """None: there is no other."""

    @property
    def removed(self) -> bool:
        """True if the graph has removed all of it from what its model gets."""
        return bool(self.steps) and all(step.removed for step in self.steps)

    @property
    def parts(self) -> tuple[MessagePart, ...]:
        return tuple(part for step in self.steps for part in step.parts)


Turn = UserTurn | AssistantTurn


def with_args(call: ToolCall, finish: ArgsFinish) -> ToolCall:
    """The call with its final disposition; if that is `approval`, a person is asked."""
    approval = Approval(call.tool_call_id) if finish.disposition == "approval" else None
    return replace(call, args=finish.args, disposition=finish.disposition, approval=approval)


CallChange = ToolSettled | ToolApproval | Interrupt
"""A run's news of a call of an earlier run; an interrupt may ask the client to run a call."""


def settle_call(call: ToolCall, settled: CallChange) -> ToolCall:
    """The call with its end or approval, or as the client's, if it is the call that is meant; else
    the call as it is."""
    if isinstance(settled, Interrupt):
        is_meant = call.tool_call_id == settled.client_call
        return replace(call, disposition="client") if is_meant else call
    if call.tool_call_id != settled.tool_call_id:
        return call
    if isinstance(settled, ToolApproval):
        return replace(call, approval=settled.approval)
    return replace(
        call,
        end=settled.end,
        result=settled.result,
        result_id=settled.result_id,
        duration_ms=settled.duration_ms,
        substeps=tuple(map(ended_step, call.substeps)),
    )


def ended_step(step: Step) -> Step:
    """A substep of a call that has its end: calls that a crash has left open are cancelled."""
    parts = (ended_call(part) if isinstance(part, ToolCall) else part for part in step.parts)
    return replace(step, parts=tuple(parts))


def ended_call(call: ToolCall) -> ToolCall:
    """A call of a substep under a call that has its end, as `ended_step` says."""
    if call.end is None:
        error = {"error": {"code": "run_ended", "message": SUBAGENT_ENDED}}
        call = replace(call, end="cancelled", result=error)
    return replace(call, substeps=tuple(map(ended_step, call.substeps)))


def settle_step(step: Step, settled: CallChange) -> Step:
    parts = (
        settle_call(part, settled) if isinstance(part, ToolCall) else part for part in step.parts
    )
    return replace(step, parts=tuple(parts))


def settle_turn(turn: Turn, settled: CallChange) -> Turn:
    if isinstance(turn, UserTurn):
        return turn
    return replace(turn, steps=tuple(settle_step(step, settled) for step in turn.steps))


def without(turns: Iterable[Turn], ids: Collection[str]) -> Iterator[Turn]:
    """The turns without the user messages and steps of these ids; one that loses all of its steps
    goes too."""
    for turn in turns:
        if isinstance(turn, UserTurn):
            if turn.id not in ids:
                yield turn
            continue
        steps = tuple(step for step in turn.steps if step.step_id not in ids)
        if steps or not turn.steps:
            yield replace(turn, steps=steps)


def marked(turns: Iterable[Turn], ids: Collection[str]) -> Iterator[Turn]:
    """The turns; the user messages and steps of these ids are marked as removed."""
    for turn in turns:
        if isinstance(turn, UserTurn):
            yield replace(turn, removed=True) if turn.id in ids else turn
        else:
            yield replace(turn, steps=tuple(marked_step(step, ids) for step in turn.steps))


def marked_step(step: Step, ids: Collection[str]) -> Step:
    return replace(step, removed=True) if step.step_id in ids else step
