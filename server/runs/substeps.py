"""The substeps of a run: what its subagents say and do under tool calls, told and kept.

What was told is what is kept: unlike the steps of the answer, nothing is compared with the state of
a graph. A row of the store is a substep; the substeps of one call of the answer, and of the calls
below it, share a bound.
"""

import asyncio
import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    RemoveMessage,
    ToolCall,
    ToolMessage,
)

from turnstream.graphs.answers import failed, truncated
from turnstream.graphs.calls import derived_id
from turnstream.graphs.classify import Classifier
from turnstream.graphs.result_view import ResultView, hidden_result, shows_undeclared
from turnstream.server.runs.endings import last_reason, settled
from turnstream.server.runs.speakers import Speaker, Speakers, is_internal, speaker_of
from turnstream.server.runs.step import StreamedStep
from turnstream.server.runs.subagents import AGENT, CallIds
from turnstream.server.runs.told_steps import ToldSteps
from turnstream.server.storage.kept_substeps import KeptSubstep, KeptSubsteps, can_be_kept
from turnstream.server.turns.accumulate import ToldSubsteps, substep_chunks
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    FinishReason,
    PartFinish,
    PartMade,
    PartStart,
    Path,
    Result,
    StepChunk,
    StepFinish,
    StepStart,
    StepWithdrawn,
    Substep,
    ToolCallPart,
    ToolSettled,
    Usage,
)
from turnstream.server.turns.codec import from_json, to_json
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.messages import SUBAGENT_ENDED, MessagePart, Reasoning, Step, Text
from turnstream.server.turns.messages import ToolCall as ShownCall
from turnstream.server.turns.size import text_bytes
from turnstream.tools.catalogue import Catalogue

BY_ITS_AGENT = Classifier(Catalogue((), ()), unknown="server")
"""Nobody but its agent ends a call of a subagent."""
STEP_BYTES = PART_BYTES = 200
"""The size of a substep, and of a part of it, without its text."""


@dataclass(slots=True)
class _Under:
    """The steps under one call; `root` is the call of the answer around it."""

    root: str
    steps: ToldSteps
    """The steps that go on."""
    ended: dict[str, StreamedStep] = field(default_factory=dict)
    newest: str = ""
    """The id of the step that began last."""
    is_over: bool = False


@dataclass(slots=True)
class _Row:
    """A substep on its way into the store."""

    root: str
    place: int
    call_id: str
    step_id: str
    run_id: str | None = None
    """The earlier run that wrote it; None: this one."""
    given_ids: dict[str, str] = field(default_factory=dict)
    """The ids of its calls, by those that their model gave, where they are others."""
    settled: dict[str, str | None] = field(default_factory=dict)
    """The later runs that have ended its calls, by call id; None: this run."""
    size: int = STEP_BYTES


