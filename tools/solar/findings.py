"""The findings of detection: when, how bad, what it cost, what to do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from turnstream.tools.solar import detection
from turnstream.tools.solar.answers import rounded
from turnstream.tools.solar.days import Day
from turnstream.tools.solar.detection import DayRun, Judged, SlotRun
from turnstream.tools.solar.fleet import Fleet, Logger
from turnstream.tools.solar.formulas import DC_LOSS, ETA_NOMINAL, G_STC
from turnstream.tools.solar.readings import Slot, read_readings
from turnstream.tools.solar.schema import SLOTS_PER_HOUR, SUNLIT_W_M2
from turnstream.tools.solar.windows import Window, local_time, runs

_ADVICE = {
    "outage": "See the error codes of the time; if there are none, check breakers and display.",
    "communication_gap": "Check the logger's power and network; the inverter may be running.",
    "string_loss": "Measure the strings of that input: fuse, connectors, modules.",
    "soiling": "Have the modules cleaned when the loss is worth more than the cleaning.",
    "clipping": "None: the array is larger than the inverter by design.",
    "derating": "Clean air inlets and filter, check the fans (error code 3105).",
}
_SEVERITY = {
    "outage": "fault",
    "communication_gap": "warning",
    "string_loss": "fault",
    "soiling": "warning",
    "clipping": "info",
    "derating": "warning",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """`start` and `end` local ISO, both included: minutes, or days where days were judged.

    `lost_kwh` None: not known. `ongoing`: still so at the end of the data.
    """

    kind: str
    start: str
    end: str
    ongoing: bool
    lost_kwh: float | None
    detail: str

    @property
    def severity(self) -> str:
        return _SEVERITY[self.kind]

    def described(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "severity": self.severity,
            "start": self.start,
            "end": self.end,
            "ongoing": self.ongoing,
            "lost_kwh": rounded(self.lost_kwh),
            "detail": self.detail,
            "advice": _ADVICE[self.kind],
        }


def find_all(
    fleet: Fleet, logger: Logger, days: Sequence[Day], judged: Sequence[Judged], window: Window
) -> list[Finding]:
    """Findings that touch the window: ongoing ones first, then by what they cost.

    `days` and `judged` are all that there are of the logger: a fault is judged whole.
    """
    inside = [day for day in days if window.start <= day.date <= window.end]
    found = [
        *_by_slots(fleet, logger, days, judged),
        *_lost_strings(fleet, logger, days, judged),
        *_soiling(fleet, days, judged),
        *_clipping(fleet, logger, inside),
    ]
    first, last = str(window.start), str(window.end)
    touching = [one for one in found if one.start[:10] <= last and one.end[:10] >= first]
    return sorted(touching, key=lambda one: (not one.ongoing, -(one.lost_kwh or 0), one.start))


def _by_slots(
    fleet: Fleet, logger: Logger, days: Sequence[Day], judged: Sequence[Judged]
) -> list[Finding]:
    """Outages, gaps and derating: the days' sums say which days to read slot by slot."""
    complete = {day.day for day in days if day.intervals == day.slots}
    since = logger.commissioned or days[0].day
    missing = set(range(since, fleet.last_day.toordinal() + 1)) - complete
    dips = set(detection.dips(judged))
    suspicious = sorted(missing | dips | {day.day for day in days if day.idle})
    kinds: tuple[tuple[str, Callable[[Sequence[Slot]], list[SlotRun]]], ...] = (
        ("outage", detection.outages),
        ("communication_gap", detection.gaps),
        ("derating", lambda slots: detection.plateaus(logger, slots)),
    )
    found = []
    for run in runs(suspicious, 1):
        read = Window(date.fromordinal(run[0]), date.fromordinal(run[-1]))
        slots = read_readings(fleet, logger, read)
        to_the_end = run[-1] == fleet.last_day.toordinal()
        for kind, detect in kinds:
            if kind == "derating" and not dips.intersection(run):
                continue
            last = _last_told(kind, slots) if to_the_end else None
            found += [_slot_finding(logger, kind, one, last) for one in detect(slots)]
    return found


