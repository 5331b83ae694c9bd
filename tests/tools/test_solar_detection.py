"""The faults that the build recorded, against what analyze_inverter_health finds in readings."""

import functools
from typing import Any

import pandas as pd
import pytest

from tests.support.solar_raw import YEAR, ask, call, faults, loggers
from turnstream.tools.solar import detection
from turnstream.tools.solar.days import read_days
from turnstream.tools.solar.fleet import open_fleet
from turnstream.tools.solar.readings import Slot
from turnstream.tools.solar.targets import find_target
from turnstream.tools.solar.windows import Window

# Share of the recorded faults that must be found, and that findings must be of a recorded fault.
FOUND = {
    "outage": 1.0,
    "communication_gap": 1.0,
    "string_loss": 1.0,
    "soiling": 1.0,
    "derating": 1.0,
}
# How much of a fault's time the finding has to cover; soiling shows late, as it comes slowly.
COVERED = {
    "outage": 0.95,
    "communication_gap": 1.0,
    "string_loss": 0.95,
    "soiling": 0.6,
    "derating": 0.85,
}
SLACK = pd.Timedelta(days=1, minutes=15)


@functools.cache
def findings(logger_id: int) -> list[dict[str, Any]]:
    _, client = call("analyze_inverter_health", logger=logger_id, **YEAR)
    return [row | {"logger_id": logger_id} for row in client["rows"]]


def found(kind: str) -> list[dict[str, Any]]:
    return [row for number in range(1, 13) for row in findings(number) if row["kind"] == kind]


def span(start: str, end: str | None) -> tuple[pd.Timestamp, pd.Timestamp]:
    """Local times without offset; a last day counts whole, a last minute is the slot's start."""
    first = pd.Timestamp(start[:16])
    if end is None:
        return first, pd.Timestamp("2025-01-01")
    day = len(end) == len("2024-01-01")
    after = pd.Timedelta(days=1) if day else pd.Timedelta(minutes=15)
    return first, pd.Timestamp(end) + after


def recorded(fault: dict[str, Any]) -> tuple[pd.Timestamp, pd.Timestamp]:
    end = fault["end"]
    return pd.Timestamp(fault["start"][:16]), pd.Timestamp(end[:16] if end else "2025-01-01")


def covered(fault: dict[str, Any], finding: dict[str, Any]) -> float:
    if fault["logger_id"] != finding["logger_id"]:
        return 0.0
    start, end = recorded(fault)
    first, last = span(finding["start"], finding["end"])
    return max(0.0, (min(end, last) - max(start, first)) / (end - start))


@pytest.mark.parametrize("kind", FOUND)
def test_recorded_faults_are_found_and_nothing_else_is(kind: str) -> None:
    expected, seen = faults(kind), found(kind)
    assert len(expected) >= 3
    hits = [
        fault for fault in expected if any(covered(fault, one) >= COVERED[kind] for one in seen)
    ]
    assert len(hits) / len(expected) >= FOUND[kind]
    real = [one for one in seen if any(covered(fault, one) > 0 for fault in expected)]
    assert len(real) == len(seen)


@pytest.mark.parametrize("kind", FOUND)
def test_findings_do_not_reach_beyond_their_faults(kind: str) -> None:
    for one in found(kind):
        fault = max(faults(kind), key=lambda fault: covered(fault, one))
        start, end = recorded(fault)
        first, last = span(one["start"], one["end"])
        assert start - SLACK <= first < last <= end + SLACK


def test_days_of_clipping_are_those_on_which_the_array_could_have_given_more() -> None:
    fleet = open_fleet()
    days = read_days(fleet, find_target(fleet, "fleet"), Window(fleet.first_day, fleet.last_day))
    seen = {(day.logger_id, str(day.date)) for day in days if day.clipped >= 4}
    expected = {(fault["logger_id"], fault["day"]) for fault in faults("clipping")}
    assert len(expected) > 300
    assert len(seen & expected) / len(expected) >= 0.98
    assert len(seen & expected) / len(seen) >= 0.9


def test_the_undersized_inverter_clips_most() -> None:
    clipping = {one["logger_id"]: one["lost_kwh"] for one in found("clipping")}
    assert max(clipping, key=lambda number: clipping[number]) == 7
    assert clipping[7] > 1000


