"""Subagents in AG-UI 1.0: what a client holds after a run is what the thread shows."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.formats.test_protocol_properties import AG_UI, RUNS, Ids, Run, encode, merged, runs
from tests.formats.test_protocol_properties import steps as drawn_steps
from tests.support.ag_ui_reader import AgUiReader, by_owner
from turnstream.server.formats import WIRE_FORMATS
from turnstream.server.formats.format import StreamContext
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Custom,
    Done,
    Error,
    Interrupt,
    MessageFinish,
    PartFinish,
    PartStart,
    Result,
    RunEnded,
    StepFinish,
    StepStart,
    StepWithdrawn,
    Substep,
    TextDelta,
    TextPart,
    ToolCallPart,
    ToolProgress,
    ToolSettled,
    Usage,
)
from turnstream.server.turns.messages import AssistantTurn, Step, ToolCall, Turn
from turnstream.server.turns.told_thread import ToldThread

Json = dict[str, Any]
AG_UI_1_0 = WIRE_FORMATS["ag-ui-1.0"]
AGENTS = (None, "researcher", "writer")


class IdsBelow(Ids):
    def new(self, prefix: str) -> str:
        return f"below-{super().new(prefix)}"


def under(draw: st.DrawFn, call_id: str, ids: Ids, depth: int) -> list[Chunk]:
    """What subagents say under a call: two of them may speak at once, and steps may be cut."""
    drawn = [draw(drawn_steps(ids, "m", 0)) for _ in range(draw(st.integers(0, 2)))]
    plain: list[tuple[list[Chunk], Step]] = [
        ([c for c in said if not isinstance(c, Custom | ToolProgress)], step)
        for said, step in drawn
    ]
    told, _ = merged(draw, plain, beside=draw(st.booleans()))
    agents = {step.step_id: draw(st.sampled_from(AGENTS)) for _, step in drawn}
    named = (
        replace(one, agent=agents[one.step_id]) if isinstance(one, StepStart) else one
        for one in told
    )
    chunks: list[Any] = [Substep(call_id, one) for one in named]  # type: ignore[arg-type]
    return with_subagents(draw, chunks, ids, depth - 1) if depth else chunks


def call_ids(chunks: Sequence[Chunk]) -> dict[int, str]:
    """The calls, by the place of the end of their arguments."""
    parts: dict[Any, str] = {}
    found: dict[int, str] = {}
    for place, outer in enumerate(chunks):
        owner, chunk = (
            (outer.tool_call_id, outer.chunk) if isinstance(outer, Substep) else ("", outer)
        )
        match chunk:
            case PartStart(_, path, ToolCallPart(id)):
                parts[owner, path] = id
            case ArgsFinish(_, path):
                found[place] = parts[owner, path]
    return found


def with_subagents(draw: st.DrawFn, chunks: list[Chunk], ids: Ids, depth: int) -> list[Chunk]:
    """The chunks, with what runs under their calls once the arguments are whole."""
    calls = call_ids(chunks)
    told: list[Chunk] = []
    for place, chunk in enumerate(chunks):
        told.append(chunk)
        if place in calls and draw(st.booleans()):
            told += under(draw, calls[place], ids, depth)
    return told


@st.composite
def drawn_runs(draw: st.DrawFn) -> tuple[Run, tuple[Turn, ...]]:
    """A run, and the thread after it."""
    run: Run = draw(runs(beside=False))
    chunks = with_subagents(draw, run.chunks, IdsBelow(), 1)
    return replace(run, chunks=chunks), after(run.context, chunks)


def after(context: StreamContext, chunks: Sequence[Chunk]) -> tuple[Turn, ...]:
    thread = ToldThread(context.turns, context.message_id)
    for chunk in chunks:
        thread.take(chunk)
    return thread.turns()


def held(run: Run) -> list[Json]:
    return AG_UI_1_0.snapshot(run.context.turns)


@given(drawn_runs())
@RUNS
def test_a_client_that_has_the_thread_has_it_after_the_run_too(
    drawn: tuple[Run, tuple[Turn, ...]],
) -> None:
    run, turns = drawn
    reader = AgUiReader(held(run), "1.0").read(encode(run, AG_UI_1_0, view=held(run)))
    assert by_owner(reader.messages) == by_owner(AG_UI_1_0.snapshot(turns))
    known = {event["subagentRunId"]: event for event in loaded(turns)}
    assert {id: reader.subagents[id] for id in known if id in reader.subagents} == known


@given(drawn_runs())
@RUNS
def test_a_client_that_has_nothing_has_the_thread_after_the_run(
    drawn: tuple[Run, tuple[Turn, ...]],
) -> None:
    run, turns = drawn
    reader = AgUiReader(version="1.0").read(encode(run, AG_UI_1_0))
    assert by_owner(reader.messages) == by_owner(AG_UI_1_0.snapshot(turns))


@given(drawn_runs())
@RUNS
def test_a_client_of_before_gets_what_it_got_without_subagents(
    drawn: tuple[Run, tuple[Turn, ...]],
) -> None:
    run, turns = drawn
    alone = replace(run, chunks=[c for c in run.chunks if not isinstance(c, Substep)])
    said = encode(run, AG_UI, view=held(run))
    assert said == encode(alone, AG_UI, view=held(run))
    assert AG_UI.snapshot(turns) == AG_UI.snapshot(run.after)


def loaded(turns: Sequence[Turn]) -> list[Json]:
    told: list[Json] = AG_UI_1_0.beside(turns).get("subagents", [])
    return told


# by hand

INNER = ToolCall("inner", "look_up", "{}", {})
OUTER = ToolCall(
    "outer", "research", "{}", {}, substeps=(Step("s1", (INNER,), agent="researcher"),)
)
TURN = AssistantTurn("m", (Step("a", (OUTER,)),))
CONTEXT = StreamContext("t", "m", (TURN,), "run-1")
SPEAKS: list[Any] = [
    StepStart("m", "s2", agent="researcher"),
    PartStart("s2", (0,), TextPart()),
    TextDelta("s2", (0,), "Moss."),
    PartFinish("s2", (0,)),
    StepFinish("s2", "stop", Usage(0, 0)),
]
SAYS: list[Chunk] = [Substep("outer", chunk) for chunk in SPEAKS]
CALL: list[Chunk] = [
    StepStart("m", "a"),
    PartStart("a", (0,), ToolCallPart("outer", "research")),
    TextDelta("a", (0,), "{}"),
    ArgsFinish("a", (0,), {}),
]
NEW = StreamContext("t", "m", (), "run-1")
RESEARCHER = "outer/researcher"
STARTED = {
    "type": "SUBAGENT_STARTED",
    "subagentRunId": RESEARCHER,
    "name": "researcher",
    "parentToolCallId": "outer",
    "parentMessageId": "a",
}


def finish(reason: Any = "stop") -> list[Chunk]:
    return [MessageFinish(reason, Usage(3, 2)), Done()]


def told(context: StreamContext, chunks: Sequence[Chunk], version: str = "-1.0") -> list[Json]:
    encoder = WIRE_FORMATS[f"ag-ui{version}"].encoder(context, [])
    return [json.loads(payload) for chunk in chunks for payload in encoder.encode(chunk)]


def of_subagents(events: Sequence[Json]) -> list[Json]:
    return [event for event in events if event["type"].startswith("SUBAGENT")]


def test_a_subagent_begins_with_its_first_step_and_ends_ahead_of_the_result_of_its_call() -> None:
    result = Result("a", (0,), "Found.", "result", "r")
    events = told(NEW, [*CALL, *SAYS, result])
    assert of_subagents(events) == [
        STARTED,
        {"type": "SUBAGENT_FINISHED", "subagentRunId": RESEARCHER},
    ]
    assert events.index(STARTED) == 3
    assert [event["type"] for event in events[-2:]] == ["SUBAGENT_FINISHED", "TOOL_CALL_RESULT"]
    spoken = [event for event in events if event.get("messageId") == f"{RESEARCHER}/s2"]
    assert {event["subagentRunId"] for event in spoken} == {RESEARCHER}


def test_a_call_that_fails_is_an_error_of_its_subagent() -> None:
    error = {"error": {"code": "tool_error", "message": "The tool failed."}}
    events = told(NEW, [*CALL, *SAYS, Result("a", (0,), error, "error", "r")])
    failed = {"message": "The tool failed.", "code": "tool_error"}
    assert of_subagents(events)[-1] == {
        "type": "SUBAGENT_ERROR",
        "subagentRunId": RESEARCHER,
        **failed,
    }


def test_a_subagent_that_waits_is_suspended_and_goes_on_in_the_next_run_under_its_id() -> None:
    asks = [Interrupt("i1", "Which?", "ask"), *finish("tool-calls")]
    waits = told(NEW, [*CALL, *SAYS, PartFinish("a", (0,)), *asks])
    suspended = {"type": "suspended"}
    assert of_subagents(waits)[-1]["outcome"] == suspended
    assert waits[-1]["outcome"]["type"] == "interrupt"
    settled = Substep("outer", ToolSettled("inner", "result", "facts", "r"))
    goes_on = told(CONTEXT, [settled, *SAYS])
    assert of_subagents(goes_on) == [STARTED]
    assert goes_on[1]["messageId"] == f"{RESEARCHER}/r"
    assert goes_on[1]["subagentRunId"] == RESEARCHER


def test_the_question_of_a_subagent_is_its_own_live_and_in_the_loaded_thread() -> None:
    asked = [Interrupt("i1", "Which?", "tools"), Interrupt("i2", "And?", "ask")]
    waits = [PartFinish("a", (0,)), *asked, *finish("tool-calls")]
    end: Any = StepFinish("s2", "tool-calls", Usage(0, 0), interrupt_ids=("i1",))
    chunks = [*CALL, *SAYS[:-1], Substep("outer", end), *waits]
    events = told(NEW, chunks)
    suspended = {"type": "suspended", "interruptIds": ["i1"]}
    assert of_subagents(events)[-1]["outcome"] == suspended
    interrupts = events[-1]["outcome"]["interrupts"]
    assert [one.get("subagentRunId") for one in interrupts] == [RESEARCHER, None]
    turns = after(NEW, chunks)
    assert AG_UI_1_0.waiting(turns, asked)["pendingInterrupts"] == interrupts
    older = AG_UI.waiting(turns, asked)["pendingInterrupts"]
    assert older == told(NEW, chunks, "")[-1]["outcome"]["interrupts"]
    assert not [one for one in older if "subagentRunId" in one]


def test_a_result_with_an_image_is_parts_where_a_client_knows_them() -> None:
    shown = [
        {"type": "text", "text": "A map"},
        {"type": "image", "base64": "iVBO", "mime_type": "image/png"},
        {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lG"}},
        {"type": "file", "url": "https://a.org/b.pdf", "mime_type": "application/pdf"},
    ]
    chunks = [*CALL, Result("a", (0,), shown, "result", "r"), PartFinish("a", (0,))]
    parts = [
        {"type": "text", "text": "A map"},
        {"type": "image", "source": {"type": "data", "value": "iVBO", "mimeType": "image/png"}},
        {"type": "image", "source": {"type": "data", "value": "R0lG", "mimeType": "image/gif"}},
        {"type": "document", "source": {"type": "url", "value": "https://a.org/b.pdf"}},
    ]
    assert told(NEW, chunks)[-1]["content"] == parts
    assert AG_UI_1_0.snapshot(after(NEW, chunks))[-1]["content"] == parts
    assert json.loads(told(NEW, chunks, "")[-1]["content"]) == shown
    for other in ([*shown, 7], shown[:1], [], [{"type": "image"}]):
        chunks = [*CALL, Result("a", (0,), other, "result", "r")]
        assert json.loads(told(NEW, chunks)[-1]["content"]) == other


def test_the_end_of_a_call_ends_those_below_it_that_a_crash_has_left_open() -> None:
    settled = ToolSettled("outer", "result", "found", "r")
    held = AG_UI_1_0.snapshot(CONTEXT.turns)
    chunks = [settled, *finish()]
    said = [*AG_UI_1_0.prologue(CONTEXT, held, False)]
    said += [json.dumps(event) for event in told(CONTEXT, chunks)]
    reader = AgUiReader(held, "1.0").read(said)
    shown = AG_UI_1_0.snapshot(after(CONTEXT, chunks))
    assert by_owner(reader.messages) == by_owner(shown)
    assert [message["role"] for message in by_owner(shown)[RESEARCHER]] == ["assistant", "tool"]


def test_a_subagent_of_a_subagent_names_both_and_one_without_a_name_has_the_tools() -> None:
    steps: list[Any] = [
        StepStart("m", "s2", agent="researcher"),
        PartStart("s2", (0,), ToolCallPart("inner", "look_up")),
        TextDelta("s2", (0,), "{}"),
        ArgsFinish("s2", (0,), {}),
    ]
    below = [Substep("outer", chunk) for chunk in steps]
    events = told(NEW, [*CALL, *below, Substep("inner", StepStart("m", "s3"))])
    assert of_subagents(events)[-1] == {
        "type": "SUBAGENT_STARTED",
        "subagentRunId": "inner",
        "name": "look_up",
        "parentToolCallId": "inner",
        "parentMessageId": f"{RESEARCHER}/s2",
        "parentSubagentRunId": RESEARCHER,
    }


def test_a_subagent_that_goes_on_begins_behind_those_around_it() -> None:
    chunk = Substep("inner", StepStart("m", "s3", agent="reader"))
    started, around = of_subagents(told(CONTEXT, [chunk]))[::-1]
    assert around == STARTED
    assert started["parentSubagentRunId"] == RESEARCHER
    assert started["parentMessageId"] == f"{RESEARCHER}/s1"


def test_a_run_that_was_stopped_is_cancelled_and_has_no_result() -> None:
    ended = [RunEnded("stopped"), *finish("other")]
    now, before = (told(NEW, ended, version)[-1] for version in ("-1.0", ""))
    assert now["outcome"] == {"type": "cancelled"}
    assert "result" not in now
    assert (
        now["metadata"]
        == before["result"]
        == {
            "finishReason": "other",
            "ended": {"reason": "stopped"},
        }
    )
    assert "outcome" not in before


def test_calls_that_are_left_to_the_client_are_named_where_it_would_count_others() -> None:
    waiting = [*CALL, PartFinish("a", (0,))]
    gone: list[Chunk] = [
        StepStart("m", "b"),
        PartStart("b", (1,), ToolCallPart("gone", "ask")),
        ArgsFinish("b", (1,), {}),
        PartFinish("b", (1,)),
        StepFinish("b", "tool-calls", Usage(0, 0)),
        StepWithdrawn("b", (1,)),
    ]
    for version in ("-1.0", ""):
        assert "outcome" not in told(NEW, [*waiting, *finish("tool-calls")], version)[-1]
    now, before = (
        told(NEW, [*waiting, *gone, *finish("tool-calls")], version)[-1] for version in ("-1.0", "")
    )
    assert now["outcome"] == {"type": "success", "pendingToolCallIds": ["outer"]}
    assert "outcome" not in before


def test_the_tokens_of_a_run_that_failed_are_told() -> None:
    failed = [Error("model_error", "It failed.", None), *finish("error")]
    assert told(NEW, failed)[-1]["usage"] == [{"inputTokens": 3, "outputTokens": 2}]
    assert "usage" not in told(NEW, failed, "")[-1]


def test_a_run_has_the_id_that_its_client_gave_it_and_the_version_of_the_server() -> None:
    named = replace(NEW, client_run_id="mine")
    began = json.loads(AG_UI_1_0.prologue(named, [], False)[0])
    assert began == {
        "type": "RUN_STARTED",
        "threadId": "t",
        "runId": "mine",
        "protocolVersion": "1.0",
    }
    assert told(named, finish())[-1]["runId"] == "mine"


def test_what_a_client_posts_of_subagents_is_not_compared() -> None:
    """assistant-ui posts their calls as those of the answer, and not their words."""
    held = AG_UI_1_0.snapshot(CONTEXT.turns)
    function = {"name": "look_up", "arguments": "{}"}
    inner = {"id": "inner", "type": "function", "function": function}
    (answer, *_) = held
    flat = [{**answer, "toolCalls": [*answer["toolCalls"], inner]}]
    flat.append({"id": "x", "role": "tool", "toolCallId": "inner", "content": "1"})
    for posted in (held, held[:1], flat):
        events = AG_UI_1_0.prologue(CONTEXT, posted, False)
        assert [json.loads(event)["type"] for event in events] == ["RUN_STARTED"]
