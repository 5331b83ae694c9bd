"""The time, anywhere: time zones by their IANA names."""

import difflib
from datetime import UTC, datetime
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from langchain_core.tools import ToolException

from turnstream.tools.contract import real_tool

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
REGIONS = {
    *("Africa", "America", "Antarctica", "Arctic", "Asia"),
    *("Atlantic", "Australia", "Europe", "Indian", "Pacific"),
}
"""Areas in which the last part of a zone's name is a place. Elsewhere it is not: `Etc/GMT+5` is
UTC-05:00."""
NO_ZONES = {"Factory", "localtime"}
MAX_CHARS = 64
MAX_MATCHES = 5


def _folded(name: str) -> str:
    return "_".join(name.casefold().split())


@cache
def _zones() -> dict[str, str]:
    return {_folded(zone): zone for zone in available_timezones() - NO_ZONES}


@cache
def _places() -> dict[str, list[str]]:
    """Zones by the folded name of their place; a few places have several."""
    places: dict[str, list[str]] = {}
    for zone in sorted(available_timezones()):
        region, _, rest = zone.partition("/")
        if region in REGIONS:
            places.setdefault(_folded(rest.rpartition("/")[2]), []).append(zone)
    return places


def find_zone(name: str) -> str:
    """The IANA name that is meant: itself or its city, in any case.

    The name is looked up, never opened as a file. Raises ToolException with near matches.
    """
    folded = _folded(name)
    if folded in _zones():
        return _zones()[folded]
    places = _places().get(folded, [])
    if len(places) == 1:
        return places[0]
    raise ToolException(_unknown(name, _near(folded)))


def _near(folded: str) -> list[str]:
    if len(folded) > MAX_CHARS:
        return []
    named = {_folded(zone): [zone] for zones in _places().values() for zone in zones}
    choices = {**named, **_places()}
    found = difflib.get_close_matches(folded, choices, n=MAX_MATCHES, cutoff=0.7)
    return list(dict.fromkeys(zone for key in found for zone in choices[key]))


def _unknown(name: str, matches: list[str]) -> str:
    shown = name if len(name) <= MAX_CHARS else name[:MAX_CHARS] + "..."
    hint = f" Did you mean {' or '.join(matches[:MAX_MATCHES])}?" if matches else ""
    return (
        f"{shown!r} is not the name of one time zone.{hint} "
        "Use an IANA name such as Europe/Berlin, America/New_York or UTC."
    )


def time_in(zone: str, now: datetime) -> dict[str, str]:
    """Return what a clock shows in `zone` at the instant `now`, which carries its own offset."""
    local = now.astimezone(ZoneInfo(zone))
    iso = local.isoformat(timespec="seconds")
    return {
        "timezone": zone,
        "iso": iso,
        "weekday": WEEKDAYS[local.weekday()],
        "utc_offset": iso[len("2000-01-01T00:00:00") :],
    }


@real_tool(client_fields=["timezone", "iso", "weekday", "utc_offset"])
def get_current_time(timezone: str = "UTC") -> dict[str, Any]:
    """Get the current date, time and weekday in a time zone.

    Args:
        timezone: An IANA name such as "Europe/Berlin", or a city that names a zone ("Tokyo").
    """
    return dict(time_in(find_zone(timezone), datetime.now(UTC)))
