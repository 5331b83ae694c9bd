"""get_fleet_overview: how the whole fleet does, and which of it needs a look."""

from collections.abc import Sequence
from typing import Any

from turnstream.tools.contract import real_tool
from turnstream.tools.solar.answers import (
    BAR_FIELDS,
    SHARED_FIELDS,
    TABLE_FIELDS,
    Result,
    answering,
    rounded,
    table,
)
from turnstream.tools.solar.attention import find_problems
from turnstream.tools.solar.days import Sums, read_due, read_sums, total
from turnstream.tools.solar.events import read_events
from turnstream.tools.solar.fleet import Fleet, Logger, open_fleet
from turnstream.tools.solar.targets import Target, find_target
from turnstream.tools.solar.windows import Window, find_window, require_data

_LABELS = {
    "name": "Logger",
    "site": "Site",
    "energy_kwh": "Energy (kWh)",
    "specific_yield_kwh_per_kwp": "Yield (kWh/kWp)",
    "performance_ratio": "Performance ratio",
    "coverage": "Data received",
    "problems": "Problems",
}
_DEFAULT_DAYS = 7


@real_tool(
    client_fields=[
        *SHARED_FIELDS,
        *TABLE_FIELDS,
        *BAR_FIELDS,
        "totals",
        "sites",
        "attention",
        "open_errors",
    ],
    artifact=True,
    availability_tool="list_loggers",
)
@answering
def get_fleet_overview(start: str | None = None, end: str | None = None) -> Result:
    """How the whole solar fleet does: energy, specific yield and performance ratio in total, by
    site and by logger, and the loggers that need attention.

    Args:
        start: First day, YYYY-MM-DD, local to each site. Default: 7 days up to `end`.
        end: Last day, included. Default: the last day of the data.
    """
    fleet = open_fleet()
    everyone = find_target(fleet, "fleet")
    window = find_window(fleet, start, end, days=_DEFAULT_DAYS)
    require_data(fleet, everyone, window)
    sums, due = read_sums(fleet, everyone, window), read_due(fleet, window)
    problems = find_problems(fleet, window, due)
    rows = [_row(one, sums, due, problems[one.logger_id]) for one in fleet.loggers]
    whole = total(fleet.loggers, sums, due)
    answer = {
        "status": "ok",
        "now": fleet.now,
        "target": everyone.described(),
        "window": window.described(),
        "coverage": rounded(whole.coverage, 3),
        "totals": whole.figures() | {"peak_kwp": rounded(whole.peak_kwp)},
        "sites": _sites(fleet, sums, due),
        "attention": [
            {"logger": row["name"], "problems": row["problems"]} for row in rows if row["problems"]
        ],
        "open_errors": _open_errors(fleet, everyone, window),
    }
    return answer, table(_LABELS, rows) | {
        "categories": [row["name"] for row in rows],
        "series": [
            {
                "name": "Specific yield (kWh/kWp)",
                "data": [row["specific_yield_kwh_per_kwp"] for row in rows],
            }
        ],
        "y_label": "kWh/kWp",
    }


def _sites(fleet: Fleet, sums: dict[int, Sums], due: dict[int, int]) -> list[dict[str, Any]]:
    found = []
    for site in fleet.sites:
        own = [one for one in fleet.loggers if one.site == site]
        if any(one.logger_id in sums for one in own):
            found.append({"site": site.label} | total(own, sums, due).figures())
    return found


def _row(
    logger: Logger, sums: dict[int, Sums], due: dict[int, int], problems: Sequence[str]
) -> dict[str, Any]:
    silent = {"coverage": 0 if due.get(logger.logger_id) else None}
    figures = total([logger], sums, due).figures() if logger.logger_id in sums else silent
    return {
        "name": logger.name,
        "site": logger.site.site_id,
        "energy_kwh": None,
        "specific_yield_kwh_per_kwp": None,
        "performance_ratio": None,
        **figures,
        "problems": "; ".join(problems),
    }


def _open_errors(fleet: Fleet, target: Target, window: Window) -> list[dict[str, Any]]:
    events = read_events(fleet, target, window)
    return [event.described() for event in events if event.end is None]