@dataclass(slots=True)
class _Changes:
    """Changes to be written of the substeps under one call of the answer."""

    rows: dict[tuple[str, str], None] = field(default_factory=dict)
    """By call and step."""
    gone: dict[int, None] = field(default_factory=dict)
    """The places of rows that are to be removed."""
    counts: bool = False
    """True if the numbers of steps that were cut have changed."""

    def add(self, other: "_Changes") -> None:
        self.rows |= other.rows
        self.gone |= other.gone
        self.counts |= other.counts


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
        self._is_open, self._max_bytes = is_open, max_bytes
        self._under: dict[str, _Under] = {}
        self._roots: dict[str, str] = {}
        """By call id, also of calls that nothing runs under."""
        self._own_ids: dict[tuple[str, str], str] = {}
        """The ids of calls, by the call around them and the id that their model gave last."""
        self._steps_of_calls: dict[str, tuple[str, str]] = {}
        """The call around each call, and the step that makes it."""
        self._heard: dict[tuple[str, Any, str | None], StreamedStep] = {}
        self._latest: dict[tuple[str, str | None], StreamedStep | None] = {}
        """The steps by call and message id; None: one that is hidden."""
        self._earlier: set[tuple[str, str | None]] = set()
        """The steps of earlier runs, by call and step id: middleware may write them again."""
        self._step_ids: set[str] = set()
        self._spoken: set[str] = set()
        """The ids of the steps whose models were heard to their end."""
        self._told = ToldSubsteps()
        self._rows: dict[str, dict[tuple[str, str], _Row]] = {}
        """By call of the answer, then by call and step, in the order in which they began."""
        self._changed: dict[str, _Changes] = {}
        self._begun: set[str] = set()
        """The calls of the answer of which the store may have rows of another with the same id."""
        self._answered_roots: set[str] = set()
        """The calls of the answer that have ended since their rows were written last."""
        self._has_ended = False
        """True if a substep has ended since this was asked last."""
        self._finished: set[str] = set()
        """The calls of the answer under which steps have ended since the last look at their size.
        """
        self._places: dict[str, int] = {}
        self._known_places: dict[tuple[str, str], int] = {}
        """The places at which this run has written steps that its log tells again."""
        self._cut_counts: dict[str, dict[str, int]] = {}
        """The number of steps that were cut, by call of the answer and by call."""
        self._count_places: dict[str, int] = {}
        self._bytes: dict[str, int] = {}
        self._asked: dict[str, tuple[str, str, str]] = {}
        """The call, the step and the tool of each call that earlier runs have left open."""
        self._interrupt_ids: set[str] = set()
        self._writing = asyncio.Lock()

    def take_back(self, rows: Iterable[KeptSubstep]) -> None:
        """Take what is kept under the calls that earlier runs have left open."""
        for row in rows:
            self._take_back(row)

    def take_told(self, told: Sequence[Chunk], run_id: str, rows: Sequence[KeptSubstep]) -> None:
        """Take what the log of a run tells. `rows` are what the store has under the calls of the
        answer that it tells of, of earlier runs and of this one."""
        substeps = [chunk for chunk in told if isinstance(chunk, Substep)]
        starts = {
            (one.tool_call_id, one.chunk.step_id)
            for one in substeps
            if isinstance(one.chunk, StepStart)
        }
        for row in rows:
            body = json.loads(row.body or "{}")
            if row.run_id == run_id and "cut" in body:
                self._changes(row.call_id).gone[row.place] = None
            elif (step := (body.get("call"), body.get("step"))) in starts:
                self._known_places[step] = row.place
                self._changes(row.call_id).gone[row.place] = None
                self._places[row.call_id] = row.place + 1
            else:
                self._take_back(row)
        for chunk, following in zip(substeps, [*substeps[1:], None], strict=True):
            call_id, inner = chunk.tool_call_id, chunk.chunk
            self._roots.setdefault(call_id, call_id)
            if not isinstance(inner, StepWithdrawn):
                self._note(call_id, inner)
            else:
                self._take_withdrawn(chunk, inner.step_id, following)

    def _take_withdrawn(self, told: Substep, step_id: str, following: Substep | None) -> None:
        call_id = told.tool_call_id
        cut = self._row(call_id, step_id)
        if following and _starts(following, (call_id, step_id)):
            if cut:
                self._remove(cut)
                self._known_places[call_id, step_id] = cut.place
        elif cut:
            self._drop(cut)
        else:
            # The run itself has removed its row already.
            self._count_cut(self._roots[call_id], call_id)
        self._told.take(told)

    def said(
        self,
        call: CallIds,
        message: AIMessage,
        about: Mapping[str, Any],
        namespace: tuple[str, ...],
    ) -> Iterator[Chunk]:
        """A piece of what a model says under a call, or all of it."""
        id, under = self._find(call)
        if under:
            yield from self._said(id, under, message, about, namespace)
            yield from self._cut_finished()

    def _said(
        self,
        id: str,
        under: _Under,
        message: AIMessage,
        about: Mapping[str, Any],
        namespace: tuple[str, ...],
    ) -> Iterator[Chunk]:
        key = (id, about.get("langgraph_checkpoint_ns"), message.id)
        step = self._heard.get(key)
        if step is None:
            agent = about.get(AGENT)
            speaker = speaker_of(namespace, about)
            if is_internal(about) or self._speakers.is_hidden(speaker):
                self._latest[id, message.id] = None
                return
            speaker = replace(speaker, agent=agent if isinstance(agent, str) else None)
            step_id = self._free_id(message)
            yield from self._open(id, under, step_id, speaker)
            step = self._heard[key] = self._latest[id, message.id] = under.steps.by_id[step_id]
        elif step.is_settled or not isinstance(message, AIMessageChunk):
            return
        yield from self._tell(id, under.steps.grow(step, message))
        if isinstance(message, AIMessageChunk):
            if message.chunk_position == "last":
                self._spoken.add(step.step_id)
        else:
            yield from self._complete(id, under, step, message)

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
        step_id = self._free_id(message)
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
        if row := self._row(id, step.step_id):
            (self._remove if again else self._drop)(row)
        yield from self._tell(id, [step.withdrawn()])

    def stops_to_ask(self, call: CallIds, interrupt_ids: Iterable[str]) -> Iterator[Chunk]:
        """Name the interrupts of a graph under a call in the step that came last, whose end is told
        again if it has ended. Later the graphs around have these interrupts too."""
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

    def end(self, call_id: str) -> Iterator[Chunk]:
        """The call has its answer: end what runs under it."""
        if call_id in self._bytes:
            self._answered_roots.add(call_id)
        yield from self._end(call_id)
        yield from self._cut_finished()

    def _end(self, call_id: str) -> Iterator[Chunk]:
        for id, (around, _, tool) in [*self._asked.items()]:
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

    @property
    def has_spoken(self) -> bool:
        """True if something under a call was told, or is kept of an earlier run."""
        return bool(self._rows)

    def take_ended(self) -> bool:
        """Return True if substeps have ended since this was asked last."""
        has_ended, self._has_ended = self._has_ended, False
        return has_ended

    @property
    def has_answered(self) -> bool:
        """True if calls of the answer have ended whose last substeps are not written."""
        return bool(self._answered_roots)

    async def keep(
        self, store: KeptSubsteps, key: ThreadKey, run_id: str, *, of_answered: bool = False
    ) -> None:
        """Write what has changed since this was done last. `of_answered`: only under calls that
        have their answers, which are to be told. Raises StorageError."""
        async with self._writing:
            roots = {*self._changed}
            if of_answered:
                roots &= self._answered_roots
            self._answered_roots -= self._answered_roots if of_answered else roots
            changed = {root: self._changed.pop(root) for root in roots}
            begun = roots & self._begun
            rows = [row for root in roots for row in self._kept(root, changed[root], run_id)]
            if not rows:
                return
            try:
                await store.put_substeps(key, run_id, rows, begun)
            except BaseException:
                for root, changes in changed.items():
                    self._changes(root).add(changes)
                raise
            self._begun -= begun

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
            call_id, _, tool = self._asked.pop(own)
            yield from self._tell(call_id, [settled(answer, self._results(answer, tool))])

    def _find(self, call: CallIds) -> tuple[str, _Under | None]:
        """The call as clients know it, and what runs under it; None: no client knows the call, or
        it is over."""
        id, *inner = call or ("",)
        for given in inner:
            id = self._own_ids.get((id, given), "")
        under = self._under.get(id)
        if under is None:
            root = self._roots.get(id) or (id if self._is_open(id) and can_be_kept(id) else None)
            if root is None:
                return id, None
            self._roots[id] = root
            steps = ToldSteps(self._message_id, self._call_ids, BY_ITS_AGENT, self._results)
            under = self._under[id] = _Under(root, steps)
        return id, None if under.is_over else under

    def _free_id(self, message: AIMessage) -> str:
        id = message.id or "step"
        if id in self._step_ids:
            id = f"{id}-{len(self._step_ids)}"
        self._step_ids.add(id)
        return id

    def _tell(self, call_id: str, chunks: Iterable[Any]) -> Iterator[Chunk]:
        for chunk in chunks:
            self._note(call_id, chunk)
            yield Substep(call_id, chunk)

    def _note(self, call_id: str, chunk: StepChunk | ToolSettled) -> None:
        if isinstance(chunk, PartStart) and isinstance(chunk.part, ToolCallPart):
            self._note_call(call_id, chunk.part.tool_call_id, chunk.step_id)
        if self._max_bytes:
            self._note_row(call_id, chunk)

    def _note_row(self, call_id: str, chunk: StepChunk | ToolSettled) -> None:
        self._told.take(Substep(call_id, chunk))
        if isinstance(chunk, ToolSettled):
            _, step_id = self._steps_of_calls.get(chunk.tool_call_id, ("", ""))
        else:
            step_id = chunk.step_id
        if isinstance(chunk, StepStart):
            self._begin(call_id, step_id)
        if row := self._row(call_id, step_id):
            if isinstance(chunk, ToolSettled):
                row.settled[chunk.tool_call_id] = None
            size = text_bytes(chunk) + PART_BYTES * isinstance(chunk, PartStart | PartMade)
            row.size += size
            self._bytes[row.root] += size
            self._changes(row.root).rows[call_id, step_id] = None
            if isinstance(chunk, StepFinish):
                self._finished.add(row.root)
                self._has_ended = True

    def _note_call(self, call_id: str, id: str, step_id: str) -> None:
        self._roots[id] = self._roots[call_id]
        self._steps_of_calls[id] = call_id, step_id
        under = self._under.get(call_id)
        step = under.steps.by_id.get(step_id) if under else None
        given = step.parts.given_id(len(step.tool_names) - 1) if step else None
        self._call_ids.add(id)
        self._own_ids[call_id, id] = id
        if given and given != id:
            self._own_ids[call_id, given] = id
            if row := self._row(call_id, step_id):
                row.given_ids[given] = id

    def _note_given_ids(self, call_id: str, step: StreamedStep, message: AIMessage) -> None:
        """Note the ids that a message has for the calls of a step."""
        given = (call["id"] or "" for call in message.tool_calls)
        given_ids = dict(zip(given, step.tool_names, strict=False))
        self._own_ids |= {(call_id, given): own for given, own in given_ids.items()}
        if row := self._row(call_id, step.step_id):
            row.given_ids = {given: own for given, own in given_ids.items() if given != own}

    def _begin(self, call_id: str, step_id: str) -> _Row:
        root = self._roots[call_id]
        if root not in self._places:
            self._begun.add(root)
        place = self._known_places.pop((call_id, step_id), self._places.get(root, 0))
        self._places[root] = max(place + 1, self._places.get(root, 0))
        self._changes(root).gone.pop(place, None)
        self._bytes[root] = self._bytes.get(root, 0) + STEP_BYTES
        row = _Row(root, place, call_id, step_id)
        self._rows.setdefault(root, {})[call_id, step_id] = row
        return row

    def _row(self, call_id: str, step_id: str) -> _Row | None:
        return self._rows.get(self._roots.get(call_id, ""), {}).get((call_id, step_id))

    def _changes(self, root: str) -> _Changes:
        return self._changed.setdefault(root, _Changes())

    def _cut_finished(self) -> Iterator[Chunk]:
        """Cut the oldest substeps that are over, where all are too long: down to half of the bound,
        since what follows would soon be too long again."""
        finished, self._finished = self._finished, set()
        for root in finished:
            if self._bytes[root] > self._max_bytes:
                yield from self._cut(root)

    def _cut(self, root: str) -> Iterator[Chunk]:
        *others, _newest = self._rows[root].values()
        for row in others:
            if self._bytes[root] <= self._max_bytes // 2:
                return
            if self._row(row.call_id, row.step_id) is row and self._is_over(row):
                under = self._under.get(row.call_id)
                step = under.ended.pop(row.step_id, None) if under else None
                self._drop(row)
                withdrawn = step.withdrawn() if step else StepWithdrawn(row.step_id, ())
                self._told.take(Substep(row.call_id, withdrawn))
                yield Substep(row.call_id, withdrawn)

    def _is_over(self, row: _Row) -> bool:
        """Check that nothing is to come of a step."""
        under = self._under.get(row.call_id)
        if under and row.step_id in under.steps.by_id:
            return False
        parts = self._told.step(row.call_id, row.step_id).parts
        return not any(isinstance(part, ShownCall) and part.end is None for part in parts)

    def _drop(self, row: _Row) -> None:
        """Cut a substep, and with it what ran under its calls."""
        for part in self._told.step(row.call_id, row.step_id).parts:
            if isinstance(part, ShownCall):
                self._drop_below(row.root, part.tool_call_id)
        self._count_cut(row.root, row.call_id)
        self._remove(row)

    def _count_cut(self, root: str, call_id: str) -> None:
        counts = self._cut_counts.setdefault(root, {})
        counts[call_id] = counts.get(call_id, 0) + 1
        self._changes(root).counts = True

    def _drop_below(self, root: str, call_id: str) -> None:
        for step in self._told.of(call_id):
            for part in step.parts:
                if isinstance(part, ShownCall):
                    self._drop_below(root, part.tool_call_id)
            if row := self._row(call_id, step.step_id):
                self._remove(row)
        if under := self._under.get(call_id):
            under.ended.clear()
        self._cut_counts.get(root, {}).pop(call_id, None)
        self._told.forget(call_id)

    def _remove(self, row: _Row) -> None:
        del self._rows[row.root][row.call_id, row.step_id]
        self._bytes[row.root] -= row.size
        changes = self._changes(row.root)
        changes.rows.pop((row.call_id, row.step_id), None)
        changes.gone[row.place] = None

    def _kept(self, root: str, changes: _Changes, run_id: str) -> Iterator[KeptSubstep]:
        count_place = self._count_places.setdefault(root, -1)
        for place in changes.gone:
            if not (changes.counts and place == count_place):
                yield KeptSubstep(root, place, run_id, None)
        if changes.counts:
            yield KeptSubstep(
                root, count_place, run_id, json.dumps({"cut": self._cut_counts[root]})
            )
        for key in changes.rows:
            if row := self._rows[root].get(key):
                step = self._told.step(row.call_id, row.step_id)
                if row.size > self._max_bytes:
                    step = _shortened(step, self._max_bytes)
                about = {
                    "call": row.call_id,
                    "step": row.step_id,
                    "given_ids": row.given_ids,
                    "shows_results": shows_undeclared(self._results),
                }
                if row.settled:
                    about["settled"] = {id: run or run_id for id, run in row.settled.items()}
                body = json.dumps({**about, "chunks": [*map(to_json, substep_chunks(step))]})
                yield KeptSubstep(root, row.place, row.run_id or run_id, body)

    def _take_back(self, kept: KeptSubstep) -> None:
        """A row of an earlier run, or of this one where its log lacks it."""
        root, body = kept.call_id, json.loads(kept.body or "{}")
        self._roots[root] = root
        self._places[root] = max(kept.place, self._places.get(root, 0))
        if "cut" in body:
            self._count_places[root] = min(kept.place, self._count_places.get(root, 0)) - 1
            return
        call_id, step_id = body["call"], body["step"]
        self._roots.setdefault(call_id, root)
        for chunk in _chunks_of(body, self._results):
            self._note(call_id, chunk)
        self._step_ids.add(step_id)
        self._earlier.add((call_id, step_id))
        if row := self._row(call_id, step_id):
            row.run_id, row.given_ids = kept.run_id, body["given_ids"]
            row.settled = body.get("settled", {})
        self._own_ids |= {(call_id, given): own for given, own in body["given_ids"].items()}
        self._changes(root).rows.pop((call_id, step_id), None)
        for part in self._told.step(call_id, step_id).parts:
            if isinstance(part, ShownCall) and part.end is None:
                self._asked[part.tool_call_id] = call_id, step_id, part.tool_name


