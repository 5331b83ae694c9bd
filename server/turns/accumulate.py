"""Chunks to the message that a client has accumulated from them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Error,
    FilePart,
    HistoryShortened,
    Interrupt,
    MessageFinish,
    MessagesRemoved,
    Part,
    PartFinish,
    PartMade,
    PartStart,
    Path,
    ReasoningPart,
    Result,
    RunEnded,
    SourcePart,
    StepChunk,
    StepFinish,
    StepStart,
    StepWithdrawn,
    Substep,
    TextDelta,
    TextPart,
    ToolApproval,
    ToolCallPart,
    ToolSettled,
    Usage,
)
from turnstream.server.turns.messages import (
    AssistantTurn,
    CallChange,
    MessagePart,
    Reasoning,
    Step,
    Text,
    ToolCall,
    Turn,
    ended_step,
    marked_step,
    settle_call,
    settle_step,
    with_args,
)


def accumulate(
    chunks: Iterable[Chunk], message_id: str, earlier: tuple[Step, ...] = ()
) -> AssistantTurn:
    """The message after these chunks of a run; `earlier` are its steps from runs before.

    It is running (no finish reason) until its `MessageFinish`.
    """
    message = Accumulator(earlier)
    for chunk in chunks:
        message.take(chunk)
    return message.turn(message_id)


def is_in_order(chunks: Iterable[Chunk]) -> bool:
    """Check that the message has all parts that were told, in the order in which they were: no
    nodes speak beside each other, no subagent has spoken, and no step was withdrawn."""
    newest: str | None = None
    for chunk in chunks:
        match chunk:
            case StepStart():
                newest = chunk.step_id
            case PartStart() | PartMade():
                if chunk.step_id != newest:
                    return False
            case StepWithdrawn() | MessagesRemoved() | Substep():
                return False
    return True


@dataclass(slots=True)
class _OpenStep:
    """`step` is without its parts, and a part without its text: they are put together when
    somebody asks, since a part has as many deltas as its model has words."""

    step: Step
    parts: dict[Path, MessagePart] = field(default_factory=dict)
    texts: dict[Path, list[str]] = field(default_factory=dict)

    def whole(self) -> Step:
        parts = (_with_text(part, "".join(self.texts[path])) for path, part in self.parts.items())
        return replace(self.step, parts=tuple(parts))


class Accumulator:
    """The message of a run whose chunks come one by one; `earlier` are its steps from runs
    before."""

    def __init__(self, earlier: tuple[Step, ...] = (), *, of_substeps: bool = False) -> None:
        self._earlier = list(earlier)
        self._of_substeps = of_substeps
        self._substeps: ToldSubsteps | None = None
        self._steps: dict[str, _OpenStep] = {}
        """In the order in which they started."""
        self._end: dict[str, Any] = {}
        self._shortened = set[str]()
        """The steps of this run that its graph has removed from what its model gets."""

    def take(self, chunk: Chunk) -> None:
        match chunk:
            case TextDelta():
                self._steps[chunk.step_id].texts[chunk.path].append(chunk.text)
            case Substep():
                self._substeps = self._substeps or ToldSubsteps()
                self._substeps.take(chunk)
            case PartStart() | PartMade() | ArgsFinish() | Result():
                self._take_part(self._steps[chunk.step_id], chunk)
            case StepStart() | StepFinish() | StepWithdrawn():
                self._take_step(chunk)
            case ToolSettled() | ToolApproval() | Interrupt():
                self._take_news(chunk)
            case MessagesRemoved():
                self._earlier = [step for step in self._earlier if step.step_id not in chunk.ids]
            case HistoryShortened():
                self._earlier = [marked_step(step, chunk.ids) for step in self._earlier]
                self._shortened.update(chunk.ids)
            case RunEnded() | Error() | MessageFinish():
                self._take_end(chunk)

    def _take_part(
        self, step: _OpenStep, chunk: PartStart | PartMade | ArgsFinish | Result
    ) -> None:
        if isinstance(chunk, PartStart | PartMade):
            step.parts[chunk.path] = _begun(chunk)
            step.texts[chunk.path] = []
        else:
            step.parts[chunk.path] = _grown(step.parts[chunk.path], chunk)

    def _take_news(self, chunk: ToolSettled | ToolApproval | Interrupt) -> None:
        if isinstance(chunk, Interrupt):
            for id, question in chunk.approvals.items():
                self._settle(ToolApproval(id, question))
            self._settle(chunk)
        elif self._of_substeps:
            self._settle(chunk)
        else:
            self._earlier = [settle_step(step, chunk) for step in self._earlier]

    def _settle(self, news: CallChange) -> None:
        """Change a call, of this run or of an earlier one."""
        self._earlier = [settle_step(step, news) for step in self._earlier]
        for step in self._steps.values():
            for path, part in step.parts.items():
                if isinstance(part, ToolCall):
                    step.parts[path] = settle_call(part, news)

    def _take_step(self, chunk: StepStart | StepFinish | StepWithdrawn) -> None:
        match chunk:
            case StepStart():
                begun = Step(chunk.step_id, (), "tool-calls", agent=chunk.agent)
                if self._of_substeps:
                    begun = replace(begun, namespace=chunk.namespace)
                self._steps[chunk.step_id] = _OpenStep(begun)
            case StepFinish():
                told = self._steps[chunk.step_id]
                told.step = replace(
                    told.step,
                    finish_reason=chunk.reason,
                    usage=chunk.usage,
                    timing=chunk.timing,
                    model=chunk.model,
                    agent=chunk.agent or told.step.agent,
                    interrupt_ids=chunk.interrupt_ids,
                )
            case StepWithdrawn():
                self._steps.pop(chunk.step_id, None)

    def _take_end(self, chunk: RunEnded | Error | MessageFinish) -> None:
        match chunk:
            case RunEnded():
                self._end["ended"] = chunk
            case Error():
                error = {"code": chunk.code, "message": chunk.message, "id": chunk.error_id}
                self._end["error"] = error
            case MessageFinish():
                self._end["finish_reason"] = chunk.reason

    def turn(self, message_id: str) -> AssistantTurn:
        earlier = map(self._with_substeps, self._ended_earlier())
        return AssistantTurn(message_id, (*earlier, *self.steps), **self._end)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that this run tells, so far."""
        return tuple(map(self.step, self._steps))

    def step(self, step_id: str) -> Step:
        """A step that this run tells, so far."""
        told = marked_step(self._steps[step_id].whole(), self._shortened)
        return self._with_substeps(told)

    def _with_substeps(self, step: Step) -> Step:
        return self._substeps.under(step) if self._substeps else step

    def _ended_earlier(self) -> list[Step]:
        """The earlier steps; if this run has told none, and came to its own end, the last of them
        is the one that the message ends with."""
        if self._steps or not self._earlier or self._end.keys() != {"finish_reason"}:
            return self._earlier
        *steps, last = self._earlier
        return [*steps, replace(last, finish_reason=self._end["finish_reason"])]


