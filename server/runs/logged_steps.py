"""The steps of a run as its log has them, for who goes on with the log."""

from collections.abc import Mapping, Sequence

from langchain_core.messages import AIMessage

from turnstream.graphs.calls import StreamedCall
from turnstream.graphs.classify import Classifier
from turnstream.graphs.dispositions import of_message
from turnstream.graphs.parts import Kind, PartAssembler, StreamedText
from turnstream.graphs.result_view import ResultView
from turnstream.server.runs.endings import timing_of, usage_of
from turnstream.server.runs.speakers import Speaker
from turnstream.server.runs.step import StreamedStep
from turnstream.server.runs.told_steps import ToldSteps
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    PartFinish,
    PartStart,
    ReasoningPart,
    Result,
    StepFinish,
    StepStart,
    StepWithdrawn,
    TextDelta,
    ToolCallPart,
)


class _LoggedStep(StreamedStep):
    has_all_args = False
    """Whether the arguments of its calls have ended: those of all at once."""

    def is_as(self, message: AIMessage) -> bool:
        """Word by word: the log may be behind what streamed."""
        return self.says(message)


class LoggedSteps(ToldSteps):
    """`told` are the log's chunks, `kept` the thread's messages by id."""

    def __init__(
        self,
        message_id: str,
        call_ids: set[str],
        classifier: Classifier,
        results: ResultView,
        told: Sequence[Chunk],
        kept: Mapping[str | None, AIMessage],
    ) -> None:
        super().__init__(message_id, call_ids, classifier, results)
        self._of_part: list[StreamedStep] = []
        """By the number of a part in the run."""
        for chunk in told:
            self._take(chunk)
        for step in self:
            message = kept.get(step.step_id)
            if message and self._is_whole(step):
                step.message = message
                step.usage, step.timing = usage_of(message), timing_of(message)
                step.dispositions = of_message(message, {}, self._classifier.fallback)

    @staticmethod
    def _is_whole(step: StreamedStep) -> bool:
        return step.reason is not None or (isinstance(step, _LoggedStep) and step.has_all_args)

    def _take(self, chunk: Chunk) -> None:
        match chunk:
            case StepStart():
                speaker = Speaker(chunk.node, chunk.namespace)
                parts = PartAssembler(chunk.step_id, self._call_ids)
                self._latest = _LoggedStep(chunk.step_id, speaker, parts)
                self.by_id[chunk.step_id] = self._latest
            case StepFinish():
                step = self.by_id[chunk.step_id] if chunk.step_id else self._newest
                step.reason, step.open_calls = chunk.reason, {}
                step.usage, step.timing = chunk.usage, chunk.timing
                step.tool_ms = dict(chunk.tool_ms)
            case StepWithdrawn():
                self.by_id.pop(chunk.step_id, None)
            case PartStart() | TextDelta() | ArgsFinish() | Result() | PartFinish():
                self._take_part(chunk)

    def _take_part(self, chunk: PartStart | TextDelta | ArgsFinish | Result | PartFinish) -> None:
        if isinstance(chunk, PartStart):
            self._begin(chunk)
            return
        step = self._of_part[chunk.path[0]]
        part = step.parts.parts[step.paths.index(chunk.path)]
        match chunk:
            case TextDelta():
                part.add(chunk.text)
            case ArgsFinish() if isinstance(step, _LoggedStep):
                step.has_all_args = True
            case Result() if isinstance(part, StreamedCall):
                step.open_calls.pop(part.id, None)
                if chunk.duration_ms is not None:
                    step.tool_ms[part.id] = chunk.duration_ms
            case PartFinish():
                step.note_closed(chunk.path)

    def _begin(self, chunk: PartStart) -> None:
        step = self.by_id[chunk.step_id] if chunk.step_id else self._newest
        path, place = (self._parts,), len(step.parts.parts)
        self._parts += 1
        self._of_part.append(step)
        part = chunk.part
        if isinstance(part, ToolCallPart):
            call = StreamedCall(part.tool_call_id, part.tool_name, part.tool_name, place)
            step.parts.parts.append(call)
            step.parts.calls.append(call)
            step.tool_names[call.id] = call.name
            step.open_call(path, call.id)
        else:
            kind: Kind = "reasoning" if isinstance(part, ReasoningPart) else "text"
            step.parts.parts.append(StreamedText(kind, place))
            step.open_text(path)

    @property
    def _newest(self) -> StreamedStep:
        assert self._latest is not None, "a part belongs to a step"
        return self._latest
