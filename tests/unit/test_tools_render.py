"""render_ui_component: its arguments are its result, so they must be fit to show."""

import copy
import math
from typing import Any

import pytest

from turnstream.tools.contract import ResultLookup
from turnstream.tools.ui import render_ui_component

POINTS: dict[str, Any] = {"x": [1, 2], "series": [{"name": "a", "data": [1, None]}]}
CHART: dict[str, Any] = {"component": "line_chart", "props": POINTS}


def no_results(_call: str) -> None:
    """A turn without earlier calls."""


def refusal(args: dict[str, Any], results: ResultLookup = no_results) -> str:
    with pytest.raises(ValueError, match=r"\.$") as refused:
        render_ui_component.validate(args, results)
    assert type(refused.value) is ValueError
    sentence = str(refused.value)
    assert len(sentence) < 500
    sentence.encode()
    return sentence


def line_chart(**props: Any) -> dict[str, Any]:
    return {"component": "line_chart", "props": {**POINTS, **props}}


def test_what_is_rendered_is_never_pending() -> None:
    assert not render_ui_component.awaits_client


@pytest.mark.parametrize(
    "args",
    [
        CHART,
        line_chart(x=["2025-06-01T00:00", "2025-06-01T00:15"], time_zone="Europe/Berlin"),
        {
            "component": "bar_chart",
            "props": {"categories": ["a"], "series": [{"name": "n", "data": [0.5]}]},
        },
        {
            "component": "table",
            "props": {
                "title": "T",
                "columns": [{"key": "a", "label": "A", "align": "right"}],
                "rows": [{"a": 1}, {"a": None}, {"a": "x"}, {"a": True}, {}],
            },
        },
        {
            "component": "metric_cards",
            "props": {"cards": [{"label": "a", "value": 1, "unit": "kW", "tone": "success"}]},
        },
        {"component": "report", "props": {"markdown": "# Hello"}},
        {"component": "alert", "props": {"message": "Mind the gap", "tone": "warning"}},
    ],
    ids=lambda args: args["component"],
)
def test_fitting_arguments_are_the_result(args: dict[str, Any]) -> None:
    assert render_ui_component.validate(args, no_results) == args


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_series_has_a_value_for_every_x(length: int) -> None:
    args = line_chart(series=[{"name": "a", "data": [1, 2]}, {"name": "b", "data": [1] * length}])
    assert refusal(args) == (
        f"props.series.1.data: should have as many items as x, 2, not {length}."
    )


def test_a_series_has_a_value_for_every_category() -> None:
    props = {"categories": ["a", "b"], "series": [{"name": "n", "data": [1]}]}
    assert refusal({"component": "bar_chart", "props": props}) == (
        "props.series.0.data: should have as many items as categories, 2, not 1."
    )


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("component", ["line_chart", "table", "metric_cards"])
def test_a_number_is_finite(component: str, number: float) -> None:
    props: dict[str, dict[str, Any]] = {
        "line_chart": {"x": [1, 2], "series": [{"name": "a", "data": [1, number]}]},
        "table": {"columns": [{"key": "a"}], "rows": [{"a": number}]},
        "metric_cards": {"cards": [{"label": "a", "value": number}]},
    }
    args = {"component": component, "props": props[component]}
    assert "should be a finite number" in refusal(args)


@pytest.mark.parametrize("number", [2**63, -(2**63), 10**400])
def test_an_integer_is_one_that_a_checkpoint_can_hold(number: int) -> None:
    assert "props.x.1: is too big" in refusal(line_chart(x=[1, number]))
    assert render_ui_component.validate(line_chart(x=[1, 2**63 - 1]), no_results)


