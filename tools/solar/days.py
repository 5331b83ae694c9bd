"""Readings summed up by local day: what most tools need, a row a logger and day."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from turnstream.tools.solar.answers import rounded
from turnstream.tools.solar.fleet import Fleet, Logger
from turnstream.tools.solar.formulas import performance_ratio, specific_yield
from turnstream.tools.solar.schema import SLOTS_PER_HOUR
from turnstream.tools.solar.targets import Target
from turnstream.tools.solar.windows import Window

_KWH = 1000 * SLOTS_PER_HOUR


class Day(NamedTuple):
    """A row of `logger_day`; schema.py says what each column is."""

    logger_id: int
    day: int
    slots: int
    intervals: int
    ac_sum: int
    poa_sum: int
    corrected_sum: int
    expected_sum: int
    peak_w: int
    idle: int
    clipped: int
    clipped_sum: int
    bright: int
    bright_sum: int
    bright_dc1: int
    bright_dc2: int

    @property
    def date(self) -> date:
        return date.fromordinal(self.day)

    @property
    def energy_kwh(self) -> float:
        return self.ac_sum / _KWH

    @property
    def expected_kwh(self) -> float:
        return self.expected_sum / _KWH


class Sums(NamedTuple):
    """The sums of one logger over a window, in the units of Day."""

    intervals: int
    ac_sum: int
    poa_sum: int
    corrected_sum: int


class Daily(NamedTuple):
    """The sums of several loggers on one local day; the offered energies are sums of P0 * H /
    G_stc."""

    day: int
    energy_kwh: float
    offered_kwh: float
    corrected_kwh: float

    @property
    def date(self) -> date:
        return date.fromordinal(self.day)


@dataclass(frozen=True, slots=True)
class Total:
    """Sums over loggers and days. `reference_kwh` is the sum of P0 * H / G_stc."""

    energy_kwh: float
    peak_kwp: float
    reference_kwh: float
    corrected_kwh: float
    coverage: float

    @property
    def specific_yield(self) -> float:
        return specific_yield(self.energy_kwh, self.peak_kwp)

    @property
    def performance_ratio(self) -> float | None:
        return performance_ratio(self.energy_kwh, 1, self.reference_kwh)

    @property
    def corrected_ratio(self) -> float | None:
        return performance_ratio(self.energy_kwh, 1, self.corrected_kwh)

    def figures(self) -> dict[str, Any]:
        """Rounded, for an answer."""
        return {
            "energy_kwh": rounded(self.energy_kwh),
            "specific_yield_kwh_per_kwp": rounded(self.specific_yield, 2),
            "performance_ratio": rounded(self.performance_ratio, 3),
            "coverage": rounded(self.coverage, 3),
        }


def read_days(fleet: Fleet, target: Target, window: Window) -> list[Day]:
    """Ordered by logger and day. Days without any reading have no row."""
    found = fleet.rows(
        "SELECT * FROM logger_day"
        " WHERE logger_id IN (SELECT value FROM json_each(?)) AND day BETWEEN ? AND ?"
        " ORDER BY logger_id, day",
        target.ids,
        window.start.toordinal(),
        window.end.toordinal(),
    )
    return [Day._make(row) for row in found]


def read_sums(fleet: Fleet, target: Target, window: Window) -> dict[int, Sums]:
    """By logger; one without any reading in the window has none."""
    found = fleet.rows(
        "SELECT logger_id, SUM(intervals), SUM(ac_sum), SUM(poa_sum), SUM(corrected_sum)"
        " FROM logger_day WHERE logger_id IN (SELECT value FROM json_each(?))"
        " AND day BETWEEN ? AND ? GROUP BY logger_id",
        target.ids,
        window.start.toordinal(),
        window.end.toordinal(),
    )
    return {number: Sums(*sums) for number, *sums in found}


def read_daily(fleet: Fleet, target: Target, window: Window) -> list[Daily]:
    """In order; days without any reading have none."""
    found = fleet.rows(
        "SELECT day, SUM(ac_sum), SUM(poa_sum * peak_kwp), SUM(corrected_sum * peak_kwp)"
        " FROM logger_day JOIN (SELECT logger_id,"
        " (strings_1 + strings_2) * string_w / 1000.0 AS peak_kwp FROM logger) USING (logger_id)"
        " WHERE logger_id IN (SELECT value FROM json_each(?)) AND day BETWEEN ? AND ?"
        " GROUP BY day ORDER BY day",
        target.ids,
        window.start.toordinal(),
        window.end.toordinal(),
    )
    return [Daily(day, *(one / _KWH for one in sums)) for day, *sums in found]


def read_due(fleet: Fleet, window: Window) -> dict[int, int]:
    """Return the number of readings that each logger should have sent in the window: since it is in
    service."""
    found = fleet.rows(
        "SELECT l.logger_id, SUM(d.slots) FROM logger AS l JOIN site_day AS d USING (site_id)"
        " WHERE d.day BETWEEN ? AND ? AND d.day >= l.commissioned GROUP BY l.logger_id",
        max(window.start, fleet.first_day).toordinal(),
        min(window.end, fleet.last_day).toordinal(),
    )
    return dict(found)


def total(loggers: Iterable[Logger], sums: Mapping[int, Sums], due: Mapping[int, int]) -> Total:
    """Add up the loggers that have sums; at least one must. A logger in service that sent nothing
    lowers the coverage, but its peak power does not count.

    A logger in service that sent nothing lowers the coverage, but its peak power does not count.
    """
    asked = list(loggers)
    own = [(one.peak_kwp, sums[one.logger_id]) for one in asked if one.logger_id in sums]
    return Total(
        energy_kwh=sum(of.ac_sum for _, of in own) / _KWH,
        peak_kwp=sum(peak for peak, _ in own),
        reference_kwh=sum(peak * of.poa_sum for peak, of in own) / _KWH,
        corrected_kwh=sum(peak * of.corrected_sum for peak, of in own) / _KWH,
        coverage=sum(of.intervals for _, of in own)
        / sum(due.get(one.logger_id, 0) for one in asked),
    )
