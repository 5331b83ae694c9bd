"""LangGraph SDK: chunk by chunk, what a run says."""

import json
from typing import Any

import pytest

from turnstream.server.formats import WIRE_FORMATS
from turnstream.server.formats.format import NamedEvent, StreamContext
from turnstream.server.formats.langgraph import snapshot
from turnstream.server.turns.chunks import (
    ArgsFinish,
    Chunk,
    Custom,
    GraphState,
    MessageFinish,
    PartStart,
    Result,
    StepFinish,
    StepStart,
    StepWithdrawn,
    TaskFinish,
    TaskStart,
    TextDelta,
    TextPart,
    ToolCallPart,
    ToolProgress,
    ToolSettled,
    Usage,
)
from turnstream.server.turns.messages import AssistantTurn, Step, ToolCall, UserTurn
from turnstream.server.turns.requests import TextContent

FORMAT = WIRE_FORMATS["langgraph"]
CALL = ToolCall("c1", "erase", '{"name":"a"}', {"name": "a"}, "approval")
WAITING = StreamContext(
    "t1",
    "h1.a",
    (
        UserTurn("h1", (TextContent("Go on"),)),
        AssistantTurn("h1.a", (Step("s1", (CALL,), "tool-calls"),)),
    ),
)
SETTLED = ToolSettled("c1", "result", {"erased": "a"}, "r1")


def told(
    *chunks: Chunk, context: StreamContext = WAITING, modes: frozenset[str] | None = None
) -> list[tuple[str, Any]]:
    encoder = FORMAT.encoder(context, modes)
    said = [payload for chunk in chunks for payload in encoder.encode(chunk)]
    return [(one.event, json.loads(one)) for one in said if isinstance(one, NamedEvent)]


def test_the_result_of_an_earlier_call_is_told_once() -> None:
    message = {
        "type": "tool",
        "id": "r1",
        "tool_call_id": "c1",
        "name": "erase",
        "content": '{"erased":"a"}',
        "status": "success",
    }
    events = told(SETTLED, SETTLED)
    assert [event for event, _ in events] == ["tools", "updates", "messages"]
    assert events[1][1] == {"tools": {"messages": [message]}}
    assert events[2][1] == [message, {"langgraph_node": "tools"}]


def test_a_call_that_nobody_knows_is_not_told() -> None:
    assert told(ToolSettled("c9", "result", 1, "r9")) == []


def test_a_withdrawn_step_is_taken_back_with_its_results() -> None:
    events = told(
        StepStart("h1.a", "s2", "agent"),
        PartStart("s2", (0,), ToolCallPart("c2", "add")),
        ArgsFinish("s2", (0,), {}),
        Result("s2", (0,), 3, "result", "r2"),
        StepWithdrawn("s2", (0,)),
    )
    removed = [data[0]["id"] for event, data in events if event == "messages"][-2:]
    assert removed == ["s2", "r2"]
    assert all(data[0]["type"] == "remove" for event, data in events[-2:])
    # A step without words was never told.
    assert told(StepStart("h1.a", "s2", "agent"), StepWithdrawn("s2", ())) == []


def test_who_speaks_and_in_which_subgraph_is_said() -> None:
    start = StepStart("h1.a", "s2", "writer", ("team:1", "desk:2"))
    ((event, (message, metadata)),) = told(
        start, PartStart("s2", (0,), TextPart()), TextDelta("s2", (0,), "Hi")
    )
    assert (event, message["content"]) == ("messages", "Hi")
    assert metadata == {"langgraph_node": "writer", "langgraph_checkpoint_ns": "team:1|desk:2"}


def test_a_client_that_adds_nothing_up_gets_each_message_as_far_as_it_goes() -> None:
    events = told(
        StepStart("h1.a", "s2", "writer"),
        PartStart("s2", (0,), TextPart()),
        TextDelta("s2", (0,), "Hi"),
        TextDelta("s2", (0,), " there"),
        StepFinish("s2", "stop", Usage(1, 2)),
        modes=frozenset({"messages"}),
    )
    assert [event for event, _ in events] == [
        *("messages/metadata", "messages/partial", "messages/partial", "messages/complete")
    ]
    assert events[0][1] == {"s2": {"metadata": {"langgraph_node": "writer"}}}
    assert [data[0]["content"] for _, data in events[1:]] == ["Hi", "Hi there", "Hi there"]
    assert events[-1][1][0]["response_metadata"]["finish_reason"] == "stop"


def test_all_that_is_told_of_a_message_as_far_as_it_goes_grows_with_its_size_alone() -> None:
    deltas = [TextDelta("s2", (0,), "word ") for _ in range(4_000)]
    events = told(
        StepStart("h1.a", "s2", "writer"),
        PartStart("s2", (0,), TextPart()),
        *deltas,
        StepFinish("s2", "stop", Usage(1, 2)),
        modes=frozenset({"messages"}),
    )
    contents = [data[0]["content"] for event, data in events if event != "messages/metadata"]
    assert contents[-2:] == ["word " * 4_000] * 2
    assert sum(map(len, contents)) < 20 * len(contents[-1])


def test_progress_and_what_a_graph_writes_have_events_of_their_own() -> None:
    assert told(Custom({"a": 1}, "writer"), ToolProgress("c1", {"counted": 1})) == [
        ("custom", {"a": 1}),
        ("tools", {"event": "on_tool_event", "toolCallId": "c1", "data": {"counted": 1}}),
    ]


def test_a_state_that_changes_all_the_time_sends_a_long_thread_only_so_often() -> None:
    long = (UserTurn("h0", (TextContent("x" * 300_000),)), *WAITING.turns)
    context = StreamContext("t1", "h1.a", long)
    changes = [GraphState({"todos": [number]}) for number in range(100)]
    events = told(*changes, MessageFinish("stop", Usage(0, 0)), context=context)
    in_between, last = [data for _, data in events[:-1]], events[-1][1]
    assert [data["todos"] for data in in_between] == [[number] for number in range(6)]
    assert last["todos"] == [99]
    assert last["messages"][0] == in_between[0]["messages"][0]


def test_tasks_that_change_nothing_tell_no_values_and_cost_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted, values = list[int](), snapshot.values

    def count(*given: Any) -> Any:
        counted.append(1)
        return values(*given)

    monkeypatch.setattr(snapshot, "values", count)
    encoder = FORMAT.encoder(WAITING, frozenset({"values"}))
    for number in range(9):
        encoder.encode(TaskStart(f"t{number}", "node"))
        encoder.encode(TaskFinish(f"t{number}", "node"))
    assert not counted
