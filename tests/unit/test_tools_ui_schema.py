"""The UI tools accept what their JSON Schema accepts, and show the model a flat form of it."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from tests.support.samples import sample
from tests.support.ui_schema import (
    COMPONENTS,
    DEFS,
    mutated,
    renderings,
    schema_accepts,
    selections,
)
from turnstream.tools.components import OUR_COMPONENTS, OURS
from turnstream.tools.selection import check_answer, parse_selection, validate_selection
from turnstream.tools.ui import render_ui_component, request_user_selection

PARSERS = {"render_ui_component": OUR_COMPONENTS.check, "request_user_selection": parse_selection}


def models_accept(name: str, instance: Any) -> bool:
    try:
        PARSERS[name](instance)
    except ValueError:
        return False
    return True


@given(renderings())
def test_every_rendering_that_the_schema_describes_is_accepted(args: dict[str, Any]) -> None:
    assert schema_accepts("render_ui_component", args)
    assert models_accept("render_ui_component", args)


@given(selections)
def test_every_selection_that_the_schema_describes_is_accepted(args: dict[str, Any]) -> None:
    assume(schema_accepts("request_user_selection", args))
    assert models_accept("request_user_selection", args)


@settings(max_examples=sample(400, 80))
@given(mutated(renderings()))
def test_a_rendering_is_accepted_exactly_when_the_schema_accepts_it(args: Any) -> None:
    accepted = schema_accepts("render_ui_component", args)
    event(f"accepted: {accepted}")
    assert models_accept("render_ui_component", args) == accepted


@settings(max_examples=sample(400, 80))
@given(mutated(selections))
def test_a_selection_is_accepted_exactly_when_the_schema_accepts_it(args: Any) -> None:
    accepted = schema_accepts("request_user_selection", args)
    event(f"accepted: {accepted}")
    assert models_accept("request_user_selection", args) == accepted


SERIES = [{"name": "a", "data": [1, None]}]
PROPS: dict[str, dict[str, Any]] = {
    "line_chart": {"x": [1, 2], "series": SERIES},
    "bar_chart": {"categories": ["a", "b"], "series": SERIES},
    "table": {"columns": [{"key": "a"}], "rows": [{"a": 1}]},
    "metric_cards": {"cards": [{"label": "a", "value": 1}]},
    "report": {"markdown": "# a"},
    "alert": {"message": "a"},
}


@pytest.mark.parametrize("component", COMPONENTS)
@pytest.mark.parametrize("field", ["props", "item"])
@pytest.mark.parametrize("value", [None, True, 1, 1.5, "5", "x" * 2001, [], {}, [1], {"a": 1}])
def test_each_field_accepts_exactly_what_the_schema_does(
    component: str, field: str, value: Any
) -> None:
    names = {**DEFS[component]["properties"], "extra": {}} if field == "props" else {"props": {}}
    for name in names:
        props = {**PROPS[component], name: value} if field == "props" else value
        args = {"component": component, "props": props}
        accepted = schema_accepts("render_ui_component", args)
        assert models_accept("render_ui_component", args) == accepted, args


CARD = {"label": "", "value": ""}
LIMITS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("line_chart", {"x": [1] * 500}, {"x": [1] * 501}),
    ("line_chart", {"x": [1, "2"]}, {"x": [1]}),
    ("line_chart", {"series": SERIES * 8}, {"series": SERIES * 9}),
    ("line_chart", {"title": "é" * 2000}, {"title": "é" * 2001}),
    (
        "line_chart",
        {"series": [{"name": "x" * 80, "data": [1] * 500}]},
        {"series": [{"name": "x" * 81, "data": []}]},
    ),
    (
        "line_chart",
        {"series": [{"name": "", "data": []}]},
        {"series": [{"name": "", "data": [1] * 501}]},
    ),
    ("bar_chart", {"categories": ["x" * 80] * 40}, {"categories": ["x"] * 41}),
    ("bar_chart", {"categories": [""]}, {"categories": ["x" * 81]}),
    ("bar_chart", {"x_label": ""}, {"time_zone": "UTC"}),
    ("table", {"columns": [{"key": "a"}] * 20}, {"columns": [{"key": "a"}] * 21}),
    ("table", {"rows": [{}] * 200}, {"rows": [{}] * 201}),
    ("table", {"rows": []}, {"columns": []}),
    ("table", {"rows": [{"": True, "b": None, "c": "", "d": 1.5}]}, {"rows": [{"a": []}]}),
    ("metric_cards", {"cards": [CARD]}, {"cards": []}),
    ("metric_cards", {"cards": [CARD] * 12}, {"cards": [CARD] * 13}),
    (
        "metric_cards",
        {"cards": [{"label": "a", "value": None}]},
        {"cards": [{"label": "a", "value": True}]},
    ),
    (
        "metric_cards",
        {"cards": [{"label": "", "value": 1, "delta": "+5"}]},
        {"cards": [{"label": "", "value": 1, "delta": 5}]},
    ),
    ("report", {"markdown": "x" * 20_000}, {"markdown": "x" * 20_001}),
    ("alert", {"tone": "danger"}, {"tone": "red"}),
]


@pytest.mark.parametrize(("component", "within", "beyond"), LIMITS)
def test_the_limits_are_those_of_the_schema(
    component: str, within: dict[str, Any], beyond: dict[str, Any]
) -> None:
    for change, accepted in ((within, True), (beyond, False)):
        args = {"component": component, "props": {**PROPS[component], **change}}
        assert schema_accepts("render_ui_component", args) is accepted
        assert models_accept("render_ui_component", args) is accepted


ASKED: dict[str, Any] = {"kind": "single", "prompt": "?", "options": [{"value": "a"}]}
ASKED_LIMITS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"prompt": "x" * 500}, {"prompt": "x" * 501}),
    ({"prompt": "x"}, {"prompt": ""}),
    ({"options": [{"value": "a"}] * 100}, {"options": [{"value": "a"}] * 101}),
    ({"options": [{"value": "a", "label": "", "description": ""}]}, {"options": []}),
    ({"default": ""}, {"options": [{"value": ""}]}),
    ({"min_selected": 0}, {"min_selected": -1}),
    ({"max_selected": 1.0}, {"max_selected": 0}),
    ({"max_selected": 10**30}, {"max_selected": 1.5}),
    ({"min_date": "2025-02-30"}, {"min_date": "2025-2-3"}),
    ({"max_date": "0000-99-99"}, {"max_date": "x2025-02-03"}),
]


@pytest.mark.parametrize(("within", "beyond"), ASKED_LIMITS)
def test_the_limits_of_a_selection_are_those_of_the_schema(
    within: dict[str, Any], beyond: dict[str, Any]
) -> None:
    for change, accepted in ((within, True), (beyond, False)):
        args = {**ASKED, **change}
        assert schema_accepts("request_user_selection", args) is accepted
        assert models_accept("request_user_selection", args) is accepted


TEXT = st.sampled_from(["a", "b", "", "2025-01-01", "2025-02-30", "2025-12-31"])
ANSWERS = st.one_of(
    TEXT,
    st.lists(TEXT, max_size=3),
    st.fixed_dictionaries({"value": TEXT}),
    st.fixed_dictionaries({"values": st.lists(TEXT, max_size=3)}),
    st.fixed_dictionaries({"date": TEXT}),
    st.fixed_dictionaries({"start": TEXT, "end": TEXT}),
    st.sampled_from([{"cancelled": True}, {"cancelled": 1}, {}, None, 1, True, [1], {"value": 1}]),
)


@settings(max_examples=sample(300, 60))
@given(st.sampled_from(["single", "multiple", "date", "date_range"]), ANSWERS)
def test_an_answer_that_is_taken_is_stored_as_the_schema_says(kind: str, answer: Any) -> None:
    args = {"kind": kind, "prompt": "?", "options": [{"value": "a"}, {"value": "b"}]}
    validate_selection(args)
    try:
        stored = check_answer(args, answer)
    except ValueError:
        return
    assert schema_accepts("selection_result", stored)
    assert check_answer(args, stored) == stored


def flattened(schema: Any) -> Any:
    """A schema without its conditions, its references and what only people read."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return flattened(DEFS[schema["$ref"].removeprefix("#/$defs/")])
    left_out = {"description", "allOf", "if", "then"} | ({"type"} if "enum" in schema else set())
    kept = {key: value for key, value in schema.items() if key not in left_out}
    if "properties" in kept:
        kept["properties"] = {name: flattened(of) for name, of in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = flattened(kept["items"])
    return kept


@pytest.mark.parametrize(
    "tool", [render_ui_component, request_user_selection], ids=lambda t: t.name
)
def test_the_model_sees_the_schema_flat(tool: Any) -> None:
    seen, contract = (flattened(dict(of)) for of in (tool.parameters, DEFS[tool.name]))
    if tool is render_ui_component:
        names = seen["properties"]["component"]
        assert set(names.pop("enum")) >= set(contract["properties"]["component"].pop("enum"))
    assert seen == contract


def property_names(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(property_names, schema))
    if not isinstance(schema, dict):
        return set()
    if "$ref" in schema:
        return property_names(DEFS[schema["$ref"].removeprefix("#/$defs/")])
    nested = set().union(*map(property_names, schema.values()))
    return nested | set(schema.get("properties", {}))


PAGE = (Path(__file__).parent.parent.parent / "docs" / "components.md").read_text()
TOLD = PAGE.rpartition("```text\n")[2].removesuffix("```\n")


def test_the_model_is_told_each_component_in_a_line_that_its_schema_gives() -> None:
    told = render_ui_component.parameters["properties"]["props"]["description"]
    assert f"\n{TOLD}" in told
    assert len(TOLD.splitlines()) == len(OUR_COMPONENTS.by_name)
    assert "every component takes title?" in told


@pytest.mark.parametrize("file", ["schema.json", "draw.js", "text.js"])
def test_the_page_has_each_of_our_components(file: str) -> None:
    imported = re.findall(rf'from "\./(\w+)/{file}"', (OURS / "index.js").read_text())
    assert imported == sorted(OUR_COMPONENTS.by_name)


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_model_is_told_every_prop_of_every_component(component: str) -> None:
    line = next(line for line in TOLD.splitlines() if line.startswith(f"- {component}: "))
    for name in property_names(DEFS[component]) - {"title"}:
        assert name in line


def test_the_model_is_told_how_a_selection_is_answered() -> None:
    for form in DEFS["selection_result"]["oneOf"]:
        for name in form["properties"]:
            assert name in request_user_selection.description
