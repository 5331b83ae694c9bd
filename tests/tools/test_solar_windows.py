"""Windows and names that do not fit: empty, partial, backwards, unknown, hostile."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.samples import sample
from tests.support.solar_raw import TOOLS, YEAR, ask, call, kwh, query, window
from turnstream.tools.contract import CLIENT_FIELDS
from turnstream.tools.solar.answers import SHARED_FIELDS
from turnstream.tools.solar.fleet import FLEET_FILE

WITH_WINDOW = {
    "get_fleet_overview": {},
    "analyze_inverter_health": {"logger": "3"},
    "get_power_curve": {"logger": "3"},
    "compare_loggers": {"targets": ["A", "B"]},
    "calculate_financial_savings": {},
    "calculate_performance_ratio": {},
    "diagnose_error_codes": {},
}
NAMED = {
    "list_loggers": "site",
    "analyze_inverter_health": "logger",
    "get_power_curve": "logger",
    "calculate_financial_savings": "target",
    "calculate_performance_ratio": "target",
    "forecast_production": "target",
    "diagnose_error_codes": "target",
}
HOSTILE = (
    "'; DROP TABLE reading; --",
    "3 OR 1=1",
    "1 UNION SELECT value FROM meta",
    "../../etc/passwd",
    "\x00",
    "%s%s%n",
    "inverter " + "9" * 5000,
    "\u0663",  # a digit, but not one of ours
    "\U0001d7db" * 50,
    "NaN",
)


@pytest.mark.parametrize(("tool", "arguments"), WITH_WINDOW.items())
def test_a_window_beside_the_data_says_when_there_are_data(
    tool: str, arguments: dict[str, Any]
) -> None:
    for start, end in (("2023-01-01", "2023-12-31"), ("2025-01-01", "2031-01-01")):
        answer, client = call(tool, **arguments, start=start, end=end)
        assert answer["status"] == client["status"] == "no_data_in_window"
        assert answer["window"] == {"start": start, "end": end}
        assert answer["available"] == [YEAR]
        assert "figures" not in answer
        assert not {"x", "series", "rows"} & client.keys()


@pytest.mark.parametrize("tool", ["analyze_inverter_health", "get_power_curve"])
def test_a_logger_that_never_sent_has_no_data_at_any_time(tool: str) -> None:
    for arguments in ({}, YEAR, {"start": "1999-01-01", "end": "1999-01-02"}):
        answer = ask(tool, logger="inverter 13", **arguments)
        assert answer["status"] == "no_data"
        assert answer["available"] == []
    for other in ("calculate_financial_savings", "forecast_production", "diagnose_error_codes"):
        assert ask(other, target="13")["status"] == "no_data"


def test_a_gap_of_days_is_between_two_windows_with_data() -> None:
    answer = ask("get_power_curve", logger="inverter 7", start="2024-08-20", end="2024-08-23")
    assert answer["status"] == "no_data_in_window"
    assert answer["available"] == [
        {"start": "2024-01-01", "end": "2024-08-19"},
        {"start": "2024-08-24", "end": "2024-12-31"},
    ]
    early = ask("calculate_performance_ratio", target=12, start="2024-02-01", end="2024-02-29")
    assert early["status"] == "no_data_in_window"
    assert early["available"][0] == {"start": "2024-05-01", "end": "2024-07-14"}


def test_the_windows_told_are_windows_that_work() -> None:
    answer = ask("get_power_curve", logger=7, start="2024-08-20")
    for one in answer["available"]:
        assert ask("get_power_curve", logger=7, **one)["status"] == "ok"
        assert ask("get_power_curve", logger=7, start=one["end"])["status"] == "ok"
    late = ask("forecast_production", start="2024-01-15")
    assert late["status"] == "no_data_in_window"
    for start in late["available"][0].values():
        assert ask("forecast_production", start=start)["status"] == "ok"


def test_a_partial_window_answers_for_what_it_has_and_says_how_much() -> None:
    answer = ask("calculate_financial_savings", target=7, start="2024-08-18", end="2024-08-25")
    own = window("2024-08-18", "2024-08-25", 7)
    assert answer["status"] == "ok"
    assert answer["energy_kwh"] == pytest.approx(kwh(own), abs=0.06)
    assert answer["coverage"] == pytest.approx(len(own) / (8 * 96), abs=6e-4)
    over = ask("calculate_financial_savings", start="2024-12-25", end="2025-03-31")
    assert (
        over["energy_kwh"] == ask("calculate_financial_savings", start="2024-12-25")["energy_kwh"]
    )
    assert over["coverage"] == 1


def test_days_before_a_logger_was_in_service_are_no_gap() -> None:
    answer = ask("calculate_performance_ratio", target=12, **YEAR)
    own = window(**YEAR)
    own = own[own["logger_id"] == 12]
    assert answer["coverage"] == pytest.approx(len(own) / (245 * 96 + 4), abs=6e-4)


@pytest.mark.parametrize(
    ("logger", "day", "slots", "zone"),
    [
        (3, "2024-03-10", 92, "America/New_York"),
        (3, "2024-11-03", 100, "America/New_York"),
        (8, "2024-03-10", 92, "America/Anchorage"),
        (8, "2024-11-03", 100, "America/Anchorage"),
        (3, "2024-02-29", 96, "America/New_York"),
    ],
)
def test_the_days_of_the_clocks_and_the_leap_day_are_whole(
    logger: int, day: str, slots: int, zone: str
) -> None:
    answer, client = call("get_power_curve", logger=logger, start=day)
    own = window(day, day, logger)
    assert len(own) == answer["points"] == len(client["x"]) == slots
    assert client["x"] == list(own["at"])
    assert client["time_zone"] == zone
    assert answer["coverage"] == 1
    assert answer["figures"]["energy_kwh"] == pytest.approx(kwh(own), abs=0.06)
    skipped, twice = f"{day}T02:15", f"{day}T01:15"
    assert client["x"].count(skipped) == (0 if slots == 92 else 1)
    assert client["x"].count(twice) == (2 if slots == 100 else 1)


def test_a_gap_over_the_change_of_clocks_is_as_long_as_it_was() -> None:
    answer = ask("analyze_inverter_health", logger=9, start="2024-11-04", end="2024-11-04")
    [gap] = [one for one in answer["findings"] if one["kind"] == "communication_gap"]
    assert (gap["start"], gap["end"]) == ("2024-11-02T18:00", "2024-11-04T06:45")
    assert gap["detail"] == "No readings for 38 h."
    assert ask("get_power_curve", logger=9, start="2024-11-03")["status"] == "no_data_in_window"


@pytest.mark.parametrize(("tool", "arguments"), WITH_WINDOW.items())
@pytest.mark.parametrize(
    "day",
    ["2023-02-29", "2025-02-29", "2024-02-30", "2024-13-01", "0000-01-01", "24-01-01",
     "2024-1-1", "20240101", "2024-W01-1", "2024-01-01T00:00", "yesterday", "-1",
     "\uff12\uff10\uff12\uff14-01-01",
     *HOSTILE],
)  # fmt: skip
def test_what_is_no_day_is_refused(tool: str, arguments: dict[str, Any], day: str) -> None:
    for name in ("start", "end"):
        answer = ask(tool, **arguments, **{name: day})
        assert answer["status"] == "invalid_argument"
        assert answer["argument"] == name
        assert answer["allowed"] == "a day as YYYY-MM-DD"
        assert len(json.dumps(answer, ensure_ascii=False)) < 500


@pytest.mark.parametrize(("tool", "arguments"), WITH_WINDOW.items())
def test_a_window_that_runs_backwards_is_refused(tool: str, arguments: dict[str, Any]) -> None:
    answer = ask(tool, **arguments, start="2024-06-02", end="2024-06-01")
    assert answer["status"] == "invalid_argument"
    assert answer["argument"] == "end"


@pytest.mark.parametrize(("tool", "arguments"), WITH_WINDOW.items())
def test_all_of_time_is_all_of_the_data(tool: str, arguments: dict[str, Any]) -> None:
    ever, _ = call(tool, **arguments, start="0001-01-01", end="9999-12-31")
    year, _ = call(tool, **arguments, **YEAR)
    assert ever.pop("window") == {"start": "0001-01-01", "end": "9999-12-31"}
    assert year.pop("window") == YEAR
    assert ever == year


def test_what_is_not_said_counts_back_from_the_end_of_the_data() -> None:
    def days(tool: str, **arguments: str) -> tuple[str, str]:
        told = ask(tool, **arguments)["window"]
        return told["start"], told["end"]

    assert days("get_fleet_overview") == ("2024-12-25", "2024-12-31")
    assert days("get_fleet_overview", end="2024-03-01") == ("2024-02-24", "2024-03-01")
    assert days("get_fleet_overview", start="2024-12-01") == ("2024-12-01", "2024-12-31")
    assert days("get_power_curve", logger="3") == ("2024-12-31", "2024-12-31")
    assert days("get_power_curve", logger="3", start="2024-06-01") == ("2024-06-01", "2024-06-01")
    assert days("calculate_financial_savings") == ("2024-01-01", "2024-12-31")
    assert days("calculate_financial_savings", start="", end="") == ("2024-01-01", "2024-12-31")
    assert days("compare_loggers") == ("2024-12-02", "2024-12-31")
    assert days("get_fleet_overview", end="0001-01-03") == ("0001-01-01", "0001-01-03")


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("inverter 3", "Inverter 3"),
        ("Inverter #3", "Inverter 3"),
        ("INV-03", "Inverter 3"),
        ("3", "Inverter 3"),
        (3, "Inverter 3"),
        ("logger_3", "Inverter 3"),
        ("site A", "Site A (Greensboro Depot)"),
        ("a", "Site A (Greensboro Depot)"),
        ("Site B (Miami Warehouse)", "Site B (Miami Warehouse)"),
        ("miami", "Site B (Miami Warehouse)"),
        ("sand point", "Site C (Sand Point Harbor)"),
        ("fleet", "Fleet"),
        ("the whole fleet", "Fleet"),
    ],
)
def test_names_are_understood_as_people_write_them(asked: str | int, name: str) -> None:
    assert ask("calculate_performance_ratio", target=asked)["target"]["name"] == name


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    answer = ask("get_power_curve", logger="invertr 3")
    assert answer["status"] == "invalid_argument"
    assert answer["near_matches"][0] == "Inverter 3"
    assert "Inverter 13" in answer["allowed"]
    assert ask("get_power_curve", logger="inverter 0")["status"] == "invalid_argument"
    near = ask("compare_loggers", targets=["A", "Mimi"])["near_matches"]
    assert near == ["Site B (Miami Warehouse)"]
    assert ask("list_loggers", site="grensboro")["near_matches"] == ["Site A (Greensboro Depot)"]
    assert ask("list_loggers", site="inverter 3")["status"] == "invalid_argument"


@pytest.mark.parametrize(("tool", "argument"), NAMED.items())
@pytest.mark.parametrize("name", [*HOSTILE, -3, 0, 14, 10**30])
def test_hostile_names_are_refused_and_do_nothing(
    tool: str, argument: str, name: str | int
) -> None:
    before = FLEET_FILE.read_bytes()
    if tool == "list_loggers":
        name = str(name)
    answer = ask(tool, **{argument: name})
    assert answer["status"] == "invalid_argument"
    assert answer["argument"] == argument
    assert len(json.dumps(answer, ensure_ascii=False)) < 1500
    assert FLEET_FILE.read_bytes() == before
    assert query("SELECT COUNT(*) AS n FROM reading")["n"][0] > 400_000


@pytest.mark.parametrize(
    "argument", ["tariff_per_kwh", "feed_in_per_kwh", "self_consumption", "co2_kg_per_kwh"]
)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.01, 1e308])
def test_prices_are_numbers_within_bounds(argument: str, value: float) -> None:
    answer = ask("calculate_financial_savings", **{argument: value})
    assert answer["status"] == "invalid_argument"
    assert answer["argument"] == argument


@pytest.mark.parametrize("currency", ["", "usd", "US", "USDX", "<b>", "ÜSD"])
def test_a_currency_is_three_capital_letters(currency: str) -> None:
    answer = ask("calculate_financial_savings", currency=currency)
    assert answer["argument"] == "currency"


@pytest.mark.parametrize("days", [0, -1, 8, 10**30])
def test_a_forecast_is_of_one_to_seven_days(days: int) -> None:
    assert ask("forecast_production", days=days)["argument"] == "days"


@pytest.mark.parametrize("start", ["2025-01-02", "2024-01-05", "1990-01-01", "9999-12-31"])
def test_a_forecast_needs_history_right_before_it(start: str) -> None:
    answer = ask("forecast_production", start=start)
    assert answer["status"] == "no_data_in_window"
    [span] = answer["available"]
    assert span["end"] == "2025-01-01"


@pytest.mark.parametrize("codes", [[3104], [3105, -1], [10**30], list(range(50))])
def test_unknown_codes_are_answered_with_known_ones(codes: list[int]) -> None:
    answer = ask("diagnose_error_codes", codes=codes)
    assert answer["status"] == "invalid_argument"
    assert answer["argument"] == "codes"
    assert len(json.dumps(answer, ensure_ascii=False)) < 500
    if codes == [3104]:
        assert answer["near_matches"] == [3105, 3106]


def test_a_code_is_explained_also_where_there_are_no_data() -> None:
    answer, client = call("diagnose_error_codes", codes=[3105], start="2030-01-01")
    assert answer["status"] == "no_data_in_window"
    assert "too hot" in answer["codes"][0]["meaning"]
    assert client["codes"] == answer["codes"]


@pytest.mark.parametrize("targets", [[], ["A"], ["A", "site A"], ["3"] * 21])
def test_a_comparison_needs_two_and_not_too_many(targets: list[str]) -> None:
    assert ask("compare_loggers", targets=targets)["argument"] == "targets"


def test_a_comparison_without_any_data_tells_where_there_are_some() -> None:
    answer = ask("compare_loggers", targets=[13, 12], start="2024-01-01", end="2024-01-31")
    assert answer["status"] == "no_data_in_window"
    assert answer["available"]


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_lets_the_client_see_why_it_was_refused(tool: str) -> None:
    fields = (TOOLS[tool].metadata or {})[CLIENT_FIELDS]
    assert set(SHARED_FIELDS) <= set(fields)


TEXT = st.text(max_size=30) | st.sampled_from(["3", "A", "fleet", "inverter 13", "2024-06-01"])
DAY = st.none() | st.text(max_size=12) | st.dates().map(str)


@settings(max_examples=sample(60, 15))
@given(tool=st.sampled_from(sorted(WITH_WINDOW)), name=TEXT, start=DAY, end=DAY)
def test_whatever_is_asked_the_answer_has_a_status(
    tool: str, name: str, start: str | None, end: str | None
) -> None:
    arguments: dict[str, Any] = {"start": start, "end": end}
    if tool in NAMED:
        arguments[NAMED[tool]] = name
    answer, client = call(tool, **arguments)
    assert answer["status"] in {"ok", "no_data", "no_data_in_window", "invalid_argument"}
    assert client["status"] == answer["status"]
    assert len(json.dumps(answer)) < 20_000
