"""Whatever a run says: what an AG-UI client builds of the stream is what the thread shows."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.formats.test_protocol_properties import AG_UI, RUNS, Run, encode, runs
from tests.support.ag_ui_reader import AgUiReader, in_call_order
from turnstream.server.formats.ag_ui.stream import keeps_order, replaced
from turnstream.server.turns.chunks import Chunk, Error, Interrupt, MessageFinish, StepWithdrawn
from turnstream.server.turns.messages import ToolCall

Json = dict[str, Any]
USER = {"id": "mine", "role": "user", "content": "Of another tab"}
STRAY = {"id": "stray", "role": "reasoning", "content": "Hm."}
REPLY = {"id": "reply", "role": "assistant", "content": "A word of nobody's."}


def held(run: Run) -> list[Json]:
    """What the client posts that has seen all so far."""
    return AG_UI.snapshot(run.context.turns)


def copies(draw: st.DataObject, run: Run) -> list[Json] | None:
    """What a client may hold when it posts: the thread, less, more, another order, or nothing."""
    messages = held(run)
    return draw.draw(
        st.sampled_from(
            [
                None,
                [],
                messages,
                messages[1:],
                messages[:-1],
                [STRAY, *messages],
                [*messages, USER, REPLY],
                messages[::-1],
                [message for message in messages if message["role"] != "tool"],
                [message for message in messages if message["role"] != "reasoning"],
                [{**message, "content": "Changed."} for message in messages],
            ]
        )
    )


@given(runs())
@RUNS
def test_a_client_that_has_the_thread_has_it_after_the_run_too(run: Run) -> None:
    reader = AgUiReader(held(run)).read(encode(run, AG_UI, view=held(run)))
    assert in_call_order(reader.messages) == AG_UI.snapshot(run.after)


@given(runs(), st.data())
@RUNS
def test_a_client_that_has_something_else_has_the_thread_after_the_run(
    run: Run, data: st.DataObject
) -> None:
    posted = copies(data, run)
    reader = AgUiReader(posted or []).read(encode(run, AG_UI, view=posted))
    told, truth = in_call_order(reader.messages), AG_UI.snapshot(run.after)
    if reader.snapshots:
        assert told == truth
    else:
        # What the client has in other words is never looked at, nor taken for the thread's.
        assert [m["id"] for m in told if m["role"] != "reasoning"] == [
            m["id"] for m in truth if m["role"] != "reasoning"
        ]


@given(runs(beside=False))
@RUNS
def test_no_snapshot_is_sent_to_a_client_that_needs_none(run: Run) -> None:
    reader = AgUiReader(held(run)).read(encode(run, AG_UI, view=held(run)))
    withdrawn = any(isinstance(chunk, StepWithdrawn) for chunk in run.chunks)
    assert bool(reader.snapshots) == withdrawn


@given(runs())
@RUNS
def test_one_event_ends_the_run_and_it_is_that_of_the_last_chunk(run: Run) -> None:
    encoder = AG_UI.encoder(run.context, held(run))
    said = [[json.loads(payload) for payload in encoder.encode(chunk)] for chunk in run.chunks]
    types = [event["type"] for events in said for event in events]
    ends = [type for type in types if type in ("RUN_FINISHED", "RUN_ERROR")]
    failed = any(isinstance(chunk, Error) for chunk in run.chunks)
    assert ends == ["RUN_ERROR" if failed else "RUN_FINISHED"]
    assert said[-1][-1]["type"] == ends[0]


@given(runs())
@RUNS
def test_what_waits_after_the_run_is_what_a_loaded_thread_says(run: Run) -> None:
    chunks: list[Chunk] = [
        replace(chunk, reason="tool-calls") if isinstance(chunk, MessageFinish) else chunk
        for chunk in run.chunks
        if not isinstance(chunk, Error)
    ]
    waiting = replace(run, chunks=chunks)
    reader = AgUiReader(held(run)).read(encode(waiting, AG_UI, view=held(run)))
    asked = [chunk for chunk in run.chunks if isinstance(chunk, Interrupt)]
    loaded = AG_UI.waiting(run.after, asked).get("pendingInterrupts", [])
    assert reader.interrupts == loaded
    calls = [part for part in run.turn.parts if isinstance(part, ToolCall)]
    waits = {call.tool_call_id for call in calls if call.awaits_approval}
    assert {interrupt["toolCallId"] for interrupt in loaded} == waits


@given(runs(), st.data())
@RUNS
def test_a_single_snapshot_is_sent_only_where_the_client_keeps_the_order(
    run: Run, data: st.DataObject
) -> None:
    messages, posted = held(run), copies(data, run) or []
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": messages}
    reader = AgUiReader(posted)
    reader.read(json.dumps(event) for event in (STARTED, snapshot, FINISHED))
    assert keeps_order(posted, messages) == (reader.messages == messages)
    reader = AgUiReader(posted)
    reader.read(json.dumps(event) for event in (STARTED, *replaced(messages), FINISHED))
    assert reader.messages == messages


STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED = {**STARTED, "type": "RUN_FINISHED"}
