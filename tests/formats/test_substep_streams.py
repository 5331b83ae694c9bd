"""Substeps in each format: whatever is said becomes the thread, and a run goes on with a call."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given

from tests.formats.test_ag_ui_subagents import after, drawn_runs
from tests.formats.test_langgraph_properties import told as told_frames
from tests.formats.test_protocol_properties import PARTS, RUNS, Run, encode, plain
from tests.support.langgraph_reader import check_subagents, holding
from tests.support.protocol_readers import accumulated, decoded_state
from turnstream.server.formats.ai_sdk.stream import UIMessageStreamEncoder
from turnstream.server.formats.assistant_transport.state import StateEncoder, catch_up, snapshot
from turnstream.server.formats.format import StreamContext
from turnstream.server.formats.langgraph.stream import ALL_MODES, SUBGRAPHS, LangGraphEncoder
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    MessageFinish,
    PartFinish,
    PartStart,
    Path,
    Result,
    StepChunk,
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
from turnstream.server.turns.messages import AssistantTurn, Step, ToolCall, Turn, settle_turn

FINISH = MessageFinish("tool-calls", Usage(0, 0))
INNER = ToolCall("inner", "look_up", "{}", {})
OUTER = ToolCall(
    "outer", "research", "{}", {}, substeps=(Step("s1", (INNER,), namespace=("tools:u",)),)
)
CONTEXT = StreamContext("t", "m", (AssistantTurn("m", (Step("a", (OUTER,)),)),))
SPEAKS: list[StepChunk] = [
    StepStart("m", "s2"),
    PartStart("s2", (0,), TextPart()),
    TextDelta("s2", (0,), "Which?"),
]
ENDS: list[StepChunk] = [PartFinish("s2", (0,)), StepFinish("s2", "stop", Usage(0, 0))]


Drawn = tuple[Run, tuple[Turn, ...]]


def with_ends(drawn: Drawn) -> Drawn:
    """The run as a server tells it: the calls of subagents have their ends when that of the call
    around them comes."""
    run, told, waiting = drawn[0], list[Chunk](), set[tuple[str, Path]]()
    for chunk in run.chunks:
        if isinstance(chunk, Substep):
            id = chunk.tool_call_id
            match chunk.chunk:
                case ArgsFinish(_, path):
                    waiting.add((id, path))
                case Result(_, path):
                    waiting.discard((id, path))
                case PartFinish(step_id, path) if (id, path) in waiting:
                    end = Result(step_id, path, {"error": {"code": "x"}}, "error", f"{id}{path}")
                    told.append(Substep(id, end))
        told.append(chunk)
    return replace(run, chunks=told), after(run.context, told)


DRAWN = drawn_runs().map(with_ends)


@given(DRAWN)
@RUNS
def test_what_subagents_say_becomes_the_parts_of_the_hydrated_thread(drawn: Drawn) -> None:
    run, (*_, turn) = drawn
    assert isinstance(turn, AssistantTurn)
    earlier = len(turn.steps) - len(run.said.steps)
    (hydrated,) = PARTS.snapshot([replace(turn, steps=turn.steps[earlier:])])
    assert accumulated(encode(run, PARTS))["parts"] == hydrated["parts"]


@given(DRAWN)
@RUNS
def test_what_subagents_say_becomes_a_part_of_the_state(drawn: Drawn) -> None:
    run, turns = drawn
    state = decoded_state({}, encode(run, PARTS, view={}))
    assert with_words(plain(state)) == with_words(snapshot(turns, "thread-1"))


def with_words(state: dict[str, Any]) -> dict[str, Any]:
    """A state cannot lose a key: of steps that were cut an empty list may be left."""
    told = {id: steps for id, steps in state.get("substeps", {}).items() if steps}
    return {**state, "substeps": told}


@given(DRAWN)
@RUNS
def test_what_subagents_say_becomes_their_states_in_langgraphs_sdk(drawn: Drawn) -> None:
    run, turns = drawn
    reader = holding(run.context.turns).read(told_frames(run, ALL_MODES | {SUBGRAPHS}))
    check_subagents(reader, holding(turns))


def under(call_id: str, chunks: list[StepChunk]) -> list[Chunk]:
    return [Substep(call_id, chunk) for chunk in chunks]


def told(encoder: UIMessageStreamEncoder, chunks: list[Chunk]) -> list[dict[str, Any]]:
    return [json.loads(payload) for chunk in chunks for payload in encoder.encode(chunk)]


def test_a_call_that_waits_again_loses_its_interim_output_before_the_end() -> None:
    for news in (under("outer", SPEAKS), [ToolProgress("outer", {"half": True})]):
        events = told(UIMessageStreamEncoder(CONTEXT), [*news, FINISH])
        *_, again, finish = events
        assert events[0]["preliminary"]
        assert (again["type"], again["toolCallId"]) == ("tool-input-available", "outer")
        assert finish["type"] == "finish"


def test_a_call_that_was_settled_does_not_wait_again() -> None:
    settled = ToolSettled("outer", "result", "found", "r")
    events = told(UIMessageStreamEncoder(CONTEXT), [*under("outer", SPEAKS), settled, FINISH])
    assert [event["type"] for event in events[-2:]] == ["tool-output-available", "finish"]


def test_the_end_of_a_call_ends_those_below_it_that_a_crash_has_left_open() -> None:
    settled = ToolSettled("outer", "result", "found", "r")
    said = [*catch_up(CONTEXT, {}), *StateEncoder(CONTEXT).encode(settled)]
    turns = [settle_turn(turn, settled) for turn in CONTEXT.turns]
    state = decoded_state({}, said)
    assert state == snapshot(turns, "t")
    assert [message["type"] for message in state["substeps"]["outer"]] == ["ai", "tool"]


def test_the_last_words_before_a_pause_come() -> None:
    encoder = UIMessageStreamEncoder(StreamContext("t", "m", ()))
    call: list[Chunk] = [
        StepStart("m", "a"),
        PartStart("a", (0,), ToolCallPart("c", "research")),
        TextDelta("a", (0,), "{}"),
        ArgsFinish("a", (0,), {}),
    ]
    words: list[StepChunk] = [TextDelta("s2", (0,), f"word{number} ") for number in range(100)]
    events = told(encoder, [*call, *under("c", [*SPEAKS, *words, *ENDS])])
    outputs = [event["output"] for event in events if event["type"] == "tool-output-available"]
    assert "word99" in json.dumps(outputs[-1])
    sizes = [len(json.dumps(output)) for output in outputs]
    assert sum(sizes) < 10 * sizes[-1]


def test_langgraphs_sdk_removes_a_step_that_its_agent_changes() -> None:
    encoder = LangGraphEncoder(CONTEXT, frozenset({"messages-tuple", SUBGRAPHS}))
    chunks = under("outer", [*SPEAKS, *ENDS, StepWithdrawn("s2", (0,)), *SPEAKS])
    events: list[Any] = [event for chunk in chunks for event in encoder.encode(chunk)]
    told = [json.loads(event)[0]["type"] for event in events]
    assert told == ["AIMessageChunk", "remove", "AIMessageChunk"]


def test_langgraphs_sdk_knows_the_calls_of_subagents_of_earlier_runs() -> None:
    encoder = LangGraphEncoder(CONTEXT, ALL_MODES | {SUBGRAPHS})
    chunks = [
        *under("inner", SPEAKS),
        Substep("outer", ToolSettled("inner", "result", "facts", "r")),
    ]
    events: list[Any] = [event for chunk in chunks for event in encoder.encode(chunk)]
    names = {event.event for event in events}
    assert "messages|tools:outer|tools:inner" in names
    assert "messages|tools:outer" in names
