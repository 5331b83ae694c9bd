"""calculate_performance_ratio: how much of what the sun offered was delivered."""

from datetime import date
from typing import Any

from turnstream.tools.contract import real_tool
from turnstream.tools.solar.answers import (
    LINE_FIELDS,
    SHARED_FIELDS,
    TABLE_FIELDS,
    Result,
    answering,
    rounded,
    table,
)
from turnstream.tools.solar.days import Sums, Total, read_daily, read_due, read_sums, total
from turnstream.tools.solar.fleet import Fleet, open_fleet
from turnstream.tools.solar.formulas import performance_ratio
from turnstream.tools.solar.targets import Target, find_target
from turnstream.tools.solar.windows import Window, find_window, require_data

_LABELS = {
    "name": "Logger",
    "performance_ratio": "Performance ratio",
    "corrected_performance_ratio": "At 25 degrees",
    "specific_yield_kwh_per_kwp": "Yield (kWh/kWp)",
    "reference_yield_h": "Reference yield (h)",
    "coverage": "Data received",
}


@real_tool(
    client_fields=[
        *SHARED_FIELDS,
        *TABLE_FIELDS,
        *LINE_FIELDS,
        "performance_ratio",
        "corrected_performance_ratio",
        "figures",
        "loggers",
    ],
    artifact=True,
    availability_tool="list_loggers",
)
@answering
def calculate_performance_ratio(
    target: str | int = "fleet",
    start: str | None = None,
    end: str | None = None,
    temperature_corrected: bool = False,
) -> Result:
    """Performance ratio after IEC 61724-1: PR = (E / P0) / (H / G_stc), with the AC energy E in
    kWh, the DC peak power P0 in kWp, the measured irradiation H in the plane of the modules in
    kWh/m2, and G_stc = 1 kW/m2. H counts only where there are readings. Corrected for temperature,
    H is weighted with 1 + gamma * (T_module - 25 degrees), which takes the season out.

    Args:
        target: "fleet", a site or a logger, by number or name.
        start: First day, YYYY-MM-DD, local to each site. Default: 30 days up to `end`.
        end: Last day, included. Default: the last day of the data.
        temperature_corrected: Show the corrected ratio in the chart. The answer has both.
    """
    fleet = open_fleet()
    one = find_target(fleet, target)
    window = find_window(fleet, start, end, days=30)
    require_data(fleet, one, window)
    sums, due = read_sums(fleet, one, window), read_due(fleet, window)
    whole = total(one.loggers, sums, due)
    loggers = _loggers(one, sums, due)
    answer = {
        "status": "ok",
        "now": fleet.now,
        "target": one.described(),
        "window": window.described(),
        "coverage": rounded(whole.coverage, 3),
        "performance_ratio": rounded(whole.performance_ratio, 3),
        "corrected_performance_ratio": rounded(whole.corrected_ratio, 3),
        "figures": whole.figures()
        | {
            "peak_kwp": rounded(whole.peak_kwp),
            "reference_yield_h": rounded(whole.reference_kwh / whole.peak_kwp),
        },
        "loggers": [
            {"name": row["name"], "performance_ratio": row["performance_ratio"]} for row in loggers
        ],
    }
    lines = _lines(fleet, one, window, corrected=temperature_corrected)
    return answer, table(_LABELS, loggers) | lines


def _loggers(target: Target, sums: dict[int, Sums], due: dict[int, int]) -> list[dict[str, Any]]:
    found = []
    for one in target.loggers:
        if one.logger_id in sums:
            whole = total([one], sums, due)
            found.append({"name": one.name} | whole.figures() | _ratios(whole))
    return found


def _ratios(whole: Total) -> dict[str, Any]:
    return {
        "corrected_performance_ratio": rounded(whole.corrected_ratio, 3),
        "reference_yield_h": rounded(whole.reference_kwh / whole.peak_kwp),
    }


def _lines(fleet: Fleet, target: Target, window: Window, *, corrected: bool) -> dict[str, Any]:
    """The ratio day by day; days without sun or readings have none."""
    ratios = {
        one.day: performance_ratio(
            one.energy_kwh, 1, one.corrected_kwh if corrected else one.offered_kwh
        )
        for one in read_daily(fleet, target, window)
    }
    first, last = max(window.start, fleet.first_day), min(window.end, fleet.last_day)
    numbers = range(first.toordinal(), last.toordinal() + 1)
    if len(numbers) < 2:
        return {}
    name = "Performance ratio at 25 degrees" if corrected else "Performance ratio"
    return {
        "x": [str(date.fromordinal(number)) for number in numbers],
        "series": [{"name": name, "data": [rounded(ratios.get(number), 3) for number in numbers]}],
        "y_label": "PR",
    }
