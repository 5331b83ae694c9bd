"""The time in one city or several, for `get_current_time`."""

import functools
from zoneinfo import available_timezones

from turnstream.graphs.offline.ask import Ask, Facts, any_case

_CUE = any_case(r"\b(?:what time|(?:the|current) time|time is it|time in)\b")
_WHERE = any_case(r"\b(?:in|at|for)\s+(.+)")
_BETWEEN = any_case(r",\s*+(?:and|or)\b|[,;&]|\b(?:and|or)\b")
_FILLER = any_case(r"\b(?:right now|now|today|please|currently|the city of)\b")

_REGIONS = (
    *("Africa/", "America/", "Antarctica/", "Asia/", "Atlantic/"),
    *("Australia/", "Europe/", "Indian/", "Pacific/"),
)
_MORE = {
    "bangalore": "Asia/Kolkata",
    "barcelona": "Europe/Madrid",
    "beijing": "Asia/Shanghai",
    "boston": "America/New_York",
    "california": "America/Los_Angeles",
    "china": "Asia/Shanghai",
    "delhi": "Asia/Kolkata",
    "france": "Europe/Paris",
    "geneva": "Europe/Zurich",
    "germany": "Europe/Berlin",
    "hamburg": "Europe/Berlin",
    "hawaii": "Pacific/Honolulu",
    "india": "Asia/Kolkata",
    "milan": "Europe/Rome",
    "mumbai": "Asia/Kolkata",
    "munich": "Europe/Berlin",
    "nyc": "America/New_York",
    "rio de janeiro": "America/Sao_Paulo",
    "san francisco": "America/Los_Angeles",
    "seattle": "America/Los_Angeles",
    "spain": "Europe/Madrid",
    "uk": "Europe/London",
    "washington": "America/New_York",
}


def time_of_day(clause: str, _: Facts) -> list[Ask]:
    if not _CUE.search(clause):
        return []
    where = _WHERE.search(clause)
    places = _BETWEEN.split(_FILLER.sub("", where[1]).strip(" .?!")) if where else ["UTC"]
    return [
        Ask("get_current_time", {"timezone": timezone(city)}) for city in places if city.strip()
    ]


def timezone(city: str) -> str:
    """The IANA name of a city; a city that is not known is left as it was given."""
    city = city.strip()
    key = " ".join(city.lower().replace("_", " ").removeprefix("the ").split())
    return _MORE.get(key) or _zones().get(key) or city


@functools.cache
def _zones() -> dict[str, str]:
    """Zones by their full name and by their city, regions before old aliases."""
    names = sorted(available_timezones(), key=lambda name: (name.startswith(_REGIONS), name))
    by_city = {name.rsplit("/", 1)[-1].replace("_", " ").lower(): name for name in names}
    return by_city | {name.replace("_", " ").lower(): name for name in names}
