"""Substeps as the AI SDK and LangGraph's SDK get them, where a run goes on with a call."""

import json
from typing import Any

from tests.support.protocol_readers import decoded_state
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
from turnstream.server.turns.messages import AssistantTurn, Step, ToolCall, settle_turn

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
