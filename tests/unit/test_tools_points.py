"""Points of several results, and a selection of them, in one component."""

from collections.abc import Mapping
from typing import Any

import pytest

from turnstream.tools.components import OUR_COMPONENTS

RESULTS: Mapping[str, Mapping[str, Any]] = {
    "north": {
        "columns": [{"key": "site"}, {"key": "kw", "label": "kW"}],
        "rows": [{"site": "A", "kw": 3}, {"site": "B", "kw": None}, {"site": "C", "kw": 9}],
    },
    "south": {"columns": [{"key": "site"}, {"key": "note"}], "rows": [{"site": "D", "note": "x"}]},
    "monday": {"x": [1, 2, 3], "series": [{"name": "kW", "data": [5, None, 1]}], "y_label": "kW"},
    "tuesday": {"x": [2, 4], "series": [{"name": "kW", "data": [7, 8]}]},
    "again": {"x": [1, 2, 3], "series": [{"name": "V", "data": [1, 2, 3]}]},
    "cloud": {"x": [2, 2], "series": [{"name": "C", "data": [1, 3]}]},
    "uneven": {"x": [1, 2, 3], "series": [{"name": "U", "data": [1]}]},
    "odd": {"columns": [7], "rows": [{}]},
    "week": {"x": ["Mon", "Tue", "Wed"], "series": [{"name": "kW", "data": [1, 2, 3]}]},
    "start": {"x": ["Mon", "Tue"], "series": [{"name": "V", "data": [4, 5]}]},
    "twins": {
        "x": [1, 2],
        "series": [{"name": "T", "data": [1, 2]}, {"name": "T", "data": [3, 4]}],
    },
    "wide": {"x": [0], "series": [{"name": "w", "data": [1]}] * 9_000},
    "long": {"x": [*range(30_000)], "series": [{"name": "l", "data": [1] * 30_000}]},
    "huge": {"columns": [{"key": "n"}], "rows": [{"n": n} for n in range(500)]},
}


def drawn(component: str, data_from: str, **select: Any) -> dict[str, Any]:
    args: dict[str, Any] = {"component": component, "props": {}, "data_from": data_from}
    if select:
        args["select"] = select
    props: dict[str, Any] = OUR_COMPONENTS.validate(args, RESULTS.get)["props"]
    return props


def test_rows_of_several_results_stand_below_each_other_under_all_columns() -> None:
    props = drawn("table", "north, south")
    assert [column["key"] for column in props["columns"]] == ["site", "kw", "note"]
    assert [row["site"] for row in props["rows"]] == ["A", "B", "C", "D"]


def test_rows_are_sorted_cut_and_reduced_to_columns() -> None:
    props = drawn("table", "north", sort="-kw", limit=2, columns=["kw"])
    assert props["columns"] == [{"key": "kw", "label": "kW"}]
    assert [row["kw"] for row in props["rows"]] == [9, 3]
    rows = drawn("table", "north", sort="kw")["rows"]
    assert [row["site"] for row in rows] == ["A", "C", "B"], "what is missing comes last"


def test_a_selection_makes_of_a_result_that_is_too_long_one_that_can_be_drawn() -> None:
    with pytest.raises(ValueError, match="at most 200 items"):
        drawn("table", "huge")
    for limit in (3, 3.0):
        assert len(drawn("table", "huge", limit=limit)["rows"]) == 3


def test_series_of_one_axis_stand_beside_each_other() -> None:
    props = drawn("line_chart", "monday,again")
    assert (props["x"], props["y_label"]) == ([1, 2, 3], "kW")
    assert props["series"] == [
        {"name": "kW", "data": [5, None, 1]},
        {"name": "V", "data": [1, 2, 3]},
    ]


def test_series_of_several_axes_have_nulls_where_they_have_no_value() -> None:
    props = drawn("line_chart", "monday,tuesday")
    assert props["x"] == [1, 2, 3, 4]
    assert props["series"] == [
        {"name": "kW (monday)", "data": [5, None, 1, None]},
        {"name": "kW (tuesday)", "data": [None, 7, None, 8]},
    ]


