"""The grammar of `server.turns.chunks`, held against the chunks of a run."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Custom,
    Disposition,
    Done,
    Error,
    MessageFinish,
    Part,
    PartFinish,
    PartStart,
    Path,
    Result,
    RunEnded,
    StepFinish,
    StepStart,
    TextDelta,
    ToolCallPart,
    ToolProgress,
    ToolSettled,
)


@dataclass
class _Open:
    part: Part
    args_finished: bool = False
    answered: bool = False
    disposition: Disposition | None = None


@dataclass
class _Reader:
    in_step: bool = False
    parts: dict[Path, _Open] = field(default_factory=dict)
    started: int = 0
    unanswered: list[_Open] = field(default_factory=list)
    call_ids: set[str] = field(default_factory=set)

    def take(self, chunk: Chunk) -> None:
        match chunk:
            case StepStart():
                assert not self.in_step, "a step begins inside a step"
                self.in_step = True
            case PartStart():
                self._start(chunk.part)
            case TextDelta():
                assert chunk.text, "an empty delta"
                assert not self._part(chunk.path).args_finished, "text behind the arguments"
            case ArgsFinish():
                part = self._call(chunk.path)
                assert not part.args_finished, "arguments finished twice"
                part.args_finished = True
                part.disposition = chunk.disposition
            case Result():
                part = self._call(chunk.path)
                assert part.args_finished, "a result ahead of the arguments"
                assert not part.answered, "a second result"
                part.answered = True
            case PartFinish():
                self._finish(chunk.path)
            case StepFinish():
                assert self.in_step, "a step ends that has not begun"
                assert not self.parts, "a step ends with open parts"
                self.in_step = False
            case _:
                others = RunEnded | ToolSettled | ToolProgress | Custom
                assert isinstance(chunk, others), f"{type(chunk).__name__} before the end"

    def _start(self, part: Part) -> None:
        assert self.in_step, "a part outside of a step"
        if isinstance(part, ToolCallPart):
            assert part.tool_call_id not in self.call_ids, "a call id twice"
            self.call_ids.add(part.tool_call_id)
        self.parts[(self.started,)] = _Open(part)
        self.started += 1

    def _part(self, path: Path) -> _Open:
        assert path in self.parts, f"part {path} is not open"
        return self.parts[path]

    def _call(self, path: Path) -> _Open:
        part = self._part(path)
        assert isinstance(part.part, ToolCallPart), f"part {path} is no call"
        return part

    def _finish(self, path: Path) -> None:
        part = self._part(path)
        del self.parts[path]
        if isinstance(part.part, ToolCallPart):
            assert part.args_finished, "a call ends before its arguments"
            if not part.answered:
                self.unanswered.append(part)


def check(chunks: Sequence[Chunk]) -> None:
    """Raises AssertionError where the chunks are not a whole run, in order."""
    *said, last, done = chunks
    assert isinstance(done, Done)
    assert isinstance(last, MessageFinish)
    failed = bool(said) and isinstance(said[-1], Error)
    assert (last.reason == "error") == failed
    reader = _Reader()
    for chunk in said[:-1] if failed else said:
        reader.take(chunk)
    assert not reader.in_step, "the last step has not ended"
    assert all(call.disposition == "client" for call in reader.unanswered), "a call without an end"
    assert bool(reader.unanswered) <= (last.reason == "tool-calls"), "pending, and not said so"
