"""Error events as the loggers recorded them."""

from dataclasses import dataclass
from typing import Any

from turnstream.tools.solar.codes import CODES
from turnstream.tools.solar.fleet import Fleet, Logger
from turnstream.tools.solar.schema import SLOTS_PER_HOUR
from turnstream.tools.solar.targets import Target
from turnstream.tools.solar.windows import Window, local_time


@dataclass(frozen=True, slots=True)
class Event:
    """`end` is the first slot after it; None: still there when the data end.

    `hours` are those up to the end of the window that was asked for, or to its own end.
    """

    logger: Logger
    code: int
    start: int
    end: int | None
    hours: float

    def described(self) -> dict[str, Any]:
        zone = self.logger.site.zone
        return {
            "logger": self.logger.name,
            "code": self.code,
            "meaning": CODES[self.code].meaning,
            "severity": CODES[self.code].severity,
            "start": local_time(self.start, zone),
            "end": None if self.end is None else local_time(self.end, zone),
            "hours": self.hours,
        }


def read_events(fleet: Fleet, target: Target, window: Window) -> list[Event]:
    """Return the events that touch the window, the latest first."""
    found = fleet.rows(
        "SELECT e.logger_id, e.code, e.start_slot, e.end_slot, w.after_slot FROM event AS e"
        " JOIN logger AS l USING (logger_id)"
        " JOIN (SELECT site_id, MIN(first_slot) AS from_slot,"
        " MAX(first_slot + slots) AS after_slot FROM site_day"
        " WHERE day BETWEEN ? AND ? GROUP BY site_id) AS w USING (site_id)"
        " WHERE e.logger_id IN (SELECT value FROM json_each(?))"
        " AND e.start_slot < w.after_slot AND COALESCE(e.end_slot, w.after_slot) > w.from_slot"
        " ORDER BY e.start_slot DESC, e.logger_id, e.code",
        window.start.toordinal(),
        min(window.end, fleet.last_day).toordinal(),
        target.ids,
    )
    by_id = {one.logger_id: one for one in target.loggers}
    return [
        Event(by_id[number], code, start, end, ((end or after) - start) / SLOTS_PER_HOUR)
        for number, code, start, end, after in found
    ]
