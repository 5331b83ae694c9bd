"""What the tools tell, against the same figures computed from the raw rows in pandas."""

import json
from collections import Counter
from typing import Any

import pandas as pd
import pytest

from tests.support.solar_raw import (
    TOOLS,
    YEAR,
    ask,
    call,
    faults,
    kwh,
    loggers,
    query,
    readings,
    window,
)
from turnstream.tools.components import OUR_COMPONENTS
from turnstream.tools.solar.forecasting import MIN_DAYS, fit, measure, predict
from turnstream.tools.solar.formulas import inverter_power, performance_ratio, quantile, skill

DECEMBER = {"start": "2024-12-01", "end": "2024-12-31"}
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("list_loggers", {}),
    ("list_loggers", {"site": "C"}),
    ("get_fleet_overview", {}),
    ("get_fleet_overview", YEAR),
    ("analyze_inverter_health", {"logger": "inverter 6", **YEAR}),
    ("analyze_inverter_health", {"logger": 2, "start": "2024-05-05", "end": "2024-05-05"}),
    ("get_power_curve", {"logger": "inverter 3", "start": "2024-12-24"}),
    ("get_power_curve", {"logger": 3, "start": "2024-11-03"}),
    ("get_power_curve", {"logger": 7, "start": "2024-08-15", "end": "2024-09-01"}),
    ("get_power_curve", {"logger": 7, **YEAR}),
    ("compare_loggers", {"targets": ["site A", "site B"]}),
    ("compare_loggers", {"targets": [str(n) for n in range(1, 14)], **YEAR}),
    ("calculate_financial_savings", {}),
    ("calculate_financial_savings", {"target": "B", **DECEMBER}),
    ("calculate_performance_ratio", {"target": "site C", **YEAR}),
    ("calculate_performance_ratio", {"start": "2024-06-01", "end": "2024-06-01"}),
    ("forecast_production", {"days": 7}),
    ("forecast_production", {"target": 12, "days": 1}),
    ("diagnose_error_codes", {"codes": [3105]}),
    ("diagnose_error_codes", {}),
]


def ratio(frame: pd.DataFrame, weight: str = "poa") -> float:
    """E / (P0 * H / G_stc) summed over loggers."""
    return float(frame["ac_w"].sum() / (frame["peak_kwp"] * frame[weight]).sum())


def points(client: dict[str, Any]) -> list[tuple[str, float | None]]:
    """x and value of the first series."""
    return list(zip(client["x"], client["series"][0]["data"], strict=True))


@pytest.mark.parametrize(("tool", "arguments"), QUESTIONS)
def test_every_answer_is_short_and_what_it_shows_can_be_drawn(
    tool: str, arguments: dict[str, Any]
) -> None:
    answer, client = call(tool, **arguments)
    assert answer["status"] == client["status"] == "ok"
    assert answer["now"] == "2024-12-31T23:45"
    assert len(json.dumps(answer)) < 6000
    shapes = {
        "line_chart": ("x", "series", "x_label", "y_label", "time_zone"),
        "bar_chart": ("categories", "series", "x_label", "y_label"),
        "table": ("columns", "rows"),
    }
    drawn = [
        OUR_COMPONENTS.validate(
            {"component": name, "props": {key: client[key] for key in keys if key in client}}
        )
        for name, keys in shapes.items()
        if keys[0] in client
    ]
    assert drawn
    assert not ("x" in client and "categories" in client), "series can belong to one of them only"


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_tells_its_arguments(tool: str) -> None:
    schema = TOOLS[tool].tool_call_schema.model_json_schema()  # type: ignore[union-attr]
    assert all(argument.get("description") for argument in schema["properties"].values())
    assert len(TOOLS[tool].description) > 60


def test_every_logger_is_listed_with_its_span_of_data() -> None:
    answer = ask("list_loggers")
    days = readings().groupby("logger_id")["day"].agg(["min", "max"])
    for row in answer["loggers"]:
        own = loggers().loc[row["id"]]
        assert row["peak_kwp"] == own["peak_kwp"]
        assert row["rated_kw"] * 1000 == own["rated_w"]
        span = tuple(days.loc[row["id"]]) if row["id"] in days.index else (None, None)
        assert (row["first_day"], row["last_day"]) == span
    assert answer["count"] == len(answer["loggers"]) == 13
    assert answer["loggers"][11]["first_day"] == "2024-05-01"
    assert [row["id"] for row in ask("list_loggers", site="miami")["loggers"]] == [5, 6, 7]


