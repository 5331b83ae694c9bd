"""The substeps of a run as they are kept with the thread: a row each, within a bound.

The substeps under one call of the answer, and under the calls below it, share the bound. That call
is their root. Where they get too long, the oldest that are over are cut, and counted.
"""

import asyncio
import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from turnstream.graphs.answers import truncated
from turnstream.graphs.result_view import ResultView, hidden_result, shows_undeclared
from turnstream.server.storage.kept_substeps import KeptSubstep, KeptSubsteps
from turnstream.server.turns.accumulate import ToldSubsteps, substep_chunks
from turnstream.server.turns.chunks import (
    PartStart,
    Path,
    Result,
    StepFinish,
    StepStart,
    Substep,
    TextDelta,
    ToolCallPart,
    ToolSettled,
)
from turnstream.server.turns.codec import from_json, to_json
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.messages import MessagePart, Reasoning, Step, Text, ToolCall
from turnstream.server.turns.size import text_bytes

STEP_BYTES = PART_BYTES = 200
"""The size of a substep, and of a part of it, without its text."""

StepKey = tuple[str, str]
"""A substep: the call under which it runs, and its id."""


@dataclass(slots=True)
class Row:
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
    """Changes to be written of the substeps of one root."""

    rows: dict[StepKey, None] = field(default_factory=dict)
    gone: dict[int, None] = field(default_factory=dict)
    """The places of rows that are to be removed."""
    counts: bool = False
    """True if the numbers of steps that were cut have changed."""

    def add(self, other: "_Changes") -> None:
        self.rows |= other.rows
        self.gone |= other.gone
        self.counts |= other.counts