def _last_told(kind: str, slots: Sequence[Slot]) -> int:
    """The last slot that could have shown that kind of fault: at night there is no outage."""
    sunlit = SUNLIT_W_M2 if kind == "outage" else 0
    return max((one.slot for one in slots if one.poa >= sunlit), default=-1)


def _slot_finding(logger: Logger, kind: str, run: SlotRun, last: int | None) -> Finding:
    hours = (run.last + 1 - run.first) / SLOTS_PER_HOUR
    what = {
        "outage": f"No power in the sun for {hours:g} h, nights included.",
        "communication_gap": f"No readings for {hours:g} h.",
        "derating": f"Held flat below the rated power for {hours:g} h.",
    }
    zone = logger.site.zone
    return Finding(
        kind,
        local_time(run.first, zone),
        local_time(run.last, zone),
        run.last == last,
        None if kind == "communication_gap" else run.lost_kwh,
        what[kind],
    )


def _lost_strings(
    fleet: Fleet, logger: Logger, days: Sequence[Day], judged: Sequence[Judged]
) -> list[Finding]:
    strings = logger.strings_1 + logger.strings_2
    found = []
    for run in detection.lost_strings(logger, judged):
        lost, side = abs(run.size), 1 if run.size > 0 else 2
        cost = _energy(days, run) * lost / (strings - lost)
        of = logger.strings_1 if side == 1 else logger.strings_2
        detail = f"Input {side} delivers {lost:.0f} of its {of} strings less than it should."
        found.append(_day_finding(fleet, "string_loss", run, judged, cost, detail))
    return found


def _soiling(fleet: Fleet, days: Sequence[Day], judged: Sequence[Judged]) -> list[Finding]:
    clean = detection.clean_ratio(judged)
    found = []
    for run in detection.soiling(judged):
        share = {one.day: one.ratio / (clean or 1) for one in judged}
        cost = sum(
            day.energy_kwh * (1 / share[day.day] - 1)
            for day in days
            if run.first <= day.day <= run.last and 0 < share.get(day.day, 1) < 1
        )
        detail = f"Both inputs slowly lost up to {run.size:.0%} of what they reach when clean."
        found.append(_day_finding(fleet, "soiling", run, judged, cost, detail))
    return found


def _clipping(fleet: Fleet, logger: Logger, days: Sequence[Day]) -> list[Finding]:
    """One finding for the window. The loss is what PVWatts' nominal efficiency would have given."""
    clipped = [day for day in days if day.clipped]
    hours = sum(day.clipped for day in clipped) / SLOTS_PER_HOUR
    if hours < 1:
        return []
    run = DayRun(clipped[0].day, clipped[-1].day, hours)
    dc_w = logger.peak_w / G_STC * sum(day.clipped_sum for day in clipped) * (1 - DC_LOSS)
    free_kwh = dc_w * ETA_NOMINAL / SLOTS_PER_HOUR / 1000
    cost = max(0.0, free_kwh - hours * logger.rated_w / 1000)
    detail = f"At its rated power for {hours:g} h on {len(clipped)} days."
    return [_day_finding(fleet, "clipping", run, (), cost, detail)]


def _day_finding(
    fleet: Fleet, kind: str, run: DayRun, judged: Sequence[Judged], cost: float, detail: str
) -> Finding:
    """A run up to the last day that could be judged goes on: dark days prove nothing."""
    ongoing = bool(judged) and run.last == judged[-1].day
    first = date.fromordinal(run.first)
    last = fleet.last_day if ongoing else date.fromordinal(run.last)
    return Finding(kind, str(first), str(last), ongoing, cost, detail)


def _energy(days: Sequence[Day], run: DayRun) -> float:
    return sum(day.energy_kwh for day in days if run.first <= day.day <= run.last)