def test_the_overview_adds_the_fleet_up() -> None:
    answer, client = call("get_fleet_overview", start="2024-07-01", end="2024-07-31")
    frame = window("2024-07-01", "2024-07-31")
    totals = answer["totals"]
    assert totals["energy_kwh"] == pytest.approx(kwh(frame), abs=0.06)
    peak = loggers()["peak_kwp"].drop(index=13).sum()
    assert totals["peak_kwp"] == pytest.approx(peak)
    assert totals["specific_yield_kwh_per_kwp"] == pytest.approx(kwh(frame) / peak, abs=0.006)
    assert totals["performance_ratio"] == pytest.approx(ratio(frame), abs=6e-4)
    assert totals["coverage"] == pytest.approx(len(frame) / (12 * 31 * 96), abs=6e-4)
    for row in client["rows"][:12]:
        own = frame[frame["logger_id"] == int(row["name"].split()[1])]
        assert row["energy_kwh"] == pytest.approx(kwh(own), abs=0.06)
        assert row["performance_ratio"] == pytest.approx(ratio(own), abs=6e-4)
    sites = {row["site"][5]: row["energy_kwh"] for row in answer["sites"]}
    for site, energy in sites.items():
        assert energy == pytest.approx(kwh(frame[frame["site_id"] == site]), abs=0.06)


def test_the_overview_points_at_the_loggers_with_faults() -> None:
    def problems(start: str, end: str) -> dict[str, str]:
        answer = ask("get_fleet_overview", start=start, end=end)
        return {row["logger"]: row["problems"] for row in answer["attention"]}

    own = window("2024-12-25", "2024-12-31", 12)
    idle = ((own["poa"] >= 100) & (own["ac_w"] == 0)).sum() / 4
    assert problems("2024-12-25", "2024-12-31") == {
        "Inverter 11": "input 2 lacks 1 string",
        "Inverter 12": f"no power during {idle:g} h of sun",
    }
    august = problems("2024-08-19", "2024-08-25")
    assert august == {"Inverter 7": "no data for 132 h"}
    october = problems("2024-10-10", "2024-10-18")
    assert october["Inverter 10"] == "15% weaker than when clean"
    assert october["Inverter 11"] == "input 2 lacks 1 string"
    assert problems("2024-12-30", "2024-12-31")["Inverter 11"] == "input 2 lacks 1 string"
    assert problems("2024-05-01", "2024-05-04") == {}


def test_an_open_error_is_in_the_overview() -> None:
    [error] = ask("get_fleet_overview")["open_errors"]
    assert (error["logger"], error["code"], error["end"]) == ("Inverter 11", 2201, None)


def test_a_days_power_curve_is_the_days_readings() -> None:
    answer, client = call("get_power_curve", logger="inverter 3", start="2024-12-24")
    own = window("2024-12-24", "2024-12-24", 3)
    assert client["x"] == list(own["at"])
    assert client["series"][0]["data"] == pytest.approx(list(own["ac_w"] / 1000), abs=6e-4)
    assert answer["figures"]["energy_kwh"] == pytest.approx(kwh(own), abs=0.06)
    best = own.sort_values(["ac_w", "slot"], ascending=[False, True]).iloc[0]
    assert answer["figures"]["peak_kw"] == best["ac_w"] / 1000
    assert answer["figures"]["peak_at"] == best["at"]
    assert answer["resolution_minutes"] == 15
    assert client["time_zone"] == "America/New_York"


def test_a_long_power_curve_is_made_of_means() -> None:
    answer, client = call("get_power_curve", logger=9, start="2024-06-01", end="2024-06-20")
    own = window("2024-06-01", "2024-06-20", 9)
    hours = own.groupby(own["at"].str[:13] + ":00")["ac_w"].mean() / 1000
    assert answer["resolution_minutes"] == 60
    assert answer["points"] == len(client["x"]) == 20 * 24
    expected = {str(at): value for at, value in hours.items()}
    got = dict(points(client))
    assert {at for at, value in got.items() if value is not None} == set(expected)
    for at, value in expected.items():
        assert got[at] == pytest.approx(value, abs=6e-4)