def test_the_size_of_soiling_is_told() -> None:
    for fault in faults("soiling"):
        best = max(found("soiling"), key=lambda one: covered(fault, one))
        told = int(best["detail"].split("up to ")[1].split("%")[0]) / 100
        assert told == pytest.approx(fault["size"], abs=0.03)


def test_the_input_that_lost_a_string_is_named() -> None:
    for fault in faults("string_loss"):
        best = max(found("string_loss"), key=lambda one: covered(fault, one))
        assert best["detail"].startswith(f"Input {fault['size']:.0f} delivers 1 of its")


def test_what_a_lost_string_cost_is_about_its_share() -> None:
    days = read_days(open_fleet(), find_target(open_fleet(), 3), _july())
    one_of_eight = sum(day.energy_kwh for day in days) / 7
    [finding] = [one for one in findings(3) if one["kind"] == "string_loss"]
    whole = (pd.Timestamp(finding["end"]) - pd.Timestamp(finding["start"])).days + 1
    assert finding["lost_kwh"] / whole == pytest.approx(one_of_eight / 31, rel=0.2)


def _july() -> Window:
    return Window(pd.Timestamp("2024-07-01").date(), pd.Timestamp("2024-07-31").date())


def test_a_fault_that_is_still_there_is_ongoing_also_in_a_short_window() -> None:
    answer = ask("analyze_inverter_health", logger=11, start="2024-12-31", end="2024-12-31")
    [finding] = [one for one in answer["findings"] if one["kind"] == "string_loss"]
    assert finding["ongoing"]
    assert finding["start"] == "2024-10-02"
    assert answer["condition"] == "fault"


def test_a_fault_of_the_past_is_not_in_a_later_window() -> None:
    answer = ask("analyze_inverter_health", logger=3, start="2024-09-01", end="2024-09-30")
    assert [one["kind"] for one in answer["findings"]] == ["clipping"]
    assert answer["condition"] == "healthy"


def test_the_codes_of_the_time_are_told() -> None:
    answer = ask("analyze_inverter_health", logger=12, start="2024-12-25")
    assert answer["condition"] == "attention"
    assert [error["code"] for error in answer["errors"]] == [2104]


def _slots(powers: list[int | None], poa: int = 800, expected: float = 9000.0) -> list[Slot]:
    return [Slot(number, poa, power, expected) for number, power in enumerate(powers)]


def test_an_outage_lasts_through_the_night_and_through_missing_rows() -> None:
    night = [Slot(10 + n, 0, 0, 0.0) for n in range(40)]
    morning = [Slot(50 + n, 500, 0, 4000.0) for n in range(4)]
    slots = [*_slots([5000, 0, 0, 0, 0, None, 0, 0, 0, 0]), *night, *morning, Slot(54, 500, 9, 0)]
    [run] = detection.outages(slots)
    assert (run.first, run.last) == (1, 53)
    assert run.lost_kwh == pytest.approx((8 * 9000 + 4 * 4000) / 4000)


def test_less_than_an_hour_is_no_outage() -> None:
    assert detection.outages(_slots([5000, 0, 0, 0, 5000])) == []


def test_a_gap_at_night_is_a_gap() -> None:
    [run] = detection.gaps(_slots([0, None, None, None, None, 0], poa=0, expected=0.0))
    assert (run.first, run.last, run.lost_kwh) == (1, 4, 0.0)


def test_the_rated_power_is_no_derating() -> None:
    one = open_fleet().loggers[5]
    assert detection.plateaus(one, _slots([one.rated_w] * 8, expected=1.3 * one.rated_w)) == []
    held = int(0.6 * one.rated_w)
    [run] = detection.plateaus(one, _slots([5000, *[held] * 8, 5000], expected=0.9 * one.rated_w))
    assert (run.first, run.last) == (1, 8)


def test_too_little_sun_to_judge_by_is_no_verdict() -> None:
    one = open_fleet().loggers[0]
    assert detection.judge(one, []) == []
    assert detection.clean_ratio([]) is None
    assert detection.soiling([]) == []
    assert detection.lost_strings(one, []) == []


def test_every_logger_that_sends_can_be_analyzed() -> None:
    for number in loggers().index:
        status = ask("analyze_inverter_health", logger=str(number))["status"]
        assert status == ("no_data" if number == 13 else "ok")
