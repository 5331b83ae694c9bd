"""forecast_production: the energy of the days to come, with how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from turnstream.tools.contract import real_tool
from turnstream.tools.solar.answers import (
    LINE_FIELDS,
    SHARED_FIELDS,
    TABLE_FIELDS,
    Refusal,
    Result,
    answering,
    invalid,
    rounded,
    shown,
    table,
)
from turnstream.tools.solar.fleet import Fleet, open_fleet
from turnstream.tools.solar.forecasting import (
    MAX_LEAD,
    MIN_DAYS,
    Forecast,
    Skill,
    fit,
    measure,
    predict,
)
from turnstream.tools.solar.formulas import G_STC
from turnstream.tools.solar.schema import SLOTS_PER_HOUR
from turnstream.tools.solar.targets import Target, find_target
from turnstream.tools.solar.windows import Window, find_day, require_data

_COMPLETE = 0.9  # share of a day's readings that must be there for the day to count
_KWH = 1000 * SLOTS_PER_HOUR  # of W summed over slots
_SHOWN_DAYS = 14  # of what was measured, before the forecast in the chart
_LABELS = {
    "day": "Day",
    "forecast_kwh": "Forecast (kWh)",
    "low_kwh": "10% (kWh)",
    "high_kwh": "90% (kWh)",
    "measured_kwh": "Measured (kWh)",
}


@real_tool(
    client_fields=[
        *SHARED_FIELDS,
        *TABLE_FIELDS,
        *LINE_FIELDS,
        "forecast",
        "total_kwh",
        "uncertainty",
        "method",
    ],
    artifact=True,
    availability_tool="list_loggers",
)
@answering
def forecast_production(
    target: str | int = "fleet", days: int = 3, start: str | None = None
) -> Result:
    """Forecast the daily energy of the next days: the clear-sky energy of each day times a
    clear-sky index between today's and the last three weeks' mean. No weather forecast is used.
    Each day has an interval meant to hold 80% of outcomes, and the answer says how the method did
    on days held back from fitting, against persistence (skill 0: no better, 1: perfect). A `start`
    in the past forecasts from what was known then, and tells what was measured.

    Args:
        target: "fleet", a site or a logger, by number or name.
        days: How many days, 1 to 7.
        start: First day of the forecast, YYYY-MM-DD. Default: the day after the data end.
    """
    if not 1 <= days <= MAX_LEAD:
        raise invalid("days", f"{shown(days)} is out of bounds.", f"1 to {MAX_LEAD}")
    fleet = open_fleet()
    one = find_target(fleet, target)
    after = fleet.last_day.toordinal() + 1
    first = find_day("start", start).toordinal() if start else after
    everything = Window(fleet.first_day, fleet.last_day)
    require_data(fleet, one, everything)
    history = _history(fleet, one)
    index = {day: each.index for day, each in history.items() if each.index is not None}
    _require_history(fleet, one, index, first, after)
    known = {day: k for day, k in index.items() if day < first}
    clear = _clear_energy(fleet, one)
    rhos = fit(known)
    held_back = measure(known, clear, rhos, days)
    found = predict(known, clear, rhos, range(first, first + days))
    energy = {day: each.energy_kwh for day, each in history.items()}
    rows = [_row(each, energy.get(each.day)) for each in found]
    answer = {
        "status": "ok",
        "now": fleet.now,
        "target": one.described(),
        "forecast": rows,
        "total_kwh": rounded(sum(each.energy for each in found)),
        "uncertainty": _uncertainty(held_back),
        "method": "clear-sky energy times a fading clear-sky index; no weather forecast",
    }
    return answer, table(_LABELS, rows) | _lines(found, energy, first)


@dataclass(frozen=True, slots=True)
class _Measured:
    """A day of the target: its energy, and its clear-sky index over the loggers whose day is as
    good as complete; None if there is no such logger."""

    energy_kwh: float
    index: float | None


def _history(fleet: Fleet, target: Target) -> dict[int, _Measured]:
    """By day."""
    found = fleet.rows(
        "SELECT t.day, SUM(t.ac_sum), SUM(t.ac_sum * (t.intervals >= ? * d.slots)),"
        " SUM((t.intervals >= ? * d.slots) * d.clear_poa_sum"
        " * (l.strings_1 + l.strings_2) * l.string_w)"
        " FROM logger_day AS t JOIN logger AS l USING (logger_id)"
        " JOIN site_day AS d ON d.site_id = l.site_id AND d.day = t.day"
        " WHERE t.logger_id IN (SELECT value FROM json_each(?)) GROUP BY t.day ORDER BY t.day",
        _COMPLETE,
        _COMPLETE,
        target.ids,
    )
    return {
        day: _Measured(energy / _KWH, whole / (clear / G_STC) if clear else None)
        for day, energy, whole, clear in found
    }


def _clear_energy(fleet: Fleet, target: Target) -> dict[int, float]:
    """kWh by day under a clear sky at a performance ratio of 1, also for the days ahead."""
    found = fleet.rows(
        "SELECT d.day, SUM(d.clear_poa_sum * (l.strings_1 + l.strings_2) * l.string_w)"
        " FROM site_day AS d JOIN logger AS l USING (site_id)"
        " WHERE l.logger_id IN (SELECT value FROM json_each(?))"
        " AND l.commissioned IS NOT NULL GROUP BY d.day",
        target.ids,
    )
    return {day: total / G_STC / _KWH for day, total in found}


def _require_history(
    fleet: Fleet, target: Target, index: dict[int, float], first: int, after: int
) -> None:
    """Raises Refusal unless there is a history of MIN_DAYS days that ends just before `first`."""
    days = sorted(index)
    earliest = days[MIN_DAYS] if len(days) > MIN_DAYS else after
    recent = [day for day in days if day < first]
    if len(recent) >= MIN_DAYS and first <= after and first - recent[-1] <= MAX_LEAD:
        return
    raise Refusal(
        "no_data_in_window",
        f"A forecast from {date.fromordinal(first)} needs {MIN_DAYS} days of data right before it.",
        target=target.described(),
        available=[
            {
                "start": str(date.fromordinal(earliest)),
                "end": str(date.fromordinal(after)),
            }
        ],
        now=fleet.now,
    )


def _row(forecast: Forecast, measured: float | None) -> dict[str, Any]:
    return {
        "day": str(date.fromordinal(forecast.day)),
        "forecast_kwh": rounded(forecast.energy),
        "low_kwh": rounded(forecast.low),
        "high_kwh": rounded(forecast.high),
        "measured_kwh": rounded(measured),
    }


def _uncertainty(held_back: Skill) -> dict[str, Any]:
    return {
        "interval": "10% to 90%",
        "held_back_days": held_back.days,
        "rmse_kwh": rounded(held_back.rmse),
        "persistence_rmse_kwh": rounded(held_back.persistence_rmse),
        "skill_against_persistence": rounded(held_back.skill, 3),
        "held_back_inside_interval": rounded(held_back.covered, 3),
    }


def _lines(found: Sequence[Forecast], energy: dict[int, float], first: int) -> dict[str, Any]:
    """Return the measured line, also of what came since, and then the forecast between its
    bounds."""
    by_day = {each.day: each for each in found}
    numbers = range(first - _SHOWN_DAYS, found[-1].day + 1)
    picks = {
        "Forecast (kWh)": {day: each.energy for day, each in by_day.items()},
        "10% (kWh)": {day: each.low for day, each in by_day.items()},
        "90% (kWh)": {day: each.high for day, each in by_day.items()},
    }
    named = {"Measured (kWh)": energy} | picks
    return {
        "x": [str(date.fromordinal(number)) for number in numbers],
        "series": [
            {"name": name, "data": [rounded(values.get(number)) for number in numbers]}
            for name, values in named.items()
        ],
        "y_label": "kWh",
    }
