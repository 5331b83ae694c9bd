"""The substeps of a run: what its subagents say and do under tool calls, as chunks.

What was told is what is kept (`substep_record`): unlike the steps of the answer, nothing is
compared with the state of a graph.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    RemoveMessage,
    ToolCall,
    ToolMessage,
)

from turnstream.graphs.answers import failed
from turnstream.graphs.calls import derived_id
from turnstream.graphs.classify import Classifier
from turnstream.graphs.result_view import ResultView
from turnstream.server.runs.endings import last_reason, settled
from turnstream.server.runs.speakers import Speaker, Speakers, is_internal, speaker_of
from turnstream.server.runs.step import StreamedStep
from turnstream.server.runs.subagents import AGENT, CallIds
from turnstream.server.runs.substep_record import (
    Row,
    StepKey,
    SubstepRecord,
    chunks_of,
    step_of,
)
from turnstream.server.runs.told_steps import ToldSteps
from turnstream.server.storage.kept_substeps import KeptSubstep, can_be_kept
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    FinishReason,
    PartFinish,
    PartStart,
    Path,
    StepChunk,
    StepFinish,
    StepStart,
    StepWithdrawn,
    Substep,
    ToolCallPart,
    Usage,
)
from turnstream.server.turns.messages import SUBAGENT_ENDED
from turnstream.tools.catalogue import Catalogue

BY_ITS_AGENT = Classifier(Catalogue((), ()), unknown="server")
"""Nobody but its agent ends a call of a subagent."""


@dataclass(slots=True)
class _Under:
    """The steps under one call."""

    steps: ToldSteps
    """The steps that go on."""
    ended: dict[str, StreamedStep] = field(default_factory=dict)
    newest: str = ""
    """The id of the step that began last."""
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class _Heard:
    """A step whose model is heard, and the call under which it speaks."""

    call_id: str
    under: _Under
    step: StreamedStep


class Substeps:
    """`is_open` tells whether a call of the answer has no answer yet; `max_bytes` of the substeps
    under one are kept. 0: they are told, and nothing is kept."""

    def __init__(
        self,
        message_id: str,
        call_ids: set[str],
        results: ResultView,
        speakers: Speakers,
        is_open: Callable[[str], bool],
        max_bytes: int,
    ) -> None:
        self._message_id, self._call_ids = message_id, call_ids
        self._results, self._speakers = results, speakers
        self._is_open = is_open
        self.record = SubstepRecord(results, max_bytes)
        self._under: dict[str, _Under] = {}
        self._own_ids: dict[tuple[str, str], str] = {}
        """The ids of calls, by the call around them and the id that their model gave last."""
        self._heard: dict[tuple[CallIds, Any, str | None], _Heard] = {}
        self._latest: dict[tuple[str, str | None], StreamedStep | None] = {}
        """The steps by call and message id; None: one that is hidden."""
        self._earlier: set[tuple[str, str | None]] = set()
        """The steps of earlier runs, by call and step id: middleware may write them again."""
        self._step_ids: set[str] = set()
        self._spoken: set[str] = set()
        """The ids of the steps whose models were heard to their end."""
        self._asked: dict[str, tuple[str, str]] = {}
        """The call around each call that earlier runs have left open, and its tool."""
        self._interrupt_ids: set[str] = set()

    def take_back(self, rows: Iterable[KeptSubstep], waiting_on: Iterable[str] = ()) -> None:
        """Take what is kept under the calls that earlier runs have left open. The interrupts
        `waiting_on` have their steps: they are asked once more while others are answered."""
        self._interrupt_ids.update(waiting_on)
        for row in rows:
            self._take_back(row)

    def _take_back(self, kept: KeptSubstep) -> None:
        """A row of an earlier run, or of this one where its log lacks it."""
        body = self.record.take_row(kept)
        if body is None:
            return
        call_id, step_id = body["call"], body["step"]
        for chunk in chunks_of(body, self._results):
            self._note(Substep(call_id, chunk))
        self._step_ids.add(step_id)
        self._earlier.add((call_id, step_id))
        self._own_ids |= {(call_id, given): own for given, own in body["given_ids"].items()}
        for call in self.record.took_row(kept, body):
            self._asked[call.tool_call_id] = call_id, call.tool_name

    def take_told(self, told: Sequence[Chunk], run_id: str, rows: Sequence[KeptSubstep]) -> None:
        """Take what the log of a run tells. `rows` are what the store has under the calls of the
        answer that it tells of, of earlier runs and of this one."""
        substeps = [chunk for chunk in told if isinstance(chunk, Substep)]
        starts = {step for one in substeps if (step := _begun_step(one))}
        for row in rows:
            step = step_of(row)
            if step in starts or (step is None and row.run_id == run_id):
                self.record.expect(row, step)
            else:
                self._take_back(row)
        for chunk, following in zip(substeps, [*substeps[1:], None], strict=True):
            call_id, inner = chunk.tool_call_id, chunk.chunk
            self.record.roots.setdefault(call_id, call_id)
            if isinstance(inner, StepWithdrawn):
                is_again = following and _begun_step(following) == (call_id, inner.step_id)
                self.record.withdraw(chunk, inner.step_id, is_again=bool(is_again))
            else:
                self._note(chunk)

    def said(
        self,
        call: CallIds,
        message: AIMessage,
        about: Mapping[str, Any],
        namespace: tuple[str, ...],
    ) -> Iterator[Chunk]:
        """A piece of what a model says under a call, or all of it."""
        key = (call, about.get("langgraph_checkpoint_ns"), message.id)
        heard = self._heard.get(key)
        if heard is None or heard.under.is_over:
            yield from self._begin(call, message, about, namespace)
            heard = self._heard.get(key)
            if heard is None or heard.under.is_over:
                return
        elif heard.step.is_settled or not isinstance(message, AIMessageChunk):
            return
        id, under, step = heard.call_id, heard.under, heard.step
        yield from self._tell(id, under.steps.grow(step, message))
        if not isinstance(message, AIMessageChunk):
            yield from self._complete(id, under, step, message)
            yield from self._cut_finished()
        elif message.chunk_position == "last":
            self._spoken.add(step.step_id)
            yield from self._tell(id, under.steps.end_words(step))

    def _begin(
        self,
        call: CallIds,
        message: AIMessage,
        about: Mapping[str, Any],
        namespace: tuple[str, ...],
    ) -> Iterator[Chunk]:
        """Begin the step of a model that is heard for the first time, unless it is hidden."""
        id, under = self._find(call)
        if under is None:
            return
        agent = about.get(AGENT)
        speaker = speaker_of(namespace, about)
        if is_internal(about) or self._speakers.is_hidden(speaker):
            self._latest[id, message.id] = None
            return
        speaker = replace(speaker, agent=agent if isinstance(agent, str) else None)
        step_id = self._free_id(message.id)
        yield from self._open(id, under, step_id, speaker)
        step = self._latest[id, message.id] = under.steps.by_id[step_id]
        key = (call, about.get("langgraph_checkpoint_ns"), message.id)
        self._heard[key] = _Heard(id, under, step)

    def stored(
        self,
        call: CallIds,
        message: AIMessage | ToolMessage | RemoveMessage,
        namespace: tuple[str, ...],
    ) -> Iterator[Chunk]:
        """A message that a node under a call has written, or removed."""
        id, under = self._find(call)
        if under is None:
            return
        if isinstance(message, ToolMessage):
            yield from self._answered(id, under, message)
        else:
            known = self._latest.get((id, message.id), ...)
            if isinstance(message, RemoveMessage):
                # Its last words are taken back; earlier ones are removed to shorten a prompt.
                if isinstance(known, StreamedStep) and known.step_id == under.newest:
                    yield from self._take_away(id, under, known)
            elif known is ... and (id, message.id) not in self._earlier:
                yield from self._told_whole(id, under, message, namespace)
            elif isinstance(known, StreamedStep) and not known.is_withdrawn:
                yield from self._whole(id, under, known, message)
        yield from self._cut_finished()

    def _told_whole(
        self, id: str, under: _Under, message: AIMessage, namespace: tuple[str, ...]
    ) -> Iterator[Chunk]:
        """A message that was not heard."""
        step_id = self._free_id(message.id)
        yield from self._open(id, under, step_id, Speaker(None, namespace))
        step = self._latest[id, message.id] = under.steps.by_id[step_id]
        # Its calls get ids as if they streamed: those that it has may be taken.
        yield from self._tell(id, under.steps.grow(step, message))
        yield from self._complete(id, under, step, message)

    def _whole(
        self, id: str, under: _Under, step: StreamedStep, message: AIMessage
    ) -> Iterator[Chunk]:
        """A message that was told; again if its agent keeps it otherwise."""
        own = self._with_own_ids(id, step, message)
        if step.says(own):
            if step.message is None:
                yield from self._complete(id, under, step, own)
            return
        yield from self._take_away(id, under, step, again=True)
        yield from self._tell(id, under.steps.tell(own, step.speaker))
        told = self._latest[id, message.id] = under.steps.by_id[step.step_id]
        under.newest = step.step_id
        self._note_given_ids(id, told, message)
        for answer in step.answers:
            yield from self._tell(id, under.steps.answer(answer) or ())
        yield from self._finish_done(id, under, told)

    def _with_own_ids(self, id: str, step: StreamedStep, message: AIMessage) -> AIMessage:
        """The message as it is told: with the ids under which clients know the step and its
        calls."""
        calls, known = list[ToolCall](), step.parts.given_ids
        for place, call in enumerate(message.tool_calls):
            given = call["id"] or ""
            own = known.get(given) or self._own_ids.get((id, given), given)
            if own in self._call_ids and own not in step.tool_names:
                own = derived_id(step.step_id, place)
            calls.append({**call, "id": own})
        return message.model_copy(update={"id": step.step_id, "tool_calls": calls})

    def _take_away(
        self, id: str, under: _Under, step: StreamedStep, *, again: bool = False
    ) -> Iterator[Chunk]:
        """Withdraw a step. `again`: it is told again, above what ran under its calls."""
        yield from self._tell(id, under.steps.cut_off(step))
        if step.reason is None:
            yield from self._finish(id, under, step)
        under.ended.pop(step.step_id, None)
        if row := self.record.row(id, step.step_id):
            (self.record.remove if again else self._drop)(row)
        yield from self._tell(id, [step.withdrawn()])

    def stops_to_ask(
        self, call: CallIds, interrupt_ids: Iterable[str], speaker: Speaker
    ) -> Iterator[Chunk]:
        """Name the interrupts of a graph under a call in the step that came last, whose end is told
        again if it has ended. If there is none, they are a step without words, of this speaker.
        Later the graphs around have these interrupts too."""
        new = tuple(id for id in interrupt_ids if id not in self._interrupt_ids)
        self._interrupt_ids.update(new)
        id, under = self._find(call)
        if under is None or not new:
            return
        if step := under.steps.by_id.get(under.newest):
            step.interrupt_ids += new
        elif step := under.ended.get(under.newest):
            step.interrupt_ids += new
            yield from self._tell(id, [step.finish()])
        elif not self._speakers.is_hidden(speaker):
            step_id = self._free_id(new[0])
            yield from self._open(id, under, step_id, speaker)
            step = under.steps.by_id[step_id]
            step.interrupt_ids = new
            self._spoken.add(step_id)
            yield from self._finish(id, under, step)

    def end(self, call_id: str, answers: Mapping[CallIds, ToolMessage]) -> Iterator[Chunk]:
        """The call has its answer: end what runs under it. `answers` are those that tools have
        given inside of it: no node need have written them."""
        self.record.answer(call_id)
        for call, answer in sorted(answers.items(), key=lambda item: -len(item[0])):
            id, under = self._find(call[:-1])
            if under:
                given = answer.model_copy(update={"tool_call_id": call[-1]})
                yield from self._answered(id, under, given)
        yield from self._end(call_id)
        yield from self._cut_finished()

    def _end(self, call_id: str) -> Iterator[Chunk]:
        for id, (around, tool) in [*self._asked.items()]:
            if around == call_id:
                del self._asked[id]
                yield from self._end(id)
                answer = _unanswered(id, tool)
                yield from self._tell(call_id, [settled(answer, self._results(answer, tool))])
        under = self._under.get(call_id)
        if under is None or under.is_over:
            return
        under.is_over = True
        for step in under.steps:
            names = {id: step.tool_names[id] for id in step.open_calls}
            yield from self._tell(call_id, under.steps.cut_off(step))
            for id, name in names.items():
                yield from self._end(id)
                answer = _unanswered(id, name)
                yield from self._tell(call_id, under.steps.answer(answer) or ())
            yield from self._finish(call_id, under, step)

    def close_all(self) -> Iterator[Chunk]:
        """The run is over: calls that wait for somebody go on in another."""
        for call_id, under in [*self._under.items()][::-1]:
            if not under.is_over:
                for step in under.steps:
                    yield from self._tell(call_id, under.steps.cut_off(step))
                    yield from self._finish(call_id, under, step)
        yield from self._cut_finished()

    def _open(self, id: str, under: _Under, step_id: str, speaker: Speaker) -> Iterator[Chunk]:
        under.newest = step_id
        yield from self._tell(id, under.steps.open(step_id, speaker))

    def _complete(
        self, id: str, under: _Under, step: StreamedStep, message: AIMessage
    ) -> Iterator[Chunk]:
        yield from self._tell(id, under.steps.complete(step, message))
        yield from self._finish_done(id, under, step)

    def _finish_done(self, id: str, under: _Under, step: StreamedStep) -> Iterator[Chunk]:
        if step.is_done:
            yield from self._finish(id, under, step)

    def _finish(self, id: str, under: _Under, step: StreamedStep) -> Iterator[Chunk]:
        yield from self._tell(id, under.steps.close(step, self._reason(step)))
        under.ended[step.step_id] = under.steps.by_id.pop(step.step_id)

    def _reason(self, step: StreamedStep) -> FinishReason:
        if step.message is None:
            return "stop" if step.step_id in self._spoken else "other"
        return last_reason(step.message, pending=bool(step.message.tool_calls))

    def _answered(self, id: str, under: _Under, message: ToolMessage) -> Iterator[Chunk]:
        own = self._own_ids.get((id, message.tool_call_id))
        if own is None:
            return
        yield from self._end(own)
        answer = message.model_copy(update={"tool_call_id": own})
        if step := under.steps.open_calls.get(own):
            yield from self._tell(id, under.steps.answer(answer) or ())
            yield from self._finish_done(id, under, step)
        elif own in self._asked:
            call_id, tool = self._asked.pop(own)
            yield from self._tell(call_id, [settled(answer, self._results(answer, tool))])

    def _find(self, call: CallIds) -> tuple[str, _Under | None]:
        """The call as clients know it, and what runs under it; None: no client knows the call, or
        it is over."""
        id, *inner = call or ("",)
        for given in inner:
            id = self._own_ids.get((id, given), "")
        under = self._under.get(id)
        if under is None:
            if id not in self.record.roots:
                if not (self._is_open(id) and can_be_kept(id)):
                    return id, None
                self.record.roots[id] = id
            told = self._message_id, self._call_ids, BY_ITS_AGENT, self._results
            steps = ToldSteps(*told, names_agents=False)
            under = self._under[id] = _Under(steps)
        return id, None if under.is_over else under

    def _free_id(self, given: str | None) -> str:
        id = given or "step"
        if id in self._step_ids:
            id = f"{id}-{len(self._step_ids)}"
        self._step_ids.add(id)
        return id

    def _tell(self, call_id: str, chunks: Iterable[Any]) -> Iterator[Chunk]:
        for chunk in chunks:
            told = Substep(call_id, chunk)
            self._note(told)
            yield told

    def _note(self, told: Substep) -> None:
        chunk = told.chunk
        if isinstance(chunk, PartStart) and isinstance(chunk.part, ToolCallPart):
            self._note_call(told.tool_call_id, chunk.part.tool_call_id, chunk.step_id)
        self.record.note(told)

    def _note_call(self, call_id: str, id: str, step_id: str) -> None:
        self.record.note_call(call_id, id, step_id)
        under = self._under.get(call_id)
        step = under.steps.by_id.get(step_id) if under else None
        given = step.parts.given_id(len(step.tool_names) - 1) if step else None
        self._call_ids.add(id)
        self._own_ids[call_id, id] = id
        if given and given != id:
            self._own_ids[call_id, given] = id
            if row := self.record.row(call_id, step_id):
                row.given_ids[given] = id

    def _note_given_ids(self, call_id: str, step: StreamedStep, message: AIMessage) -> None:
        """Note the ids that a message has for the calls of a step."""
        given = (call["id"] or "" for call in message.tool_calls)
        given_ids = dict(zip(given, step.tool_names, strict=False))
        self._own_ids |= {(call_id, given): own for given, own in given_ids.items()}
        if row := self.record.row(call_id, step.step_id):
            row.given_ids = {given: own for given, own in given_ids.items() if given != own}

    def _cut_finished(self) -> Iterator[Chunk]:
        """Withdraw the steps that the record has no room for."""
        for row, below in self.record.cut(self._goes_on):
            under = self._under.get(row.call_id)
            step = under.ended.pop(row.step_id, None) if under else None
            self._forget(below)
            withdrawn = step.withdrawn() if step else StepWithdrawn(row.step_id, ())
            told = Substep(row.call_id, withdrawn)
            self.record.told.take(told)
            yield told

    def _goes_on(self, call_id: str, step_id: str) -> bool:
        under = self._under.get(call_id)
        return under is not None and step_id in under.steps.by_id

    def _drop(self, row: Row) -> None:
        self._forget(self.record.drop(row))

    def _forget(self, call_ids: Iterable[str]) -> None:
        """Forget the steps under calls whose steps are cut."""
        for id in call_ids:
            if under := self._under.get(id):
                under.ended.clear()


def ends_of_substeps(told: Iterable[Chunk]) -> list[Chunk]:
    """Return the chunks that end the substeps of a run whose log breaks off."""
    steps: dict[tuple[str, str], dict[Path, PartStart | None]] = {}
    for chunk in told:
        if not isinstance(chunk, Substep):
            continue
        match chunk.chunk:
            case StepStart(_, id):
                steps[chunk.tool_call_id, id] = {}
            case PartStart(id, path):
                steps[chunk.tool_call_id, id][path] = chunk.chunk
            case ArgsFinish(id, path):
                steps[chunk.tool_call_id, id][path] = None
            case PartFinish(id, path):
                steps[chunk.tool_call_id, id].pop(path, None)
            case StepFinish(id) | StepWithdrawn(id):
                steps.pop((chunk.tool_call_id, id), None)
    return [Substep(call, end) for (call, id), parts in steps.items() for end in _ends(id, parts)]


def _ends(step_id: str, parts: Mapping[Path, PartStart | None]) -> Iterator[StepChunk]:
    for path, start in parts.items():
        if start and isinstance(start.part, ToolCallPart):
            yield ArgsFinish(step_id, path, None, "invalid")
        yield PartFinish(step_id, path)
    yield StepFinish(step_id, "other", Usage(0, 0))


def _begun_step(told: Substep) -> StepKey | None:
    """Return the step that a chunk begins."""
    inner = told.chunk
    return (told.tool_call_id, inner.step_id) if isinstance(inner, StepStart) else None


def _unanswered(call_id: str, tool: str) -> ToolMessage:
    call = ToolCall(id=call_id, name=tool, args={})
    return failed(call, "run_ended", SUBAGENT_ENDED, end="cancelled")
