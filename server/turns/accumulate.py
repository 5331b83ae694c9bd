"""Chunks to the message that a client has accumulated from them."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Error,
    HistoryShortened,
    Interrupt,
    MessageFinish,
    MessagesRemoved,
    Part,
    PartMade,
    PartStart,
    Path,
    Result,
    RunEnded,
    StepFinish,
    StepStart,
    StepWithdrawn,
    TextDelta,
    TextPart,
    ToolApproval,
    ToolCallPart,
    ToolSettled,
)
from turnstream.server.turns.messages import (
    AssistantTurn,
    MessagePart,
    Reasoning,
    Step,
    Text,
    ToolCall,
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
    nodes speak beside each other, and no step was withdrawn."""
    newest: str | None = None
    for chunk in chunks:
        match chunk:
            case StepStart():
                newest = chunk.step_id
            case PartStart() | PartMade():
                if chunk.step_id != newest:
                    return False
            case StepWithdrawn() | MessagesRemoved():
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

    def __init__(self, earlier: tuple[Step, ...] = ()) -> None:
        self._earlier = list(earlier)
        self._steps: dict[str, _OpenStep] = {}
        """In the order in which they started."""
        self._end: dict[str, Any] = {}
        self._shortened = set[str]()
        """The steps of this run that its graph has removed from what its model gets."""

    def take(self, chunk: Chunk) -> None:
        match chunk:
            case TextDelta():
                self._steps[chunk.step_id].texts[chunk.path].append(chunk.text)
            case PartStart() | PartMade() | ArgsFinish() | Result():
                self._take_part(self._steps[chunk.step_id], chunk)
            case StepStart() | StepFinish() | StepWithdrawn():
                self._take_step(chunk)
            case MessagesRemoved():
                self._earlier = [step for step in self._earlier if step.step_id not in chunk.ids]
            case HistoryShortened():
                self._earlier = [marked_step(step, chunk.ids) for step in self._earlier]
                self._shortened.update(chunk.ids)
            case ToolSettled() | ToolApproval():
                self._earlier = [settle_step(step, chunk) for step in self._earlier]
            case Interrupt():
                for id, question in chunk.approvals.items():
                    self._ask(ToolApproval(id, question))
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

    def _ask(self, asked: ToolApproval) -> None:
        """A graph that is not ours asks about a call, of this run or of an earlier one."""
        self._earlier = [settle_step(step, asked) for step in self._earlier]
        for step in self._steps.values():
            for path, part in step.parts.items():
                if isinstance(part, ToolCall):
                    step.parts[path] = settle_call(part, asked)

    def _take_step(self, chunk: StepStart | StepFinish | StepWithdrawn) -> None:
        match chunk:
            case StepStart():
                self._steps[chunk.step_id] = _OpenStep(Step(chunk.step_id, (), "tool-calls"))
            case StepFinish():
                told = self._steps[chunk.step_id]
                told.step = replace(
                    told.step,
                    finish_reason=chunk.reason,
                    usage=chunk.usage,
                    timing=chunk.timing,
                )
            case StepWithdrawn():
                del self._steps[chunk.step_id]

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
        steps = map(self.step, self._steps)
        return AssistantTurn(message_id, (*self._ended_earlier(), *steps), **self._end)

    def step(self, step_id: str) -> Step:
        """A step that this run tells, so far."""
        return marked_step(self._steps[step_id].whole(), self._shortened)

    def _ended_earlier(self) -> list[Step]:
        """The earlier steps; if this run has told none, and came to its own end, the last of them
        is the one that the message ends with."""
        if self._steps or not self._earlier or self._end.keys() != {"finish_reason"}:
            return self._earlier
        *steps, last = self._earlier
        return [*steps, replace(last, finish_reason=self._end["finish_reason"])]


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
