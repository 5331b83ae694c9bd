"""diagnose_error_codes: what a code means, what to do, and where it has occurred."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from turnstream.tools.contract import real_tool
from turnstream.tools.solar.answers import (
    BAR_FIELDS,
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
from turnstream.tools.solar.codes import CODES
from turnstream.tools.solar.events import Event, read_events
from turnstream.tools.solar.fleet import open_fleet
from turnstream.tools.solar.targets import find_target
from turnstream.tools.solar.windows import ONE_YEAR, find_window, require_data

_TOLD_EVENTS = 8  # to the model, the latest; the table has all
_MAX_CODES = 20
_LABELS = {
    "code": "Code",
    "meaning": "Meaning",
    "severity": "Severity",
    "logger": "Logger",
    "start": "From",
    "end": "To",
    "hours": "Hours",
}


@real_tool(
    client_fields=[
        *SHARED_FIELDS,
        *TABLE_FIELDS,
        *BAR_FIELDS,
        "codes",
        "occurrences",
        "open",
        "latest",
    ],
    artifact=True,
    availability_tool="list_loggers",
)
@answering
def diagnose_error_codes(
    codes: list[int] | None = None,
    target: str | int = "fleet",
    start: str | None = None,
    end: str | None = None,
) -> Result:
    """Explain error codes of the inverters (meaning, severity, causes, what to do) and tell where
    and when they occurred. Without codes: whatever occurred.

    Args:
        codes: The codes, as [3105]. Default: all that occurred in the window.
        target: "fleet", a site or a logger, by number or name.
        start: First day, YYYY-MM-DD, local to each site. Default: the 1 January before `end`.
        end: Last day, included. Default: the last day of the data.
    """
    asked = _known(codes)
    fleet = open_fleet()
    one = find_target(fleet, target)
    window = find_window(fleet, start, end, days=ONE_YEAR)
    try:
        require_data(fleet, one, window)
    except Refusal as refusal:
        # What a code means is true without any data.
        refusal.answer["codes"] = [CODES[code].described() for code in asked]
        raise
    events = read_events(fleet, one, window)
    if asked:
        events = [event for event in events if event.code in asked]
    counts = Counter(event.code for event in events)
    told = asked or sorted(counts)
    answer = {
        "status": "ok",
        "now": fleet.now,
        "target": one.described(),
        "window": window.described(),
        "codes": [CODES[code].described() | _figures(code, events) for code in told],
        "occurrences": len(events),
        "open": sum(event.end is None for event in events),
        "latest": [_brief(event) for event in events[:_TOLD_EVENTS]],
    }
    return answer, table(_LABELS, [event.described() for event in events]) | _bars(told, counts)


def _known(codes: list[int] | None) -> list[int]:
    """Raises Refusal for a code that is in no list."""
    asked = list(dict.fromkeys(codes or ()))
    if len(asked) > _MAX_CODES:
        raise invalid("codes", f"{len(asked)} are too many.", f"up to {_MAX_CODES} codes")
    unknown = [code for code in asked if code not in CODES]
    if unknown:
        near = [code for code in CODES if str(code)[:2] == str(unknown[0])[:2]]
        raise invalid(
            "codes", f"there is no code {shown(unknown[0])}.", sorted(CODES), near_matches=near
        )
    return asked


def _figures(code: int, events: Sequence[Event]) -> dict[str, Any]:
    own = [event for event in events if event.code == code]
    return {
        "occurrences": len(own),
        "hours": rounded(sum(event.hours for event in own), 2),
        "loggers": sorted({event.logger.name for event in own}, key=lambda name: (len(name), name)),
    }


def _brief(event: Event) -> dict[str, Any]:
    described = event.described()
    return {key: described[key] for key in ("logger", "code", "start", "end")}


def _bars(codes: Sequence[int], counts: Counter[int]) -> dict[str, Any]:
    if not codes:
        return {}
    return {
        "categories": [str(code) for code in codes],
        "series": [{"name": "Occurrences", "data": [counts[code] for code in codes]}],
        "y_label": "Occurrences",
    }