class SubstepRecord:
    """`max_bytes` of the substeps of one root are kept. 0: nothing is kept."""

    def __init__(self, results: ResultView, max_bytes: int) -> None:
        self._results, self._max_bytes = results, max_bytes
        self.roots: dict[str, str] = {}
        """By call id, also of calls that nothing runs under."""
        self.told = ToldSubsteps()
        self._steps_of_calls: dict[str, StepKey] = {}
        """The step that makes each call."""
        self._rows: dict[StepKey, Row] = {}
        """In the order in which they began."""
        self._grown: set[StepKey] = set()
        """The rows whose texts have grown since they were written last."""
        self._changed: dict[str, _Changes] = {}
        self._begun: set[str] = set()
        """The roots of which the store may have rows of another call with the same id."""
        self._answered: set[str] = set()
        """The roots that have ended since their rows were written last."""
        self._has_ended = False
        """True if a substep has ended since this was asked last."""
        self._finished: set[str] = set()
        """The roots under which steps have ended since the last look at their size."""
        self._places: dict[str, int] = {}
        self._known_places: dict[StepKey, int] = {}
        """The places at which this run has written steps that its log tells again."""
        self._cut_counts: dict[str, dict[str, int]] = {}
        """The number of steps that were cut, by root and by call."""
        self._count_places: dict[str, int] = {}
        self._bytes: dict[str, int] = {}
        self._writing = asyncio.Lock()

    @property
    def is_empty(self) -> bool:
        """True if nothing under a call was told, nor is kept of an earlier run."""
        return not self._rows

    @property
    def has_answered(self) -> bool:
        """True if calls of the answer have ended whose last substeps are not written."""
        return bool(self._answered)

    def take_ended(self) -> bool:
        """Return True if substeps have ended since this was asked last."""
        has_ended, self._has_ended = self._has_ended, False
        return has_ended

    def answer(self, call_id: str) -> None:
        """Note that a call of the answer has its end."""
        if call_id in self._bytes:
            self._answered.add(call_id)

    def note_call(self, call_id: str, id: str, step_id: str) -> None:
        """Note a call that a step under `call_id` makes."""
        self.roots[id] = self.roots[call_id]
        self._steps_of_calls[id] = call_id, step_id

    def note(self, told: Substep) -> None:
        """Add a chunk to the row of its step. The text of a step counts once the step has ended."""
        if not self._max_bytes:
            return
        self.told.take(told)
        call_id, chunk = told.tool_call_id, told.chunk
        if isinstance(chunk, TextDelta):
            self._grown.add((call_id, chunk.step_id))
            return
        if isinstance(chunk, ToolSettled):
            _, step_id = self._steps_of_calls.get(chunk.tool_call_id, ("", ""))
        else:
            step_id = chunk.step_id
        if isinstance(chunk, StepStart):
            self._begin(call_id, step_id)
        if row := self.row(call_id, step_id):
            self._changes(row.root).rows[call_id, step_id] = None
            if isinstance(chunk, ToolSettled):
                row.settled[chunk.tool_call_id] = None
            if isinstance(chunk, ToolSettled | StepFinish):
                size = _size(self.told.step(call_id, step_id))
                self._bytes[row.root] += size - row.size
                row.size = size
            if isinstance(chunk, StepFinish):
                self._finished.add(row.root)
                self._has_ended = True

    def _begin(self, call_id: str, step_id: str) -> None:
        root = self.roots[call_id]
        if root not in self._places:
            self._begun.add(root)
        place = self._known_places.pop((call_id, step_id), self._places.get(root, 0))
        self._places[root] = max(place + 1, self._places.get(root, 0))
        self._changes(root).gone.pop(place, None)
        self._bytes[root] = self._bytes.get(root, 0) + STEP_BYTES
        self._rows[call_id, step_id] = Row(root, place, call_id, step_id)

    def row(self, call_id: str, step_id: str) -> Row | None:
        return self._rows.get((call_id, step_id))

    def _changes(self, root: str) -> _Changes:
        return self._changed.setdefault(root, _Changes())

    # what earlier runs have written, or this one

    def take_row(self, kept: KeptSubstep) -> Mapping[str, Any] | None:
        """Begin to take a row of the store, whose chunks are to be noted next, then `took_row`.
        None: it is the number of steps that were cut."""
        root, body = kept.call_id, json.loads(kept.body or "{}")
        self.roots[root] = root
        self._places[root] = max(kept.place, self._places.get(root, 0))
        if "cut" in body:
            self._count_places[root] = min(kept.place, self._count_places.get(root, 0)) - 1
            return None
        self.roots.setdefault(body["call"], root)
        return dict(body)

    def took_row(self, kept: KeptSubstep, body: Mapping[str, Any]) -> list[ToolCall]:
        """End to take a row: it is as the store has it. Return its calls that wait."""
        call_id, step_id = body["call"], body["step"]
        if row := self.row(call_id, step_id):
            row.run_id, row.given_ids = kept.run_id, dict(body["given_ids"])
            row.settled = dict(body.get("settled", {}))
        self._changes(kept.call_id).rows.pop((call_id, step_id), None)
        self._grown.discard((call_id, step_id))
        parts = self.told.step(call_id, step_id).parts
        return [part for part in parts if isinstance(part, ToolCall) and part.end is None]

    def expect(self, row: KeptSubstep, step: StepKey | None) -> None:
        """Replace a row that this run has written by what its log tells: a step, or with None the
        numbers of steps that were cut."""
        self._changes(row.call_id).gone[row.place] = None
        if step is not None:
            self._known_places[step] = row.place
            self._places[row.call_id] = row.place + 1

    def withdraw(self, told: Substep, step_id: str, *, is_again: bool) -> None:
        """Take from a log that a step was withdrawn. `is_again`: it is told again behind that."""
        call_id = told.tool_call_id
        row = self.row(call_id, step_id)
        if is_again:
            if row:
                self.remove(row)
                self._known_places[call_id, step_id] = row.place
        elif row:
            self.drop(row)
        else:
            # The run itself has removed its row already.
            self._count_cut(self.roots[call_id], call_id)
        self.told.take(told)

    # the bound

    def cut(self, goes_on: Callable[[str, str], bool]) -> Iterator[tuple[Row, list[str]]]:
        """Cut the oldest substeps that are over, where all of a root are too long: down to half of
        the bound, since what follows would soon be too long again. `goes_on` tells of a step by its
        call and its id. Yield each row with the calls below it, under which nothing is left."""
        finished, self._finished = self._finished, set()
        for root in finished:
            if self._bytes[root] > self._max_bytes:
                yield from self._cut(root, goes_on)

    def _cut(
        self, root: str, goes_on: Callable[[str, str], bool]
    ) -> Iterator[tuple[Row, list[str]]]:
        *others, _newest = (row for row in self._rows.values() if row.root == root)
        for row in others:
            if self._bytes[root] <= self._max_bytes // 2:
                return
            is_there = self.row(row.call_id, row.step_id) is row
            if is_there and not goes_on(row.call_id, row.step_id) and self._is_answered(row):
                yield row, self.drop(row)

    def _is_answered(self, row: Row) -> bool:
        """Check that all calls of a step have their ends."""
        parts = self.told.step(row.call_id, row.step_id).parts
        return not any(isinstance(part, ToolCall) and part.end is None for part in parts)

    def drop(self, row: Row) -> list[str]:
        """Cut a substep, and with it what ran under its calls. Return these calls."""
        below = [
            id
            for part in self.told.step(row.call_id, row.step_id).parts
            if isinstance(part, ToolCall)
            for id in self._drop_below(row.root, part.tool_call_id)
        ]
        self._count_cut(row.root, row.call_id)
        self.remove(row)
        return below

    def _drop_below(self, root: str, call_id: str) -> Iterator[str]:
        for step in self.told.of(call_id):
            for part in step.parts:
                if isinstance(part, ToolCall):
                    yield from self._drop_below(root, part.tool_call_id)
            if row := self.row(call_id, step.step_id):
                self.remove(row)
        self._cut_counts.get(root, {}).pop(call_id, None)
        self.told.forget(call_id)
        yield call_id

    def _count_cut(self, root: str, call_id: str) -> None:
        counts = self._cut_counts.setdefault(root, {})
        counts[call_id] = counts.get(call_id, 0) + 1
        self._changes(root).counts = True

    def remove(self, row: Row) -> None:
        del self._rows[row.call_id, row.step_id]
        self._bytes[row.root] -= row.size
        changes = self._changes(row.root)
        changes.rows.pop((row.call_id, row.step_id), None)
        changes.gone[row.place] = None

    # the store

    async def write(
        self, store: KeptSubsteps, key: ThreadKey, run_id: str, *, of_answered: bool = False
    ) -> None:
        """Write what has changed since this was done last. `of_answered`: only under calls that
        have their answers, which are to be told. Raises StorageError."""
        async with self._writing:
            self._take_grown()
            roots = {*self._changed}
            if of_answered:
                roots &= self._answered
            self._answered -= self._answered if of_answered else roots
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

    def _take_grown(self) -> None:
        for key in self._grown:
            if row := self._rows.get(key):
                self._changes(row.root).rows[key] = None
        self._grown.clear()

    def _kept(self, root: str, changes: _Changes, run_id: str) -> Iterator[KeptSubstep]:
        count_place = self._count_places.setdefault(root, -1)
        for place in changes.gone:
            if not (changes.counts and place == count_place):
                yield KeptSubstep(root, place, run_id, None)
        if changes.counts:
            counts = json.dumps({"cut": self._cut_counts[root]})
            yield KeptSubstep(root, count_place, run_id, counts)
        for key in changes.rows:
            if row := self._rows.get(key):
                yield KeptSubstep(root, row.place, row.run_id or run_id, self._body(row, run_id))

    def _body(self, row: Row, run_id: str) -> str:
        step = self.told.step(row.call_id, row.step_id)
        if _size(step) > self._max_bytes:
            step = _shortened(step, self._max_bytes)
        body: dict[str, Any] = {
            "call": row.call_id,
            "step": row.step_id,
            "given_ids": row.given_ids,
            "shows_results": shows_undeclared(self._results),
        }
        if row.settled:
            body["settled"] = {id: run or run_id for id, run in row.settled.items()}
        return json.dumps({**body, "chunks": [*map(to_json, substep_chunks(step))]})