class ToldSubsteps:
    """The substeps of a run, by the call under which they run."""

    def __init__(self) -> None:
        self._told: dict[str, Accumulator] = {}
        self._cut: dict[str, list[str]] = {}
        """The ids of the steps that were cut."""
        self._cut_before: dict[str, int] = {}
        """The number of those that were cut and are not told."""
        self._settled: dict[str, list[ToolSettled]] = {}

    def take(self, chunk: Substep) -> None:
        id, inner = chunk.tool_call_id, chunk.chunk
        if id not in self._told:
            self._told[id] = Accumulator(of_substeps=True)
        self._told[id].take(inner)
        match inner:
            case TextDelta():
                return
            case StepWithdrawn():
                self._cut.setdefault(id, []).append(inner.step_id)
            case StepStart():
                # A step that begins again was not cut: its agent has changed it.
                if (cut := self._cut.get(id)) and cut[-1] == inner.step_id:
                    cut.pop()
            case ToolSettled():
                self._settled.setdefault(id, []).append(inner)

    def note_cut(self, tool_call_id: str, count: int) -> None:
        """Add to the number of steps that were cut under a call."""
        self._cut_before[tool_call_id] = self._cut_before.get(tool_call_id, 0) + count

    def of(self, tool_call_id: str) -> tuple[Step, ...]:
        """The substeps of a call, without those below their own calls."""
        told = self._told.get(tool_call_id)
        return told.steps if told else ()

    def forget(self, tool_call_id: str) -> None:
        """Forget what ran under a call."""
        for told in (self._told, self._cut, self._cut_before, self._settled):
            told.pop(tool_call_id, None)

    def step(self, tool_call_id: str, step_id: str) -> Step:
        """A substep, without those below its own calls."""
        return self._told[tool_call_id].step(step_id)

    def under(self, step: Step) -> Step:
        """The step, whose calls have their substeps behind those of earlier runs."""
        parts = (self.below(part) if isinstance(part, ToolCall) else part for part in step.parts)
        return replace(step, parts=tuple(parts))

    def on(self, turn: Turn) -> Turn:
        """The same of a turn."""
        if not isinstance(turn, AssistantTurn):
            return turn
        return replace(turn, steps=tuple(map(self.under, turn.steps)))

    def below(self, call: ToolCall) -> ToolCall:
        """The call with its substeps, behind those of earlier runs. Once it has its end, so have
        the calls below it: those that a crash has left open are cancelled."""
        told, cut = self._told.get(call.tool_call_id), self._cut.get(call.tool_call_id, ())
        before = self._cut_before.get(call.tool_call_id, 0)
        earlier = [step for step in call.substeps if step.step_id not in cut]
        for settled in self._settled.get(call.tool_call_id, ()):
            earlier = [settle_step(step, settled) for step in earlier]
        if told is None and not earlier:
            return call
        steps: Iterable[Step] = (*earlier, *(told.steps if told else ()))
        if call.end is not None:
            steps = map(ended_step, steps)
        below = tuple(map(self.under, steps))
        return replace(call, substeps=below, substeps_cut=call.substeps_cut + before + len(cut))