def test_texts_on_an_axis_keep_their_order_unless_each_result_has_them_sorted() -> None:
    props = drawn("line_chart", "week,start")
    assert props["x"] == ["Mon", "Tue", "Wed"]
    assert [one["data"] for one in props["series"]] == [[1, 2, 3], [4, 5, None]]


def test_results_that_would_grow_far_beyond_their_size_are_not_joined() -> None:
    with pytest.raises(ValueError, match="too large to be drawn as one"):
        drawn("line_chart", "wide,long")


def test_series_of_one_name_in_one_result_are_all_kept() -> None:
    series = drawn("line_chart", "twins", sort="-x")["series"]
    assert [one["data"] for one in series] == [[2, 1], [4, 3]]


def test_points_with_a_value_twice_keep_all_of_them() -> None:
    props = drawn("scatter_chart", "cloud,tuesday")
    assert props["x"] == [2, 2, 2, 4]
    assert [one["data"] for one in props["series"]] == [[1, 3, None, None], [None, None, 7, 8]]


def test_points_are_sorted_by_a_series_or_the_axis() -> None:
    assert drawn("line_chart", "monday", sort="-kW", limit=2)["x"] == [1, 3]
    assert drawn("line_chart", "monday", sort="-x")["x"] == [3, 2, 1]
    (kept,) = drawn("line_chart", "monday,again", columns=["V"])["series"]
    assert kept["name"] == "V"


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ({"data_from": "north", "select": {"columns": ["w"]}}, "select: there is no column 'w'"),
        ({"data_from": "north", "select": {"sort": "-w"}}, "there are: site, kw"),
        ({"data_from": "north", "select": {"limit": 0}}, "select.limit: should be"),
        ({"data_from": "north,gone"}, "there is no earlier tool call 'gone'"),
        ({"data_from": "north,monday"}, "'monday' has no points for a table"),
        ({"data_from": ",".join(["north"] * 9)}, "at most 8 calls"),
        ({"data_from": "odd,odd"}, "do not have the form that a table takes"),
        ({"select": {"limit": 1}}, "select: it selects from data_from, which is missing"),
    ],
)
def test_what_cannot_be_selected_is_one_sentence(args: dict[str, Any], sentence: str) -> None:
    call = {"component": "table", "props": {}, **args}
    with pytest.raises(ValueError, match=r"\.$") as refused:
        OUR_COMPONENTS.validate(call, RESULTS.get)
    assert type(refused.value) is ValueError
    assert sentence in str(refused.value)


def test_an_uneven_series_is_not_joined() -> None:
    with pytest.raises(ValueError, match="the series 'U' should have as many items as x, 3, not 1"):
        drawn("line_chart", "uneven,again")


BAD = {"kw": "a lot", "more": [1]}
COLUMNS = [{"key": "site"}, {"key": "kw"}]


def test_rows_that_do_not_fit_are_left_out_and_said() -> None:
    rows = [{"site": "A", "kw": 1}, BAD, {"site": "B"}, {"site": "\ud800"}]
    call = {"component": "table", "props": {"columns": COLUMNS, "rows": rows}}
    shown = OUR_COMPONENTS.validate(call)
    assert shown["props"]["rows"] == [rows[0], rows[2]]
    assert shown["note"] == (
        "2 of 4 rows do not fit and are left out. props.rows.1.more: should be a string or a "
        "number or true or false or null."
    )


@pytest.mark.parametrize(
    "props",
    [
        {"columns": COLUMNS, "rows": [BAD]},
        {"columns": [{"key": "site"}, {}], "rows": []},
        {"columns": COLUMNS, "rows": [{"site": "A"}, BAD], "else": 1},
        {"columns": COLUMNS, "rows": [{"site": "A"}, *[BAD] * 10_000]},
    ],
    ids=["no row is left", "a column is no row", "another fault", "too many rows"],
)
def test_what_rows_do_not_mend_is_refused(props: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="props"):
        OUR_COMPONENTS.validate({"component": "table", "props": props})