def _size(step: Step) -> int:
    """Bytes of a substep, about."""
    parts = PART_BYTES * len(step.parts)
    return STEP_BYTES + parts + sum(map(text_bytes, substep_chunks(step)))


def _shortened(step: Step, max_bytes: int) -> Step:
    """A step that is too long by itself, in about so many bytes."""
    left, parts = max_bytes, list[MessagePart]()
    for part in step.parts:
        # Calls have room of their own: a subagent may have to go on with them.
        has_room = left > (-max_bytes if isinstance(part, ToolCall) else 0)
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
        case ToolCall():
            if len(part.args_text) > max_bytes:
                part = replace(part, args_text="{}", args={})
            size = len(json.dumps(part.result))
            return replace(part, result=truncated(size, max_bytes)) if size > max_bytes else part
    return part if len(part.url) <= max_bytes else None


def step_of(row: KeptSubstep) -> StepKey | None:
    """Return the step of a row. None: it is the numbers of steps that were cut."""
    body = json.loads(row.body or "{}")
    return None if "cut" in body else (body.get("call"), body.get("step"))


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
        for chunk in _without_results(chunks_of(body, results), settled):
            told.take(Substep(body["call"], chunk))
    return told


def _without_results(chunks: Iterable[Any], call_ids: Container[str]) -> Iterator[Any]:
    calls: dict[Path, str] = {}
    for chunk in chunks:
        if isinstance(chunk, PartStart) and isinstance(chunk.part, ToolCallPart):
            calls[chunk.path] = chunk.part.tool_call_id
        if not (isinstance(chunk, Result) and calls[chunk.path] in call_ids):
            yield chunk


def chunks_of(body: Mapping[str, Any], results: ResultView) -> Iterator[Any]:
    """Return the chunks of a row's body, with as much of their results as clients see now."""
    hides = body.get("shows_results") and not shows_undeclared(results)
    for chunk in map(from_json, body.get("chunks", ())):
        if hides and isinstance(chunk, Result):
            yield replace(chunk, result=hidden_result(chunk.result, is_error=chunk.is_error))
        else:
            yield chunk
