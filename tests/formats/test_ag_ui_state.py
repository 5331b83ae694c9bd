"""AG-UI: the graph's state as JSON Patches, whatever its values are."""

from typing import Any

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from turnstream.server.formats.ag_ui.stream import AgUiState, patch
from turnstream.server.formats.json_text import dumps
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


def dumps_sorted(value: Any) -> str:
    if isinstance(value, dict):
        items = sorted((name, dumps_sorted(item)) for name, item in value.items())
        return dumps(items)
    if isinstance(value, list):
        return dumps([dumps_sorted(item) for item in value])
    return dumps(value)
