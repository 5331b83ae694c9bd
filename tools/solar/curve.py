"""get_power_curve: an inverter's power over time, beside what it should have been."""

from turnstream.tools.contract import real_tool
from turnstream.tools.solar.answers import (
    LINE_FIELDS,
    MAX_POINTS,
    SHARED_FIELDS,
    Result,
    answering,
    rounded,
)
from turnstream.tools.solar.days import read_days, read_due, read_sums, total
from turnstream.tools.solar.fleet import Fleet, open_fleet
from turnstream.tools.solar.readings import read_daily_means, read_means, read_peak
from turnstream.tools.solar.schema import SLOT_MINUTES
from turnstream.tools.solar.targets import Target, find_logger
from turnstream.tools.solar.windows import Window, find_window, local_time, require_data

_SLOTS_A_DAY = 96
_LONGEST_DAY = 100
_BUCKETS = (1, 2, 4, 8, 12, 24)  # slots; beyond them whole days


@real_tool(
    client_fields=[*SHARED_FIELDS, *LINE_FIELDS, "figures", "resolution_minutes", "points"],
    artifact=True,
    availability_tool="list_loggers",
)
@answering
def get_power_curve(logger: str | int, start: str | None = None, end: str | None = None) -> Result:
    """The AC power of one inverter over time, and the power expected of a healthy one under the
    same sun (PVWatts, from the site's irradiance and module temperature). The chart gets a point
    every 15 minutes, or means over longer steps if that were more than 500. The days on which the
    clocks change have 92 or 100 quarters of an hour.

    Args:
        logger: The inverter, by number or name ("3", "inverter 3").
        start: The day, YYYY-MM-DD, local to the site. Default: the last day of the data.
        end: Last day, included, if it is more than one. Default: the same day.
    """
    fleet = open_fleet()
    one = find_logger(fleet, logger)
    target = Target("logger", one.name, (one,))
    window = find_window(fleet, start, end, days=1, single=True)
    require_data(fleet, target, window)
    slots = _bucket(fleet, window)
    points = (
        read_means(fleet, one, window, slots) if slots else read_daily_means(fleet, one, window)
    )
    days = read_days(fleet, target, window)
    whole = total([one], read_sums(fleet, target, window), read_due(fleet, window))
    zone = one.site.zone
    best = max(days, key=lambda day: day.peak_w)
    peak_slot, peak_w = read_peak(fleet, one, best.day)
    answer = {
        "status": "ok",
        "now": fleet.now,
        "target": target.described(),
        "window": window.described(),
        "coverage": rounded(whole.coverage, 3),
        "figures": whole.figures()
        | {
            "peak_kw": _kw(peak_w),
            "peak_at": local_time(peak_slot, zone),
            "expected_kwh": rounded(sum(day.expected_kwh for day in days)),
            "rated_kw": one.rated_w / 1000,
        },
        "resolution_minutes": (slots or _SLOTS_A_DAY) * SLOT_MINUTES,
        "points": len(points),
    }
    return answer, {
        "x": [local_time(point.slot, zone) for point in points],
        "series": [
            {"name": f"{one.name} (kW)", "data": [_kw(point.ac_w) for point in points]},
            {"name": "Expected (kW)", "data": [_kw(point.expected_w) for point in points]},
        ],
        "y_label": "kW",
        "time_zone": one.site.time_zone,
    }


def _bucket(fleet: Fleet, window: Window) -> int | None:
    """The shortest step, in slots, that keeps the chart within its limit; None: whole days."""
    first, last = max(window.start, fleet.first_day), min(window.end, fleet.last_day)
    slots = (last - first).days * _SLOTS_A_DAY + _LONGEST_DAY
    return next((n for n in _BUCKETS if slots / n <= MAX_POINTS), None)


def _kw(watts: float | None) -> float | None:
    return None if watts is None else round(watts / 1000, 3)
