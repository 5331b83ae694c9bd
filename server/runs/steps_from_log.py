"""Read the steps of a run back from its log, for a worker that goes on with the log."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from langchain_core.messages import AIMessage

from turnstream.graphs.calls import StreamedCall
from turnstream.graphs.classify import Classifier
from turnstream.graphs.dispositions import of_message
from turnstream.graphs.parts import Kind, PartAssembler, StreamedText
from turnstream.server.runs.endings import agent_of, model_of, timing_of, usage_of
from turnstream.server.runs.speakers import Speaker
from turnstream.server.runs.step import StreamedStep
from turnstream.server.runs.told_steps import ToldSteps
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    PartFinish,
    PartMade,
    PartStart,
    ReasoningPart,
    Result,
    StepFinish,
    StepStart,
    StepWithdrawn,
    TextDelta,
    ToolCallPart,
)


def read_log(
    steps: ToldSteps,
    chunks: Sequence[Chunk],
    kept: Mapping[str | None, AIMessage],
    classifier: Classifier,
) -> None:
    """Fill `steps` with the steps of a log's chunks. `kept` has the thread's messages by id: a step
    whose message ended in the log gets its message from there."""
    whole = _read(steps, chunks)
    for step in steps:
        message = kept.get(step.step_id)
        if message and step.step_id in whole:
            step.message = message
            step.usage, step.timing = usage_of(message), timing_of(message)
            step.model, step.agent = model_of(message), agent_of(message)
            step.dispositions = of_message(message, {}, classifier.fallback)


def _read(steps: ToldSteps, chunks: Sequence[Chunk]) -> set[str]:
    """Returns the ids of the steps whose message ended: the arguments of all calls end at once."""
    whole: set[str] = set()
    for chunk in chunks:
        match chunk:
            case StepStart():
                steps.by_id[chunk.step_id] = _started(chunk, steps.call_ids)
                whole.discard(chunk.step_id)
            case StepFinish():
                _finish(steps.by_id[chunk.step_id], chunk)
                whole.add(chunk.step_id)
            case StepWithdrawn():
                steps.by_id.pop(chunk.step_id, None)
            case PartMade():
                steps.parts += 1
                steps.by_id[chunk.step_id].made[chunk.path] = chunk.part
            case PartStart():
                steps.parts += 1
                _begin(steps.by_id[chunk.step_id], chunk)
            case ArgsFinish():
                whole.add(chunk.step_id)
            case TextDelta() | Result() | PartFinish():
                _grow(steps.by_id[chunk.step_id], chunk)
    return whole


def _started(chunk: StepStart, call_ids: set[str]) -> StreamedStep:
    speaker = Speaker(chunk.node, chunk.namespace)
    step = StreamedStep(chunk.step_id, speaker, PartAssembler(chunk.step_id, call_ids))
    step.is_from_log = True
    return step


def _finish(step: StreamedStep, chunk: StepFinish) -> None:
    step.reason, step.open_calls = chunk.reason, {}
    step.usage, step.timing = chunk.usage, chunk.timing
    step.model, step.agent = chunk.model, chunk.agent
    step.tool_ms = dict(chunk.tool_ms)


def _begin(step: StreamedStep, chunk: PartStart) -> None:
    part, place = chunk.part, len(step.parts.parts)
    if isinstance(part, ToolCallPart):
        call = StreamedCall(part.tool_call_id, part.tool_name, part.tool_name, place)
        step.parts.parts.append(call)
        step.parts.calls.append(call)
        step.tool_names[call.id] = call.name
        step.open_call(chunk.path, call.id)
    else:
        kind: Kind = "reasoning" if isinstance(part, ReasoningPart) else "text"
        step.parts.parts.append(StreamedText(kind, place))
        step.open_text(chunk.path)


def _grow(step: StreamedStep, chunk: TextDelta | Result | PartFinish) -> None:
    part = step.parts.parts[bisect_left(step.paths, chunk.path)]
    match chunk:
        case TextDelta():
            part.add(chunk.text)
        case Result() if isinstance(part, StreamedCall):
            step.open_calls.pop(part.id, None)
            if chunk.duration_ms is not None:
                step.tool_ms[part.id] = chunk.duration_ms
        case PartFinish():
            step.note_closed(chunk.path)
