"""Substeps by themselves: what is told of a subagent's messages, and which rows are kept of it."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextvars import copy_context
from functools import partial
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage

from tests.support.chunk_grammar import reader_of
from turnstream.graphs.result_view import DeclaredResults, ResultView
from turnstream.server.formats.assistant_transport.state import StateEncoder
from turnstream.server.formats.format import StreamContext
from turnstream.server.runs.speakers import Speakers
from turnstream.server.runs.subagents import MARK, CallsAtWork
from turnstream.server.runs.substep_record import told_substeps
from turnstream.server.runs.substeps import Substeps
from turnstream.server.storage.kept_substeps import KeptSubstep
from turnstream.server.turns.accumulate import ToldSubsteps
from turnstream.server.turns.chunks import (
    Chunk,
    PartStart,
    StepFinish,
    StepStart,
    StepWithdrawn,
    Substep,
    ToolCallPart,
)
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.messages import Text, ToolCall

ROOT, OTHER = "root", "other"
KEY = ThreadKey("local", "t")
SHOWN, HIDDEN = DeclaredResults({}, "show"), DeclaredResults({}, "hide")


class Rows:
    """A store of substeps."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, int], KeptSubstep] = {}
        self.begun: list[set[str]] = []

    async def put_substeps(
        self,
        key: ThreadKey,
        run_id: str,
        changed: Sequence[KeptSubstep],
        begun: Collection[str] = (),
    ) -> None:
        del key, run_id
        self.begun.append({*begun})
        self.rows = {at: row for at, row in self.rows.items() if row.call_id not in begun}
        for row in changed:
            self.rows.pop((row.call_id, row.place), None)
            if row.body is not None:
                self.rows[row.call_id, row.place] = row

    async def substeps(self, key: ThreadKey, call_ids: Collection[str]) -> Sequence[KeptSubstep]:
        del key
        return [row for _, row in sorted(self.rows.items()) if row.call_id in call_ids]


def begun(max_bytes: int, results: ResultView = SHOWN) -> Substeps:
    return Substeps("m", set(), results, Speakers(), {ROOT, OTHER}.__contains__, max_bytes)


def said(substeps: Substeps, *sizes: int, under: str = ROOT) -> list[Chunk]:
    """Messages of so many characters each."""
    return [
        chunk
        for number, size in enumerate(sizes)
        for chunk in substeps.stored((under,), AIMessage("x" * size, id=f"{under}{number}"), ())
    ]


def asked(id: str, call_id: str) -> AIMessage:
    return AIMessage("", id=id, tool_calls=[{"name": "ask", "args": {}, "id": call_id}])


def kinds(chunks: Iterable[Chunk], kind: type) -> list[Any]:
    inner = (chunk.chunk for chunk in chunks if isinstance(chunk, Substep))
    return [chunk for chunk in inner if isinstance(chunk, kind)]


def shown(told: ToldSubsteps, end: Any = None) -> ToolCall:
    return told.below(ToolCall(ROOT, "research", "{}", {}, end=end))


def texts(call: ToolCall) -> list[str]:
    parts = [part for step in call.substeps for part in step.parts]
    return [part.text for part in parts if isinstance(part, Text)]


async def kept(substeps: Substeps, rows: Rows | None = None) -> Rows:
    rows = rows or Rows()
    await substeps.record.write(rows, KEY, "r1")
    return rows


async def test_steps_that_are_cut_as_the_call_ends_are_ended_once() -> None:
    substeps = begun(1500)
    chunks = [*said(substeps, 500, 500, 1000), *substeps.end(ROOT, {})]
    assert not reader_of(chunks).under[ROOT].steps
    assert {*Counter(one.step_id for one in kinds(chunks, StepFinish)).values()} == {1}
    assert [one.reason for one in kinds(chunks, StepFinish)] == ["stop"] * 3
    assert [one.step_id for one in kinds(chunks, StepWithdrawn)] == ["root0", "root1"]


async def test_what_was_cut_takes_one_row() -> None:
    substeps = begun(10_000)
    chunks = said(substeps, *[10] * 500)
    rows = (await kept(substeps)).rows.values()
    assert len(rows) < 10_000 // 200
    call = shown(told_substeps(rows, SHOWN))
    assert len(call.substeps) + call.substeps_cut == 500
    encoder = StateEncoder(StreamContext("t", "m", ()))
    payloads = [payload for chunk in chunks for payload in encoder.encode(chunk)]
    lists = [payload for payload in payloads if '["substeps","root"]' in payload]
    assert 0 < len(lists) < 500 // 10


async def test_a_step_that_is_too_long_by_itself_is_cut_short() -> None:
    substeps = begun(1_000)
    said(substeps, 50_000)
    rows = await kept(substeps)
    assert 1_000 < max(len(row.body or "") for row in rows.rows.values()) < 2_500
    [*substeps.stored((ROOT,), asked("a", "c1"), ())]
    [*substeps.stored((ROOT,), ToolMessage("y" * 50_000, tool_call_id="c1", id="t"), ())]
    await kept(substeps, rows)
    assert max(len(row.body or "") for row in rows.rows.values()) < 2_500
    assert "c1" in str(rows.rows)


async def test_a_step_of_too_many_parts_is_cut_short() -> None:
    substeps = begun(2_000)
    blocks: list[Any] = [{"type": kind, kind: "x"} for kind in ("reasoning", "text") * 1_000]
    [*substeps.stored((ROOT,), AIMessage(blocks, id="a"), ())]
    (row,) = (await kept(substeps)).rows.values()
    assert 2_000 < len(row.body or "") < 6_000