def test_a_years_power_curve_is_made_of_days() -> None:
    answer, client = call("get_power_curve", logger=7, **YEAR)
    own = window(**YEAR).query("logger_id == 7")
    means = own.groupby("day")["ac_w"].mean() / 1000
    assert answer["resolution_minutes"] == 24 * 60
    got = {at[:10]: value for at, value in points(client)}
    assert len(got) == 366
    assert {day for day, value in got.items() if value is None} == set(got) - set(means.index)
    for day, value in means.items():
        assert got[str(day)] == pytest.approx(value, abs=6e-4)
    assert answer["figures"]["peak_kw"] == own["ac_w"].max() / 1000


def test_missing_readings_are_holes_in_the_curve_not_zeros() -> None:
    _, client = call("get_power_curve", logger=6, start="2024-01-22")
    holes = [at for at, value in points(client) if value is None]
    assert holes[0] == "2024-01-22T09:00"
    assert holes[-1] == "2024-01-22T16:45"
    assert len(holes) == 32
    assert None not in client["series"][1]["data"]


def test_sites_are_compared_by_their_own_size() -> None:
    answer, client = call("compare_loggers", targets=["site A", "site B"], **DECEMBER)
    for name, row in zip("AB", answer["compared"], strict=True):
        own = window(**DECEMBER)
        own = own[own["site_id"] == name]
        peak = own.groupby("logger_id")["peak_kwp"].first().sum()
        assert row["energy_kwh"] == pytest.approx(kwh(own), abs=0.06)
        assert row["specific_yield_kwh_per_kwp"] == pytest.approx(kwh(own) / peak, abs=0.006)
        assert row["performance_ratio"] == pytest.approx(ratio(own), abs=6e-4)
    assert answer["best"] == "Site B (Miami Warehouse)"
    data = [row["specific_yield_kwh_per_kwp"] for row in answer["compared"]]
    assert client["series"][0]["data"] == data
    assert answer["spread_percent"] == pytest.approx((1 - data[0] / data[1]) * 100, abs=0.06)


def test_a_target_without_data_is_named_and_does_not_spoil_the_comparison() -> None:
    answer, client = call("compare_loggers", targets=[11, 13], metric="energy")
    assert answer["status"] == "ok"
    assert answer["notes"] == ["Inverter 13 has never sent a reading."]
    assert client["series"][0]["data"][1] is None
    assert answer["best"] == answer["worst"] == "Inverter 11"


def test_savings_are_energy_times_price() -> None:
    answer, client = call(
        "calculate_financial_savings",
        target="site B",
        tariff_per_kwh=0.2,
        feed_in_per_kwh=0.05,
        self_consumption=0.75,
        co2_kg_per_kwh=0.5,
        currency="EUR",
    )
    frame = window(**YEAR)
    frame = frame[frame["site_id"] == "B"]
    energy = kwh(frame)
    assert answer["window"] == YEAR
    assert answer["energy_kwh"] == pytest.approx(energy, abs=0.06)
    assert answer["avoided_purchase"] == pytest.approx(energy * 0.75 * 0.2, abs=0.006)
    assert answer["sales"] == pytest.approx(energy * 0.25 * 0.05, abs=0.006)
    assert answer["savings"] == pytest.approx(energy * (0.15 + 0.0125), abs=0.011)
    assert answer["co2_avoided_kg"] == pytest.approx(energy * 0.5, abs=0.06)
    months = frame.groupby(frame["day"].str[:7])["ac_w"].sum() / 4000
    assert client["categories"] == list(months.index)
    assert client["series"][0]["data"] == pytest.approx(list(months * 0.1625), abs=0.006)


def test_a_month_of_savings_is_told_day_by_day() -> None:
    _, client = call("calculate_financial_savings", **DECEMBER)
    assert len(client["categories"]) == 31
    assert client["categories"][0] == "2024-12-01"


