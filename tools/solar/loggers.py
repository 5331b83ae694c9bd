"""list_loggers: who there is, and from when to when they have sent."""

from datetime import date
from typing import Any

from turnstream.tools.contract import real_tool
from turnstream.tools.solar.answers import SHARED_FIELDS, TABLE_FIELDS, Result, answering, table
from turnstream.tools.solar.fleet import Logger, Site, open_fleet
from turnstream.tools.solar.targets import find_site

_LABELS = {
    "name": "Logger",
    "site": "Site",
    "peak_kwp": "Peak (kWp)",
    "rated_kw": "Rated (kW)",
    "first_day": "First day",
    "last_day": "Last day",
}


@real_tool(
    client_fields=[*SHARED_FIELDS, *TABLE_FIELDS, "count", "sites", "loggers"], artifact=True
)
@answering
def list_loggers(site: str | None = None) -> Result:
    """List the solar fleet's sites and loggers (one logger an inverter) with names, sizes, time
    zones, and from when to when there are data. `now` is the end of the data; "today" is its day.

    Args:
        site: Only the loggers of this site, by letter or name ("A", "Miami"). Default: all.
    """
    fleet = open_fleet()
    sites = [find_site(fleet, site)] if site else list(fleet.sites)
    found = fleet.rows("SELECT logger_id, MIN(day), MAX(day) FROM logger_day GROUP BY logger_id")
    spans = {number: (first, last) for number, first, last in found}
    loggers = [
        _listed(one, *spans.get(one.logger_id, (None, None)))
        for one in fleet.loggers
        if one.site in sites
    ]
    answer = {
        "status": "ok",
        "now": fleet.now,
        "count": len(loggers),
        "sites": [_described(one) for one in sites],
        "loggers": loggers,
    }
    return answer, table(_LABELS, loggers)


def _described(site: Site) -> dict[str, Any]:
    return {
        "id": site.site_id,
        "name": site.label,
        "time_zone": site.time_zone,
        "mounting": site.mounting,
    }


def _listed(logger: Logger, first: int | None, last: int | None) -> dict[str, Any]:
    """Days are None for a logger that never sent."""
    return {
        "id": logger.logger_id,
        "name": logger.name,
        "site": logger.site.site_id,
        "peak_kwp": logger.peak_kwp,
        "rated_kw": logger.rated_w / 1000,
        "first_day": date.fromordinal(first).isoformat() if first else None,
        "last_day": date.fromordinal(last).isoformat() if last else None,
    }