def told_substeps(
    rows: Iterable[KeptSubstep], results: ResultView, without_run: str | None = None
) -> ToldSubsteps:
    """Return the substeps of kept rows, with as much of their results as clients see now; without
    those that this run has brought to steps of earlier ones."""
    told = ToldSubsteps()
    for row in rows:
        body = json.loads(row.body or "{}")
        for call_id, count in body.get("cut", {}).items():
            told.note_cut(call_id, count)
        settled = {id for id, run_id in body.get("settled", {}).items() if run_id == without_run}
        for chunk in _without_results(_chunks_of(body, results), settled):
            told.take(Substep(body["call"], chunk))
    return told


def _without_results(chunks: Iterable[Any], call_ids: Container[str]) -> Iterator[Any]:
    calls: dict[Path, str] = {}
    for chunk in chunks:
        if isinstance(chunk, PartStart) and isinstance(chunk.part, ToolCallPart):
            calls[chunk.path] = chunk.part.tool_call_id
        if not (isinstance(chunk, Result) and calls[chunk.path] in call_ids):
            yield chunk


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


def _chunks_of(body: Mapping[str, Any], results: ResultView) -> Iterator[Any]:
    hides = body.get("shows_results") and not shows_undeclared(results)
    for chunk in map(from_json, body.get("chunks", ())):
        if hides and isinstance(chunk, Result):
            yield replace(chunk, result=hidden_result(chunk.result, is_error=chunk.is_error))
        else:
            yield chunk


