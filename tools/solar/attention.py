"""Which loggers of the fleet need a look, quickly: from the days' sums, with no reading read."""

import functools
from collections.abc import Mapping, Sequence
from datetime import date
from statistics import median

from turnstream.tools.solar.days import Day, read_days
from turnstream.tools.solar.detection import SOILED_SHARE, Judged, clean_ratio, judge, lost_strings
from turnstream.tools.solar.fleet import Fleet, Logger
from turnstream.tools.solar.schema import SLOTS_PER_HOUR
from turnstream.tools.solar.targets import find_target
from turnstream.tools.solar.windows import Window

_BACK_DAYS = 30  # a dark week says nothing of strings: look back as far as this
_MIN_JUDGED = 3


def find_problems(fleet: Fleet, window: Window, due: Mapping[int, int]) -> dict[int, list[str]]:
    """Sentences by logger. `due`: the readings that each should have sent in the window."""
    everyone = find_target(fleet, "fleet")
    first = max(1, min(window.start.toordinal(), window.end.toordinal() - _BACK_DAYS))
    by_logger: dict[int, list[Day]] = {one.logger_id: [] for one in fleet.loggers}
    for day in read_days(fleet, everyone, Window(date.fromordinal(first), window.end)):
        by_logger[day.logger_id].append(day)
    found = {}
    for one in fleet.loggers:
        days = by_logger[one.logger_id]
        inside = [day for day in days if day.day >= window.start.toordinal()]
        judged = judge(one, days)
        found[one.logger_id] = [
            *_silences(inside, due.get(one.logger_id, 0)),
            *_missing_strings(one, judged, window),
            *_weakness(judged, window, _clean(fleet).get(one.logger_id)),
        ]
    return found


def _silences(days: Sequence[Day], due: int) -> list[str]:
    found = []
    idle = sum(day.idle for day in days)
    if idle >= SLOTS_PER_HOUR:
        found.append(f"no power during {idle / SLOTS_PER_HOUR:g} h of sun")
    missing = due - sum(day.intervals for day in days)
    if missing >= SLOTS_PER_HOUR:
        found.append(f"no data for {missing / SLOTS_PER_HOUR:g} h")
    return found


def _missing_strings(logger: Logger, judged: Sequence[Judged], window: Window) -> list[str]:
    """Return the strings that were missing in the window, or on the last day before it that
    tells."""
    return [
        f"input {1 if run.size > 0 else 2} lacks {abs(run.size):.0f} string"
        for run in lost_strings(logger, judged)
        if run.last >= window.start.toordinal() or run.last == judged[-1].day
    ]


def _weakness(judged: Sequence[Judged], window: Window, clean: float | None) -> list[str]:
    ratios = [day.ratio for day in judged if day.day >= window.start.toordinal()]
    if clean is None or len(ratios) < _MIN_JUDGED:
        return []
    share = median(ratios) / clean
    return [f"{1 - share:.0%} weaker than when clean"] if share < SOILED_SHARE else []


@functools.cache
def _clean(fleet: Fleet) -> dict[int, float | None]:
    """The ratio of each logger when clean, over all of the data, which never change."""
    days = read_days(fleet, find_target(fleet, "fleet"), Window(fleet.first_day, fleet.last_day))
    by_logger: dict[int, list[Day]] = {one.logger_id: [] for one in fleet.loggers}
    for day in days:
        by_logger[day.logger_id].append(day)
    return {
        one.logger_id: clean_ratio(judge(one, by_logger[one.logger_id])) for one in fleet.loggers
    }
