"""Chunks to the message that a client has accumulated from them."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Error,
    Interrupt,
    MessageFinish,
    MessagesRemoved,
    Part,
    PartStart,
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
    """Whether the message has all parts that were told, in the order in which they were: no nodes
    speak beside each other, and no step was withdrawn."""
    latest: str | None = None
    for chunk in chunks:
        match chunk:
            case StepStart():
                latest = chunk.step_id
            case PartStart():
                if chunk.step_id not in (None, latest):
                    return False
            case StepWithdrawn() | MessagesRemoved():
                return False
    return True


class Accumulator:
    """The message of a run whose chunks come one by one; `earlier` are its steps from runs
    before."""

    def __init__(self, earlier: tuple[Step, ...] = ()) -> None:
        self._earlier = list(earlier)
        self._steps: dict[str, Step] = {}
        """In the order in which they started."""
        self._latest = ""
        self._parts: list[MessagePart] = []
        self._numbers: dict[str, list[int]] = {}
        """Of each step's parts: their places among all that the run told."""
        self._texts: list[list[str]] = []
        """Of each part, joined at the end: a part has as many deltas as its model has words."""
        self._end: dict[str, Any] = {}

    def take(self, chunk: Chunk) -> None:
        match chunk:
            case StepStart() | StepFinish() | StepWithdrawn():
                self._take_step(chunk)
            case PartStart():
                self._numbers[chunk.step_id or self._latest].append(len(self._parts))
                self._parts.append(_empty(chunk.part))
                self._texts.append([])
            case TextDelta():
                self._texts[chunk.path[0]].append(chunk.text)
            case ArgsFinish() | Result():
                (i,) = chunk.path
                self._parts[i] = _grown(self._parts[i], chunk)
            case MessagesRemoved():
                self._earlier = [step for step in self._earlier if step.step_id not in chunk.ids]
            case ToolSettled() | ToolApproval():
                self._earlier = [settle_step(step, chunk) for step in self._earlier]
            case Interrupt():
                for id, question in chunk.approvals.items():
                    self._ask(ToolApproval(id, question))
            case RunEnded() | Error() | MessageFinish():
                self._take_end(chunk)

    def _ask(self, asked: ToolApproval) -> None:
        """A graph that is not ours asks about a call, of this run or of an earlier one."""
        self._earlier = [settle_step(step, asked) for step in self._earlier]
        self._parts = [
            settle_call(part, asked) if isinstance(part, ToolCall) else part for part in self._parts
        ]

    def _take_step(self, chunk: StepStart | StepFinish | StepWithdrawn) -> None:
        match chunk:
            case StepStart():
                self._latest = chunk.step_id
                self._steps[chunk.step_id] = Step(chunk.step_id, (), "tool-calls")
                self._numbers[chunk.step_id] = []
            case StepFinish():
                id = chunk.step_id or self._latest
                self._steps[id] = replace(
                    self._steps[id],
                    finish_reason=chunk.reason,
                    usage=chunk.usage,
                    timing=chunk.timing,
                )
            case StepWithdrawn():
                del self._steps[chunk.step_id], self._numbers[chunk.step_id]

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
        return replace(
            self._steps[step_id],
            parts=tuple(
                _with_text(self._parts[number], "".join(self._texts[number]))
                for number in self._numbers[step_id]
            ),
        )

    def _ended_earlier(self) -> list[Step]:
        """The earlier steps; if this run has told none, and came to its own end, the last of them
        is the one that the message ends with."""
        if self._steps or not self._earlier or self._end.keys() != {"finish_reason"}:
            return self._earlier
        *steps, last = self._earlier
        return [*steps, replace(last, finish_reason=self._end["finish_reason"])]


def _empty(part: Part) -> MessagePart:
    if isinstance(part, ToolCallPart):
        return ToolCall(part.tool_call_id, part.tool_name, "", None, part.disposition)
    return Text("") if isinstance(part, TextPart) else Reasoning("")


def _with_text(part: MessagePart, text: str) -> MessagePart:
    if isinstance(part, ToolCall):
        return replace(part, args_text=text)
    return replace(part, text=text)


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