def substep_chunks(step: Step, message_id: str = "", first: int = 0) -> Iterator[StepChunk]:
    """The chunks that tell a substep, from the first part's number on."""
    id = step.step_id
    yield StepStart(message_id, id, None, step.namespace, step.agent)
    for number, part in enumerate(step.parts, first):
        path = (number,)
        match part:
            case Text() | Reasoning():
                yield PartStart(id, path, TextPart() if isinstance(part, Text) else ReasoningPart())
                if part.text:
                    yield TextDelta(id, path, part.text)
                yield PartFinish(id, path)
            case ToolCall():
                call = ToolCallPart(part.tool_call_id, part.tool_name, part.disposition)
                yield PartStart(id, path, call)
                if part.args_text:
                    yield TextDelta(id, path, part.args_text)
                yield ArgsFinish(id, path, part.args, part.disposition)
                if part.end is not None:
                    ended = part.end, part.result_id or "", part.duration_ms
                    yield Result(id, path, part.result, *ended)
                    yield PartFinish(id, path)
            case FilePart() | SourcePart():
                yield PartMade(id, path, part)
    usage = step.usage or Usage(0, 0)
    about = usage, step.timing, step.tool_ms, step.model, step.interrupt_ids
    yield StepFinish(id, step.finish_reason, *about)


def _begun(chunk: PartStart | PartMade) -> MessagePart:
    return chunk.part if isinstance(chunk, PartMade) else _empty(chunk.part)


def _empty(part: Part) -> MessagePart:
    if isinstance(part, ToolCallPart):
        return ToolCall(part.tool_call_id, part.tool_name, "", None, part.disposition)
    return Text("") if isinstance(part, TextPart) else Reasoning("")


def _with_text(part: MessagePart, text: str) -> MessagePart:
    if isinstance(part, ToolCall):
        return replace(part, args_text=text)
    return replace(part, text=text) if isinstance(part, Text | Reasoning) else part


def _grown(part: MessagePart, chunk: ArgsFinish | Result) -> MessagePart:
    assert isinstance(part, ToolCall)
    match chunk:
        case ArgsFinish():
            return with_args(part, chunk)
        case Result():
            return replace(
                part,
                end=chunk.end,
                result=chunk.result,
                result_id=chunk.result_id,
                duration_ms=chunk.duration_ms,
            )