@pytest.mark.parametrize("corrected", [False, True])
def test_the_performance_ratio_is_that_of_the_standard(corrected: bool) -> None:
    answer, client = call(
        "calculate_performance_ratio",
        target="D",
        start="2024-06-01",
        end="2024-08-31",
        temperature_corrected=corrected,
    )
    frame = window("2024-06-01", "2024-08-31", 10, 11, 12)
    assert answer["performance_ratio"] == pytest.approx(ratio(frame), abs=6e-4)
    assert answer["corrected_performance_ratio"] == pytest.approx(
        ratio(frame, "corrected"), abs=6e-4
    )
    for row in client["rows"]:
        own = frame[frame["logger_id"] == int(row["name"].split()[1])]
        hours = own["poa"].sum() / 4000
        assert row["reference_yield_h"] == pytest.approx(hours, abs=0.06)
        assert row["performance_ratio"] == pytest.approx(ratio(own), abs=6e-4)
    weight = "corrected" if corrected else "poa"
    days = {str(day): ratio(part, weight) for day, part in frame.groupby("day")}
    assert client["x"] == list(days)
    assert client["series"][0]["data"] == pytest.approx(list(days.values()), abs=6e-4)


def test_the_textbook_performance_ratio() -> None:
    """10 kWp that gave 36 kWh under 4.5 kWh/m2 ran at 80%."""
    assert performance_ratio(36, 10, 4.5) == pytest.approx(0.8)
    assert performance_ratio(0, 10, 0) is None


def test_the_inverters_curve_is_that_of_pvwatts() -> None:
    """At nominal DC power the curve gives the rating; at half of it 96.6% (Dobos 2014, figure)."""
    assert inverter_power(10_000 / 0.96, 10_000) == pytest.approx(10_000, rel=1e-3)
    half = 5_000 / 0.96
    assert inverter_power(half, 10_000) / half == pytest.approx(0.9622, abs=1e-3)
    assert inverter_power(20_000, 10_000) == 10_000
    assert inverter_power(0, 10_000) == 0


def test_a_forecast_of_the_past_tells_what_was_measured_and_knows_nothing_of_it() -> None:
    answer, client = call("forecast_production", target="B", days=7, start="2024-06-20")
    frame = window("2024-06-20", "2024-06-26", 5, 6, 7)
    days = frame.groupby("day")["ac_w"].sum() / 4000
    assert [row["day"] for row in answer["forecast"]] == list(days.index)
    assert [row["measured_kwh"] for row in answer["forecast"]] == pytest.approx(
        list(days), abs=0.06
    )
    for row in answer["forecast"]:
        assert 0 <= row["low_kwh"] <= row["forecast_kwh"] <= row["high_kwh"]
    assert client["x"][0] == "2024-06-06"
    assert client["series"][1]["data"][:14] == [None] * 14


@pytest.mark.parametrize(
    ("target", "logger_ids", "start", "lead"),
    [(2, [2], "2025-01-01", 1), (7, [7], "2024-08-25", 7), ("B", [5, 6, 7], "2024-08-24", 1)],
    ids=["after a complete year", "after a gap", "in a gap of one of three"],
)
def test_the_forecast_is_the_fading_clear_sky_index_of_the_raw_rows(
    target: str | int, logger_ids: list[int], start: str, lead: int
) -> None:
    """The central value computed anew; a logger's day with too few readings does not count."""
    site, peaks = loggers().loc[logger_ids[0], "site_id"], loggers()["peak_kwp"]
    clear = query("SELECT * FROM site_day")
    clear = clear[clear["site_id"] == site]
    names = [str(pd.Timestamp.fromordinal(day).date()) for day in clear["day"]]
    unit = pd.Series(list(clear["clear_poa_sum"] / 4000), index=names)
    could = unit * sum(peaks[number] for number in logger_ids)
    energy, offered = pd.Series(0.0, index=names), pd.Series(0.0, index=names)
    for number in logger_ids:
        days = window(YEAR["start"], start, number).groupby("day")["ac_w"].agg(["sum", "count"])
        complete = days[(days["count"] >= 0.9 * 96) & (days.index < start)]
        energy = energy.add(complete["sum"] / 4000, fill_value=0)
        offered = offered.add(unit[complete.index] * peaks[number], fill_value=0)

    index = (energy / offered).where(offered > 0)
    known = index.dropna().index
    train = index.where(index.index < known[int(len(known) * 2 / 3)])
    mean = train.rolling(21, min_periods=10).mean()
    now, later = train - mean, train.shift(-lead) - mean
    both = now.notna() & later.notna()
    rho = float((now[both] * later[both]).sum() / (now[both] ** 2).sum())
    origin = str((pd.Timestamp(start) - pd.Timedelta(days=lead)).date())
    level = float(index[:origin].iloc[-21:].mean())
    central = (level + rho * (float(index[origin]) - level)) * could[start]
    answer = ask("forecast_production", target=target, days=1, start=start)
    assert answer["forecast"][0]["day"] == start
    assert answer["forecast"][0]["forecast_kwh"] == pytest.approx(central, abs=0.06)