@pytest.mark.parametrize(
    "args",
    [
        {"component": "alert", "props": {"message": "\ud800"}},
        {"component": "alert", "props": {"message": "a", "\ud800": 1}},
        {"component": "table", "props": {"columns": [{"key": "a"}], "rows": [{"a": "\ud800"}]}},
        {"component": "table", "props": {"columns": [{"key": "a"}], "rows": [{"\ud800": 1}]}},
        {
            "component": "table",
            "props": {"columns": [{"key": "a"}], "rows": [{"\ud800": math.nan}]},
        },
        {"component": "alert", "props": {"message": "a"}, "\ud800": 1},
        line_chart(x=["\ud800", "b"]),
    ],
)
def test_half_a_surrogate_pair_is_refused(args: dict[str, Any]) -> None:
    assert "nicode" in refusal(args)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({}, "component: Field required; props: Field required."),
        ({"component": "pie", "props": {}}, "component: Input should be 'alert', "),
        ({"component": "alert", "props": []}, "props: "),
        ({"component": "alert", "props": {}}, "props.message: Field required."),
        ({"component": "alert", "props": {"message": None}}, "props.message: "),
        ({"component": "alert", "props": {"message": "a", "title": None}}, "props.title: "),
        ({"component": "alert", "props": {"message": "a"}, "id": 1}, "id: "),
        ({"component": "alert", "props": {"message": "a", "onclick": "x"}}, "props.onclick: "),
        (line_chart(x=[1, "a", True]), "props.x.2: should be a number or a string."),
        (line_chart(series=[{"name": "a", "data": [1, "5"]}]), "props.series.0.data.1: should be"),
    ],
)
def test_a_refusal_names_the_place_and_what_is_wrong(args: dict[str, Any], said: str) -> None:
    assert refusal(args).startswith(said)


def test_a_refusal_tells_a_few_faults_and_counts_the_rest() -> None:
    sentence = refusal(line_chart(series=[{"name": "a", "data": ["x"] * 400}]))
    assert sentence.count("props.series.0.data.") == 3
    assert sentence.endswith("; and 397 more.")


@pytest.mark.parametrize(
    "args",
    [
        {"component": "x" * 100_000, "props": {}},
        {"component": "alert", "props": {"message": "x" * 100_000}},
        {"component": "alert", "props": {"message": "a", "k" * 100_000: 1}},
        {"component": "alert", "props": {"message": "a"}, "data_from": "c" * 100_000},
        {"component": "alert", "props": {f"k{n}": n for n in range(10_000)}},
        line_chart(x=list(range(100_000))),
        {"component": "table", "props": {"columns": [{"key": "a"}], "rows": [{"k" * 9999: []}]}},
    ],
)
def test_a_refusal_does_not_repeat_a_huge_input(args: dict[str, Any]) -> None:
    assert refusal(args)


def test_data_from_a_call_that_never_was_is_refused_by_its_id() -> None:
    sentence = refusal({**CHART, "data_from": "call_9"})
    assert "there is no earlier tool call 'call_9'" in sentence
    assert "props" in sentence


def test_data_from_is_not_empty_and_not_null() -> None:
    assert refusal({**CHART, "data_from": ""}).startswith("data_from: ")
    assert refusal({**CHART, "data_from": None}).startswith("data_from: ")


LABELLED = {**POINTS, "x_label": "hour", "y_label": "kW", "time_zone": "UTC", "rows": [], "n": 2}
RESULTS: ResultLookup = {"call_1": POINTS, "call_2": LABELLED, "call_3": {"total": 5}}.get


def filled(component: str, call: str, **props: Any) -> Any:
    args = {"component": component, "props": props, "data_from": call}
    kept = copy.deepcopy(args)
    resolved = render_ui_component.validate(args, RESULTS)
    assert args == kept, "the arguments as they were written are somebody else's"
    return resolved["props"]


def test_data_from_an_earlier_call_fills_the_props() -> None:
    assert filled("line_chart", "call_1", title="Output") == {"title": "Output", **POINTS}


def test_data_from_an_earlier_call_brings_its_labels_where_the_model_wrote_none() -> None:
    assert filled("line_chart", "call_2", y_label="MW") == {
        **POINTS,
        "x_label": "hour",
        "y_label": "MW",
        "time_zone": "UTC",
    }


def test_data_from_an_earlier_call_is_validated_like_any_other() -> None:
    uneven = {"x": [1, 2], "series": [{"name": "a", "data": [1]}]}
    args = {"component": "line_chart", "props": {}, "data_from": "call_1"}
    assert "as many items as x" in refusal(args, {"call_1": uneven}.get)


def test_data_from_a_call_without_such_points_is_refused_with_what_it_has() -> None:
    args = {"component": "bar_chart", "props": {}, "data_from": "call_1"}
    fits = "it has them for: line_chart, scatter_chart."
    assert f"has no points for a bar_chart; {fits}" in refusal(args, RESULTS)
    args = {"component": "report", "props": {"markdown": ""}, "data_from": "call_3"}
    assert "has no points for a report; it has them for: no component." in refusal(args, RESULTS)