def _starts(told: Substep, step: tuple[str, str]) -> bool:
    """Check that a chunk begins a step, which is named by its call and its id."""
    inner = told.chunk
    return isinstance(inner, StepStart) and (told.tool_call_id, inner.step_id) == step


def _unanswered(call_id: str, tool: str) -> ToolMessage:
    call = ToolCall(id=call_id, name=tool, args={})
    return failed(call, "run_ended", SUBAGENT_ENDED, end="cancelled")


def _shortened(step: Step, max_bytes: int) -> Step:
    """A step that is too long by itself, in about so many bytes."""
    left, parts = max_bytes, list[MessagePart]()
    for part in step.parts:
        # Calls have room of their own: a subagent may have to go on with them.
        has_room = left > (-max_bytes if isinstance(part, ShownCall) else 0)
        short = _shortened_part(part, max(left, 0)) if has_room else None
        if short is not None:
            told = substep_chunks(replace(step, parts=(short,)))
            left -= PART_BYTES + sum(map(text_bytes, told))
            parts.append(short)
    return replace(step, parts=tuple(parts))


def _shortened_part(part: MessagePart, max_bytes: int) -> MessagePart | None:
    """None: the part has no shorter form."""
    match part:
        case Text() | Reasoning():
            return replace(part, text=part.text[:max_bytes])
        case ShownCall():
            if len(part.args_text) > max_bytes:
                part = replace(part, args_text="{}", args={})
            size = len(json.dumps(part.result))
            return replace(part, result=truncated(size, max_bytes)) if size > max_bytes else part
    return part if len(part.url) <= max_bytes else None
