"""AG-UI: the graph's state as JSON Patches, whatever its values are."""

import json
from typing import Any

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from turnstream.server.formats import WIRE_FORMATS
from turnstream.server.formats.ag_ui.stream import AgUiState, patch
from turnstream.server.formats.format import StreamContext
from turnstream.server.formats.json_text import dumps
from turnstream.server.turns.chunks import (
    Done,
    MessageFinish,
    PartStart,
    StepStart,
    ToolCallPart,
    Usage,
)
from turnstream.server.turns.graph_state import GraphState

NAMES = st.sampled_from(["a", "b", "a/b", "~1", "", "0", "-"])
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["x", ""]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
states = st.dictionaries(NAMES, values, max_size=3)


@given(values, values)
def test_a_patch_makes_one_value_of_another(before: Any, after: Any) -> None:
    patched = jsonpatch.apply_patch({"value": before}, [*patch(before, after, "/value")])
    assert dumps_sorted(patched) == dumps_sorted({"value": after})


@given(states, st.lists(states, max_size=3))
def test_a_client_has_the_values_after_every_event(first: Any, changes: list[Any]) -> None:
    state, held = AgUiState(), None
    truth: dict[str, Any] = {}
    told = [GraphState(first, is_whole=True), *(GraphState(one) for one in changes)]
    for chunk in told:
        truth = {**truth, **chunk.values}
        for event in state.take(chunk):
            if event["type"] == "STATE_SNAPSHOT":
                held = event["snapshot"]
            else:
                held = jsonpatch.apply_patch(held, event["delta"])
        assert dumps_sorted(held) == dumps_sorted(truth)


def test_one_item_of_a_long_list_that_changes_is_told_alone() -> None:
    todos = [{"text": f"number {n}", "done": False} for n in range(50)]
    state = AgUiState()
    state.take(GraphState({"todos": todos}, is_whole=True))
    done = [*todos[:7], {**todos[7], "done": True}, *todos[8:], {"text": "more", "done": False}]
    (delta,) = state.take(GraphState({"todos": done}))
    assert delta["delta"] == [
        {"op": "replace", "path": "/todos/7/done", "value": True},
        {"op": "add", "path": "/todos/-", "value": {"text": "more", "done": False}},
    ]


def call(step_id: str, number: int, tool: str, **predicts: str | None) -> list[Any]:
    part = ToolCallPart(f"c{number}", tool, predicts=predicts)
    return [StepStart("m", step_id), PartStart(step_id, (number,), part)]


def told(*chunks: Any) -> list[dict[str, Any]]:
    encoder = WIRE_FORMATS["ag-ui"].encoder(StreamContext("t", "m", (), "run-1"), [])
    return [json.loads(payload) for chunk in chunks for payload in encoder.encode(chunk)]


def test_a_call_that_predicts_the_state_says_so_ahead_and_the_end_has_the_state() -> None:
    first = GraphState({"text": {"a": [1]}, "plan": 1}, is_whole=True)
    second = GraphState({"text": {"a": [1, 2]}})
    end = [MessageFinish("stop", Usage(0, 0)), Done()]
    events = told(first, *call("s", 0, "write", text="draft", plan=None), second, *end)
    assert [event["type"] for event in events] == [
        "STATE_SNAPSHOT",
        "CUSTOM",
        "TOOL_CALL_START",
        "STATE_DELTA",
        "STATE_SNAPSHOT",
        "RUN_FINISHED",
    ]
    assert events[1]["name"] == "PredictState"
    assert events[1]["value"] == [
        {"tool": "write", "state_key": "text", "tool_argument": "draft"},
        {"tool": "write", "state_key": "plan"},
    ]
    # A client that has predicted a value has another than the one that a patch would change.
    assert events[3]["delta"] == [{"op": "add", "path": "/text", "value": {"a": [1, 2]}}]
    assert events[4]["snapshot"] == {"text": {"a": [1, 2]}, "plan": 1}


def test_predictions_of_an_earlier_call_stand_beside_those_of_a_later_one() -> None:
    events = told(*call("s", 0, "write", text="t"), *call("s2", 1, "plan", plan="p"))
    events += told(*call("s", 0, "write", text="t"), *call("s2", 1, "write", text="t"))
    values = [event["value"] for event in events if event["type"] == "CUSTOM"]
    assert [[one["tool"] for one in value] for value in values] == [
        ["write"],
        ["write", "plan"],
        ["write"],
    ]


def dumps_sorted(value: Any) -> str:
    if isinstance(value, dict):
        items = sorted((name, dumps_sorted(item)) for name, item in value.items())
        return dumps(items)
    if isinstance(value, list):
        return dumps([dumps_sorted(item) for item in value])
    return dumps(value)
