"""The grammar of `turnstream.server.turns.chunks`, held against the chunks of a run."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from turnstream.server.turns.chunks import (
    ArgsFinish,
    Aside,
    Chunk,
    Custom,
    Disposition,
    Done,
    Error,
    FilePart,
    GraphState,
    HistoryShortened,
    Interrupt,
    InterruptsDiscarded,
    MessageFinish,
    MessagesRemoved,
    Part,
    PartFinish,
    PartMade,
    PartStart,
    Path,
    Result,
    RunEnded,
    SourcePart,
    StepFinish,
    StepStart,
    StepWithdrawn,
    Substep,
    TaskFinish,
    TaskStart,
    TextDelta,
    ToolApproval,
    ToolCallPart,
    ToolProgress,
    ToolSettled,
)

OfPart = TextDelta | ArgsFinish | Result | PartFinish


@dataclass
class _Open:
    part: Part
    path: Path
    step_id: str
    args_finished: bool = False
    answered: bool = False
    disposition: Disposition | None = None


@dataclass
class _Reader:
    steps: dict[str, set[Path]] = field(default_factory=dict)
    """The open steps, and all parts of each."""
    ended: dict[str, set[Path]] = field(default_factory=dict)
    parts: dict[Path, _Open] = field(default_factory=dict)
    started: int = 0
    unanswered: list[_Open] = field(default_factory=list)
    call_ids: set[str] = field(default_factory=set)
    calls: dict[Path, str] = field(default_factory=dict)
    under: dict[str, "_Reader"] = field(default_factory=dict)
    """By the calls that have substeps."""

    def take(self, chunk: Chunk) -> None:
        if isinstance(chunk, Substep):
            self.under.setdefault(chunk.tool_call_id, _Reader()).take(chunk.chunk)
        else:
            self._take(chunk)

    def _take(self, chunk: Chunk) -> None:
        match chunk:
            case StepStart():
                assert chunk.step_id not in {*self.steps, *self.ended}, "a step begins twice"
                self.steps[chunk.step_id] = set()
            case PartStart() | PartMade():
                self._start(chunk)
            case TextDelta():
                assert chunk.text, "an empty delta"
                assert not self._part(chunk).args_finished, "text behind the arguments"
            case ArgsFinish():
                part = self._call(chunk)
                assert not part.args_finished, "arguments finished twice"
                part.args_finished = True
                part.disposition = chunk.disposition
            case Result():
                part = self._call(chunk)
                assert part.args_finished, "a result ahead of the arguments"
                assert not part.answered, "a second result"
                part.answered = True
            case PartFinish():
                self._finish(chunk)
            case StepFinish():
                id = chunk.step_id
                assert id in {*self.steps, *self.ended}, "a step ends that has not begun"
                if id in self.steps:
                    assert self.parts.keys().isdisjoint(self.steps[id]), "it ends with open parts"
                    self.ended[id] = self.steps.pop(id)
            case StepWithdrawn():
                told = self.ended.pop(chunk.step_id)
                assert {(part,) for part in chunk.parts} == told, "not the parts of the step"
                self.unanswered = [call for call in self.unanswered if call.path not in told]
                self.call_ids -= {call_id for path, call_id in self.calls.items() if path in told}
            case _:
                others = (
                    RunEnded
                    | ToolSettled
                    | ToolApproval
                    | ToolProgress
                    | Custom
                    | GraphState
                    | Aside
                    | TaskStart
                    | TaskFinish
                    | Interrupt
                    | InterruptsDiscarded
                    | MessagesRemoved
                    | HistoryShortened
                )
                assert isinstance(chunk, others), f"{type(chunk).__name__} before the end"

    def _start(self, chunk: PartStart | PartMade) -> None:
        part, path = chunk.part, chunk.path
        assert chunk.step_id in self.steps, "a part outside of a step"
        assert path == (self.started,), "paths are the numbers of the parts"
        self.steps[chunk.step_id].add(path)
        self.started += 1
        if isinstance(part, FilePart | SourcePart):
            return
        if isinstance(part, ToolCallPart):
            assert part.tool_call_id not in self.call_ids, "a call id twice"
            self.call_ids.add(part.tool_call_id)
            self.calls[path] = part.tool_call_id
        self.parts[path] = _Open(part, path, chunk.step_id)

    def _part(self, chunk: OfPart) -> _Open:
        assert chunk.path in self.parts, f"part {chunk.path} is not open"
        part = self.parts[chunk.path]
        assert part.step_id == chunk.step_id, "a chunk names another step than its part's"
        return part

    def _call(self, chunk: OfPart) -> _Open:
        part = self._part(chunk)
        assert isinstance(part.part, ToolCallPart), f"part {chunk.path} is no call"
        return part

    def _finish(self, chunk: PartFinish) -> None:
        part = self._part(chunk)
        del self.parts[chunk.path]
        if isinstance(part.part, ToolCallPart):
            assert part.args_finished, "a call ends before its arguments"
            if not part.answered:
                self.unanswered.append(part)


def reader_of(chunks: Sequence[Chunk]) -> _Reader:
    """Read chunks of a run that may break off."""
    reader = _Reader()
    for chunk in chunks:
        reader.take(chunk)
    return reader


def check(chunks: Sequence[Chunk]) -> None:
    """Raises AssertionError where the chunks are not a whole run, in order."""
    *said, last, done = chunks
    assert isinstance(done, Done)
    assert isinstance(last, MessageFinish)
    failed = bool(said) and isinstance(said[-1], Error)
    assert (last.reason == "error") == failed
    reader = reader_of(said[:-1] if failed else said)
    assert not reader.steps, "a step has not ended"
    assert not any(under.steps for under in reader.under.values()), "a substep has not ended"
    asks = any(isinstance(chunk, Interrupt) for chunk in said)
    persons = ("client", "approval")
    waiting = [call for call in reader.unanswered if call.disposition in persons]
    assert asks or waiting == reader.unanswered, "a call without an end"
    # Of a run that goes on after a crash, a call may have waited before: it waits on.
    cut_off = any(isinstance(chunk, RunEnded | Error) for chunk in said)
    says_so = last.reason == "tool-calls" or cut_off
    assert bool(reader.unanswered) <= says_so, "pending, and not said so"
