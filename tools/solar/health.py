"""analyze_inverter_health: the faults of one inverter, found in its measurements."""

from collections.abc import Sequence
from datetime import timedelta
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
from turnstream.tools.solar.days import Day, read_days, read_due, read_sums, total
from turnstream.tools.solar.detection import Judged, clean_ratio, judge
from turnstream.tools.solar.events import read_events
from turnstream.tools.solar.findings import Finding, find_all
from turnstream.tools.solar.fleet import Fleet, open_fleet
from turnstream.tools.solar.targets import Target, find_logger
from turnstream.tools.solar.windows import Window, find_window, require_data

_LABELS = {
    "kind": "Finding",
    "severity": "Severity",
    "start": "From",
    "end": "To",
    "lost_kwh": "Lost (kWh)",
    "detail": "Detail",
}
_TOLD_FINDINGS = 10  # to the model; the table has all
_TOLD_EVENTS = 5


@real_tool(
    client_fields=[
        *SHARED_FIELDS,
        *TABLE_FIELDS,
        *LINE_FIELDS,
        "condition",
        "figures",
        "findings",
        "more_findings",
        "errors",
    ],
    artifact=True,
    availability_tool="list_loggers",
)
@answering
def analyze_inverter_health(
    logger: str | int, start: str | None = None, end: str | None = None
) -> Result:
    """Look for faults of one inverter in its measurements: outages, communication gaps, lost
    strings, soiling, clipping, derating; with what each cost and what to do, and the error codes of
    the time. A finding that reaches beyond the window is told whole.

    Args:
        logger: The inverter, by number or name ("3", "inverter 3").
        start: First day, YYYY-MM-DD, local to the site. Default: 30 days up to `end`.
        end: Last day, included. Default: the last day of the data.
    """
    fleet = open_fleet()
    one = find_logger(fleet, logger)
    target = Target("logger", one.name, (one,))
    window = find_window(fleet, start, end, days=30)
    require_data(fleet, target, window)
    everything = read_days(fleet, target, Window(fleet.first_day, fleet.last_day))
    days = [day for day in everything if window.start <= day.date <= window.end]
    judged = judge(one, everything)
    findings = find_all(fleet, one, everything, judged, window)
    whole = total([one], read_sums(fleet, target, window), read_due(fleet, window))
    answer = {
        "status": "ok",
        "now": fleet.now,
        "target": target.described(),
        "window": window.described(),
        "coverage": rounded(whole.coverage, 3),
        "condition": _condition(findings),
        "figures": whole.figures(),
        "findings": [finding.described() for finding in findings[:_TOLD_FINDINGS]],
        "more_findings": max(0, len(findings) - _TOLD_FINDINGS),
        "errors": [event.described() for event in _events(fleet, target, window)],
    }
    rows = [finding.described() for finding in findings]
    return answer, table(_LABELS, rows) | _lines(fleet, window, days, judged, one.site.time_zone)


def _events(fleet: Fleet, target: Target, window: Window) -> Sequence[Any]:
    return read_events(fleet, target, window)[:_TOLD_EVENTS]


def _condition(findings: Sequence[Finding]) -> str:
    """`fault`: something is broken now; `attention`: something was; `healthy`."""
    serious = [finding for finding in findings if finding.severity != "info"]
    if any(finding.ongoing for finding in serious):
        return "fault"
    return "attention" if serious else "healthy"


def _lines(
    fleet: Fleet, window: Window, days: Sequence[Day], judged: Sequence[Judged], time_zone: str
) -> dict[str, Any]:
    """Day by day: the DC ratio against the clean one, and the share of readings that arrived."""
    first, last = max(window.start, fleet.first_day), min(window.end, fleet.last_day)
    clean = clean_ratio(judged)
    share = {one.day: one.ratio / clean * 100 for one in judged} if clean else {}
    received = {day.day: day.intervals / day.slots * 100 for day in days}
    numbers = range(first.toordinal(), last.toordinal() + 1)
    if len(numbers) < 2:
        return {}
    return {
        "x": [str(first + timedelta(days=n)) for n in range(len(numbers))],
        "series": [
            {
                "name": "DC power, of a clean day's (%)",
                "data": [rounded(share.get(number)) for number in numbers],
            },
            {
                "name": "Readings received (%)",
                "data": [rounded(received.get(number, 0.0)) for number in numbers],
            },
        ],
        "y_label": "%",
        "time_zone": time_zone,
    }