@pytest.mark.parametrize("target", ["fleet", "A", "B", "C", "D", "2", "12"])
@pytest.mark.parametrize("days", [1, 3, 7])
def test_the_forecast_beats_persistence_on_days_it_has_not_seen(target: str, days: int) -> None:
    uncertainty = ask("forecast_production", target=target, days=days)["uncertainty"]
    assert uncertainty["skill_against_persistence"] > 0.05
    assert uncertainty["rmse_kwh"] < uncertainty["persistence_rmse_kwh"]
    assert uncertainty["held_back_days"] > 50
    assert 0.72 <= uncertainty["held_back_inside_interval"] <= 0.88


def test_the_held_back_days_do_not_shape_the_fit() -> None:
    index = {day: 0.5 + 0.3 * ((day * 7919) % 13) / 13 for day in range(120)}
    changed = {day: k if day < 80 else 1 - k for day, k in index.items()}
    assert fit(index) == fit(changed)


def test_a_forecast_without_anomaly_is_the_mean_and_sure_of_it() -> None:
    index = dict.fromkeys(range(MIN_DAYS), 0.6)
    clear = dict.fromkeys(range(MIN_DAYS + 7), 100.0)
    rhos = fit(index)
    [found] = predict(index, clear, rhos, [MIN_DAYS])
    assert (found.low, found.energy, found.high) == pytest.approx((60.0, 60.0, 60.0))
    held_back = measure(index, clear, rhos, 1)
    assert held_back.skill is None
    assert held_back.rmse == pytest.approx(0, abs=1e-9)


def test_skill_and_quantile_are_as_defined() -> None:
    assert skill([1.0, -1.0], [2.0, -2.0]) == pytest.approx(0.5)
    assert skill([2.0], [2.0]) == 0
    assert quantile([5, 1, 4, 2, 3], 0.1) == 1
    assert quantile([5, 1, 4, 2, 3], 0.6) == 3


def test_a_code_is_explained_with_its_occurrences() -> None:
    answer, client = call("diagnose_error_codes", codes=[3105])
    [code] = answer["codes"]
    assert "too hot" in code["meaning"]
    assert code["severity"] == "warning"
    assert code["causes"]
    assert code["action"]
    known = faults("derating")
    assert code["occurrences"] == answer["occurrences"] == len(client["rows"]) == len(known)
    assert code["loggers"] == ["Inverter 6", "Inverter 7"]
    assert {(row["logger"], row["start"]) for row in client["rows"]} == {
        (f"Inverter {fault['logger_id']}", fault["start"][:16]) for fault in known
    }


def test_all_that_occurred_is_counted() -> None:
    answer, client = call("diagnose_error_codes")
    events = query("SELECT * FROM event")
    counts = Counter(events["code"])
    assert {row["code"]: row["occurrences"] for row in answer["codes"]} == counts
    assert dict(zip(client["categories"], client["series"][0]["data"], strict=True)) == {
        str(code): count for code, count in counts.items()
    }
    hours = (events["end_slot"] - events["start_slot"]).groupby(events["code"]).sum() / 4
    told = {row["code"]: row["hours"] for row in answer["codes"]}
    assert all(told[code] == hours[code] for code in told if code != 2201)
    assert answer["open"] == 1


def test_a_code_that_did_not_occur_is_still_explained() -> None:
    answer = ask("diagnose_error_codes", codes=[5003], target="A")
    assert answer["status"] == "ok"
    assert answer["occurrences"] == 0
    assert "relay" in answer["codes"][0]["meaning"]
