"""Faults found in the measurements alone: pure functions over days and slots.

Each rule looks for what only its fault does:

- an *outage* delivers nothing while the sun shines on the modules;
- in a *communication gap* rows are missing;
- a *lost string* makes one input weaker than the other by a whole string's share, from one day on;
- *soiling* weakens both inputs alike, slowly, for a week and more;
- *clipping* stands at the rated power, *derating* flat and below it while more was to be had.

Judged by days is only power in strong sun and away from the limit (`bright_*` of a Day).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import NamedTuple

from turnstream.tools.solar.days import Day
from turnstream.tools.solar.fleet import Logger
from turnstream.tools.solar.formulas import G_STC, quantile
from turnstream.tools.solar.readings import Slot
from turnstream.tools.solar.schema import SLOTS_PER_HOUR, SUNLIT_W_M2, UNLIMITED_SHARE

MIN_BRIGHT = SLOTS_PER_HOUR  # slots that a day needs to be judged
MIN_RUN = SLOTS_PER_HOUR  # slots: shorter outages, gaps and plateaus are not reported
SOILED_SHARE = 0.955  # of the clean ratio: 4.5% lost
_SOILED_DAYS = 10
_SMOOTHING_DAYS = 7
_LOST_STRING_DAYS = 3
_CLEAN_QUANTILE = 0.9
_DIP_SHARE = 0.93  # of the days around: worth looking for a plateau
_FLAT = 0.01  # of the rating: how much a plateau may vary
_HELD_BACK = 1.15  # expected over delivered power on a plateau


class Judged(NamedTuple):
    """A day with enough sun. `ratio`: DC power of the better input over that of its label at the
    same irradiance and temperature; `balance`: first input over second, string by string."""

    day: int
    ratio: float
    balance: float


@dataclass(frozen=True, slots=True)
class DayRun:
    """First and last day of a finding; `size`: strings lost (negative: on input 2), or the
    largest share of power lost to soiling."""

    first: int
    last: int
    size: float


@dataclass(frozen=True, slots=True)
class SlotRun:
    """Slots `first` up to `last`, that included; `lost_kwh` against a healthy inverter."""

    first: int
    last: int
    lost_kwh: float


def judge(logger: Logger, days: Sequence[Day]) -> list[Judged]:
    """The days that can be judged, in order."""
    found = []
    for day in days:
        if day.bright < MIN_BRIGHT:
            continue
        one, two = day.bright_dc1 / logger.strings_1, day.bright_dc2 / logger.strings_2
        label = logger.string_w * day.bright_sum / G_STC
        if one > 0 and two > 0 and label > 0:
            found.append(Judged(day.day, max(one, two) / label, one / two))
    return found


def clean_ratio(judged: Sequence[Judged]) -> float | None:
    """The ratio of the logger when clean: what its best days reach."""
    if len(judged) < _SOILED_DAYS:
        return None
    return quantile([day.ratio for day in judged], _CLEAN_QUANTILE)


def lost_strings(logger: Logger, judged: Sequence[Judged]) -> list[DayRun]:
    """Runs of days with the same input short of the same number of strings."""
    runs: list[tuple[int, list[int]]] = []
    for day in judged:
        missing = _missing(logger, day.balance)
        if not runs or runs[-1][0] != missing:
            runs.append((missing, []))
        runs[-1][1].append(day.day)
    return [
        DayRun(days[0], days[-1], missing)
        for missing, days in runs
        if missing and len(days) >= _LOST_STRING_DAYS
    ]


def _missing(logger: Logger, balance: float) -> int:
    if balance < 1:
        return round(logger.strings_1 * (1 - balance))
    return -round(logger.strings_2 * (1 - 1 / balance))


def soiling(judged: Sequence[Judged]) -> list[DayRun]:
    """Runs of days whose smoothed ratio is below the clean one."""
    clean = clean_ratio(judged)
    if clean is None:
        return []
    half = _SMOOTHING_DAYS // 2
    found: list[DayRun] = []
    run: list[tuple[int, float]] = []
    for place, day in enumerate(judged):
        near = [other.ratio for other in judged[max(0, place - half) : place + half + 1]]
        share = median(near) / clean
        if share < SOILED_SHARE:
            run.append((day.day, 1 - share))
            continue
        found += _soiled(run)
        run = []
    return [*found, *_soiled(run)]


def _soiled(run: Sequence[tuple[int, float]]) -> list[DayRun]:
    if len(run) < _SOILED_DAYS:
        return []
    return [DayRun(run[0][0], run[-1][0], max(loss for _, loss in run))]


def dips(judged: Sequence[Judged]) -> list[int]:
    """Days clearly weaker than the days around them."""
    found = []
    for place, day in enumerate(judged):
        near = [other.ratio for other in judged[max(0, place - 3) : place + 4]]
        if day.ratio < _DIP_SHARE * median(near):
            found.append(day.day)
    return found


def outages(slots: Sequence[Slot]) -> list[SlotRun]:
    """Runs of slots with sun and no power. Nights, dusk and missing rows do not end a run."""
    sunlit = [one for one in slots if one.poa >= SUNLIT_W_M2 and one.ac_w is not None]
    return _runs(sunlit, [one.ac_w == 0 for one in sunlit])


def gaps(slots: Sequence[Slot]) -> list[SlotRun]:
    """Runs of missing rows. Nothing is known of what was lost: `lost_kwh` is 0."""
    found = _runs(slots, [one.ac_w is None for one in slots])
    return [replace(run, lost_kwh=0.0) for run in found]


def plateaus(logger: Logger, slots: Sequence[Slot]) -> list[SlotRun]:
    """Runs at one and the same power below the rating while more was to be had."""
    powers = [0, *(one.ac_w or 0 for one in slots), 0]
    flat = [
        0 < power < UNLIMITED_SHARE * logger.rated_w
        and one.expected_w > _HELD_BACK * power
        and min(abs(power - before), abs(power - after)) <= _FLAT * logger.rated_w
        for before, power, after, one in zip(powers, powers[1:], powers[2:], slots, strict=False)
    ]
    return _runs(slots, flat)


def _runs(slots: Sequence[Slot], marked: Sequence[bool]) -> list[SlotRun]:
    found: list[SlotRun] = []
    run: list[Slot] = []
    for one, is_marked in zip([*slots, None], [*marked, False], strict=True):
        if is_marked and one is not None:
            run.append(one)
            continue
        if len(run) >= MIN_RUN:
            lost = sum(max(0.0, each.expected_w - (each.ac_w or 0)) for each in run)
            found.append(SlotRun(run[0].slot, run[-1].slot, lost / SLOTS_PER_HOUR / 1000))
        run = []
    return found