async def test_a_message_that_its_agent_changes_is_told_again() -> None:
    substeps, told = begun(10_000), ToldSubsteps()
    first = AIMessage("The secret.", id="a", tool_calls=asked("a", "c1").tool_calls)
    chunks = [*substeps.stored((ROOT,), first, ())]
    chunks += substeps.stored((ROOT,), first.model_copy(update={"content": "[REDACTED]"}), ())
    chunks += substeps.stored((ROOT,), ToolMessage("yes", tool_call_id="c1", id="t"), ())
    chunks += substeps.stored((ROOT,), AIMessage("Done.", id="b"), ())
    reader_of(chunks)
    for chunk in chunks:
        assert isinstance(chunk, Substep)
        told.take(chunk)
    rows = await kept(substeps)
    for call in (shown(told), shown(told_substeps(rows.rows.values(), SHOWN))):
        assert texts(call) == ["[REDACTED]", "Done."]
        assert [part.end for part in call.substeps[0].parts if isinstance(part, ToolCall)] == [
            "result"
        ]
        assert call.substeps_cut == 0
    assert "secret" not in str(rows.rows)


async def test_only_what_ran_under_answered_calls_is_written_before_their_results() -> None:
    substeps, rows = begun(10_000), Rows()
    said(substeps, 10)
    said(substeps, 10, under=OTHER)
    [*substeps.end(ROOT, {})]
    assert substeps.record.has_answered
    await substeps.record.write(rows, KEY, "r1", of_answered=True)
    assert {row.call_id for row in rows.rows.values()} == {ROOT}
    await kept(substeps, rows)
    assert {row.call_id for row in rows.rows.values()} == {ROOT, OTHER}


async def test_the_first_rows_of_a_call_replace_those_of_another_with_its_id() -> None:
    rows, first, second = Rows(), begun(10_000), begun(10_000)
    said(first, 10, 20)
    await kept(first, rows)
    said(second, 30)
    await kept(second, rows)
    [*second.stored((ROOT,), AIMessage("z", id="more"), ())]
    await kept(second, rows)
    assert texts(shown(told_substeps(rows.rows.values(), SHOWN))) == ["x" * 30, "z"]
    assert rows.begun == [{ROOT}, {ROOT}, set()]


async def test_a_run_that_cut_a_step_of_an_earlier_one_is_kept_as_its_log_tells_it() -> None:
    first, second, rows = begun(1_000), begun(1_000), Rows()
    said(first, 300)
    await first.record.write(rows, KEY, "r1")
    before = {**rows.rows}
    second.take_back(before.values())
    chunks = [*second.stored((ROOT,), AIMessage("y" * 700, id="late"), ())]
    chunks += second.stored((ROOT,), AIMessage("z", id="last"), ())
    assert kinds(chunks, StepWithdrawn)
    await second.record.write(rows, KEY, "r2")
    expected = shown(told_substeps(rows.rows.values(), SHOWN))
    assert expected.substeps_cut
    for left in (before, {**rows.rows}):
        again, found = begun(1_000), Rows()
        found.rows = {**left}
        again.take_told(chunks, "r2", [*left.values()])
        await again.record.write(found, KEY, "r2")
        assert shown(told_substeps([*found.rows.values()], SHOWN)) == expected


async def test_results_that_are_hidden_now_are_hidden_in_older_substeps() -> None:
    substeps = begun(10_000)
    [*substeps.stored((ROOT,), asked("a", "c1"), ())]
    [*substeps.stored((ROOT,), ToolMessage("salary", tool_call_id="c1", id="t"), ())]
    rows = (await kept(substeps)).rows.values()
    assert "salary" in str(shown(told_substeps(rows, SHOWN)))
    assert "salary" not in str(shown(told_substeps(rows, HIDDEN)))


def test_calls_that_a_crash_has_left_open_end_with_the_call_around_them() -> None:
    told = ToldSubsteps()
    told.take(Substep(ROOT, StepStart("m", "s")))
    told.take(Substep(ROOT, PartStart("s", (0,), ToolCallPart("c1", "ask"))))
    ends = [
        part.end
        for end in (None, "cancelled")
        for step in shown(told, end).substeps
        for part in step.parts
        if isinstance(part, ToolCall)
    ]
    assert ends == [None, "cancelled"]


def test_a_subagent_that_outlives_its_call_is_no_part_of_the_answer() -> None:
    calls, id = CallsAtWork(), uuid4()
    about = {"langgraph_checkpoint_ns": "tools:u"}
    calls.on_tool_start({}, "", run_id=id, metadata=about, tool_call_id="c1")
    calls.on_tool_end("", run_id=id)
    late = AIMessageChunk(content="late", id="m")
    assert calls.of_message(late, {}, ("tools:u",)) == ("c1",)
    assert calls.of_graph(("tools:u",)) == ("c1",)


def test_a_client_that_marks_its_run_names_no_call() -> None:
    assert CallsAtWork().of_message(AIMessageChunk(content="Hi"), {MARK: "c1"}, ()) is None


def test_a_second_graph_of_a_task_is_not_taken_for_one_below_the_first() -> None:
    calls = CallsAtWork()
    about = {"langgraph_checkpoint_ns": "tools:u"}
    for call_id in ("c1", "c2"):
        context = copy_context()
        start = partial(calls.on_tool_start, {}, "", run_id=uuid4(), metadata=about)
        context.run(start, tool_call_id=call_id)
        if call_id == "c1":
            inner = {"langgraph_checkpoint_ns": "tools:u|model:x"}
            context.run(calls.on_chat_model_start, {}, [], run_id=uuid4(), metadata=inner)
    assert calls.of_graph(("tools:u",)) == ("c1",)
    assert calls.of_graph(("tools:u", "1")) == ()
