"""The steps that a run has told: opened, grown, completed, ended and withdrawn, as chunks."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from langchain_core.messages import AIMessage, ToolMessage

from turnstream.graphs import stored
from turnstream.graphs.calls import StreamedCall, parse_args
from turnstream.graphs.classify import Classifier
from turnstream.graphs.dispositions import of_message
from turnstream.graphs.parts import PartAssembler, PartDelta, StreamedPart, stored_parts
from turnstream.graphs.result_view import ResultView
from turnstream.graphs.server_keys import sent_keys
from turnstream.server.runs.endings import agent_of, model_of, timing_of, usage_of
from turnstream.server.runs.speakers import Speaker
from turnstream.server.runs.step import StreamedStep, made_in
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Disposition,
    FinishReason,
    MessageFinish,
    Part,
    PartFinish,
    PartMade,
    PartStart,
    ReasoningPart,
    Result,
    StepStart,
    TextDelta,
    TextPart,
    Timing,
    ToolCallPart,
    Usage,
)


class ToldSteps:
    """By step id, in the order in which they were told; without those that were withdrawn.

    `call_ids` are those that the thread has: a call that is told gets another. `names_agents`: the
    ends of steps name the authors of their messages.
    """

    def __init__(
        self,
        message_id: str,
        call_ids: set[str],
        classifier: Classifier,
        results: ResultView,
        *,
        names_agents: bool = True,
    ) -> None:
        self.by_id: dict[str, StreamedStep] = {}
        self._message_id = message_id
        self.call_ids = call_ids
        self._classifier = classifier
        self._results = results
        self._names_agents = names_agents
        self.settled_ms: dict[str, int] = {}
        """Milliseconds that the run's tools took for calls of earlier runs, by call id."""
        self.parts = 0
        """The number of parts that have begun, those of withdrawn steps too."""

    def __iter__(self) -> Iterator[StreamedStep]:
        return iter([*self.by_id.values()])

    @property
    def open_calls(self) -> dict[str, StreamedStep]:
        return {id: step for step in self.by_id.values() for id in step.open_calls}

    def awaits(self, disposition: Disposition) -> bool:
        """Check that a call of this disposition is open."""
        return any(step.dispositions.get(id) == disposition for id, step in self.open_calls.items())

    def open(self, step_id: str, speaker: Speaker) -> Iterator[Chunk]:
        """A step begins; those that are done end."""
        for step in self:
            if step.is_done and step.reason is None:
                yield from self.close(step, "tool-calls")
        assembler = PartAssembler(step_id, self.call_ids)
        self.by_id[step_id] = StreamedStep(step_id, speaker, assembler)
        place = speaker.node, speaker.namespace, speaker.agent
        yield StepStart(self._message_id, step_id, *place)

    def grow(self, step: StreamedStep, message: AIMessage) -> Iterator[Chunk]:
        """A piece of what the model says, or all of it."""
        if message.additional_kwargs and not step.server_keys:
            step.server_keys = sent_keys(message.additional_kwargs)
        for delta in step.parts.feed(message):
            yield from self._grow(step, delta)

    def _grow(self, step: StreamedStep, delta: PartDelta) -> Iterator[Chunk]:
        if delta.opened:
            yield from step.close_text()
            if isinstance(delta.part, StreamedCall):
                step.tool_names[delta.part.id] = delta.part.given_name
            yield self._start(step, self._part(step, delta.part))
        if delta.text:
            yield TextDelta(step.step_id, step.paths[delta.part.position], delta.text)

    def _part(self, step: StreamedStep, part: StreamedPart) -> Part:
        if isinstance(part, StreamedCall):
            self.call_ids.add(part.id)
            expected = self._classifier.expected(part.given_name)
            predicts = step.predictions.get(part.given_name, {})
            return ToolCallPart(part.id, part.name, expected, predicts)
        return TextPart() if part.kind == "text" else ReasoningPart()

    def _start(self, step: StreamedStep, part: Part) -> PartStart:
        path, self.parts = (self.parts,), self.parts + 1
        if isinstance(part, ToolCallPart):
            step.open_call(path, part.tool_call_id)
        else:
            step.open_text(path)
        return PartStart(step.step_id, path, part)

    def complete(self, step: StreamedStep, message: AIMessage) -> Iterator[Chunk]:
        """The message is whole: its texts end, and its calls have all their arguments."""
        self._take_whole(step, message)
        yield from step.close_text()
        carried = of_message(message, {}, self._classifier.fallback)
        step.dispositions = {
            # A graph that is not ours may have given a call another id than the streamed one.
            call.id: carried.get(call.id) or self._classifier.expected(call.given_name)
            for call in step.parts.calls
        }
        yield from step.finish_args(step.dispositions)
        yield from self._tell_made(step, message)

    def _take_whole(self, step: StreamedStep, message: AIMessage) -> None:
        step.message = message
        step.usage, step.timing = usage_of(message), timing_of(message)
        step.model = model_of(message)
        step.agent = agent_of(message) if self._names_agents else None

    def _tell_made(self, step: StreamedStep, message: AIMessage) -> Iterator[Chunk]:
        for part in made_in(message)[len(step.made) :]:
            path, self.parts = (self.parts,), self.parts + 1
            step.made[path] = part
            yield PartMade(step.step_id, path, part)

    def tell(self, message: AIMessage, speaker: Speaker) -> Iterator[Chunk]:
        """A whole message, as the thread has it."""
        yield from self.open(message.id or "", speaker)
        step = self.by_id[message.id or ""]
        self._take_whole(step, message)
        dispositions = of_message(message, {}, self._classifier.fallback)
        step.dispositions = dispositions
        for part in stored_parts(message):
            path = (self.parts,)
            if part.call is None:
                yield self._start(step, TextPart() if part.kind == "text" else ReasoningPart())
                yield TextDelta(step.step_id, path, part.text)
                yield from step.close_text()
            else:
                id = part.call["id"] or ""
                step.tool_names[id] = part.call["name"]
                disposition: Disposition = dispositions.get(id, "server")
                yield self._start(step, ToolCallPart(id, part.call["name"], disposition))
                yield TextDelta(step.step_id, path, part.text)
                yield ArgsFinish(step.step_id, path, parse_args(part.text), disposition)
        yield from self._tell_made(step, message)

    def tell_as_kept(self, message: AIMessage) -> Iterator[Chunk]:
        """A message that the thread has: told if it was not, to its end if its beginning was, and
        again if it was told otherwise."""
        step = self.by_id.get(message.id or "")
        if step is None:
            yield from self.tell(message, Speaker())
        elif step.kept is message:
            return
        elif step.is_as(message):
            if step.message is None:
                yield from self.complete(step, message)
            elif step.agent != agent_of(message):
                step.agent = agent_of(message)
                if step.reason is not None:
                    yield step.finish()
        elif step.begins(message):
            for delta in step.parts.go_on(stored_parts(message)):
                yield from self._grow(step, delta)
            yield from self.complete(step, message)
        else:
            yield from self.withdraw(step)
            yield from self.tell(message, step.speaker)
        self.by_id[message.id or ""].kept = message

    def put_in_order(self, messages: Sequence[AIMessage]) -> Iterator[Chunk]:
        """Tell the steps again, in the thread's order, from the first that was told ahead of one
        that the thread has earlier; their answers are to be told after that."""
        places = {id: place for place, id in enumerate(self.by_id)}
        latest, differs = -1, False
        for message in messages:
            step = self.by_id[message.id or ""]
            differs |= places[step.step_id] < latest
            latest = places[step.step_id]
            if differs:
                yield from self.withdraw(step)
                yield from self.tell(message, step.speaker)
                self.by_id[step.step_id].kept = message

    def answer(self, message: ToolMessage) -> list[Chunk] | None:
        """The answer to an open call; None if no step has such a call."""
        step = self.open_calls.get(message.tool_call_id)
        if step is None:
            return None
        path = step.open_calls.pop(message.tool_call_id)
        step.answers.append(message)
        ms = stored.duration_ms(message)
        if ms is not None:
            step.tool_ms[message.tool_call_id] = ms
        view = self._results(message, step.tool_names[message.tool_call_id])
        end = stored.end_of(message)
        result = Result(step.step_id, path, view, end, message.id or "", ms)
        return [result, PartFinish(step.step_id, path)]

    def end_words(self, step: StreamedStep) -> Iterator[Chunk]:
        """The model is through, whatever its agent makes of the message: its calls begin."""
        yield from step.close_text()
        whole = (call for call in step.parts.calls if call.args is not None)
        expected = self._classifier.expected
        yield from step.finish_args({call.id: expected(call.given_name) for call in whole})

    def cut_off(self, step: StreamedStep) -> Iterator[Chunk]:
        """Return the chunks that end the words of a message that never became whole."""
        if step.message is None:
            yield from step.close_text()
            yield from step.finish_args({})

    def close(self, step: StreamedStep, reason: FinishReason) -> Iterator[Chunk]:
        """Its end, said again if it turns out to be another."""
        if step.reason == reason:
            return
        step.reason = reason
        yield from step.close_text()
        yield from (PartFinish(step.step_id, path) for path in step.open_calls.values())
        step.open_calls = {}
        yield step.finish()

    def withdraw(self, step: StreamedStep) -> Iterator[Chunk]:
        yield from self.cut_off(step)
        if step.reason is None:
            yield from self.close(step, "other")
        del self.by_id[step.step_id]
        yield step.withdrawn()

    def message_finish(self, reason: FinishReason) -> MessageFinish:
        """Sums over the steps, whose first token is that of the first."""
        usage, timing = Usage(0, 0), None
        tool_ms = dict(self.settled_ms)
        for step in self:
            usage += step.usage
            tool_ms |= step.tool_ms
            if step.timing:
                known: Timing = timing or replace(step.timing, model_ms=0)
                timing = replace(known, model_ms=known.model_ms + step.timing.model_ms)
        return MessageFinish(reason, usage, timing, tool_ms)
