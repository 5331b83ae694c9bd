"""Readings slot by slot, with what a healthy inverter would have delivered."""

from typing import NamedTuple

from turnstream.tools.solar.fleet import Fleet, Logger
from turnstream.tools.solar.schema import DC_W, EXPECTED_W, SLOTS_PER_KEY
from turnstream.tools.solar.windows import Window

_SKY = f"""
    SELECT day, first_slot, p.key - s.number * {SLOTS_PER_KEY} AS slot, p.poa, l.logger_id,
           l.rated_w, {DC_W} AS dc
    FROM logger AS l JOIN site AS s USING (site_id) JOIN site_day AS d USING (site_id)
    JOIN plane AS p ON p.key >= s.number * {SLOTS_PER_KEY} + d.first_slot
        AND p.key < s.number * {SLOTS_PER_KEY} + d.first_slot + d.slots
    WHERE l.logger_id = ? AND d.day BETWEEN ? AND ?
"""
_JOINED = f"""
    SELECT day, first_slot, slot, poa, ac_w, {EXPECTED_W} AS expected_w
    FROM ({_SKY}) LEFT JOIN reading AS r ON r.key = logger_id * {SLOTS_PER_KEY} + slot
"""


class Slot(NamedTuple):
    """A quarter of an hour: irradiance in W/m2, power in W; `ac_w` None: nothing was received."""

    slot: int
    poa: int
    ac_w: int | None
    expected_w: float


class Bucket(NamedTuple):
    """Means in W over consecutive slots of one local day, beginning with `slot`.

    None where nothing was received, or nothing is known.
    """

    slot: int
    ac_w: float | None
    expected_w: float | None


def read_readings(fleet: Fleet, logger: Logger, window: Window) -> list[Slot]:
    """Every slot of the window that has irradiance, in order; days outside the data have none."""
    found = fleet.rows(
        f"SELECT slot, poa, ac_w, expected_w FROM ({_JOINED}) ORDER BY slot",
        logger.logger_id,
        window.start.toordinal(),
        window.end.toordinal(),
    )
    return [Slot(*row) for row in found]


def read_means(fleet: Fleet, logger: Logger, window: Window, slots: int) -> list[Bucket]:
    """The window in buckets of `slots` slots, each local day cut anew from its midnight."""
    found = fleet.rows(
        f"SELECT MIN(slot), AVG(ac_w), AVG(expected_w) FROM ({_JOINED})"
        " GROUP BY day, (slot - first_slot) / ? ORDER BY 1",
        logger.logger_id,
        window.start.toordinal(),
        window.end.toordinal(),
        slots,
    )
    return [Bucket(*row) for row in found]


def read_daily_means(fleet: Fleet, logger: Logger, window: Window) -> list[Bucket]:
    """The window in local days, from the days' sums: means over what was received."""
    found = fleet.rows(
        "SELECT d.first_slot, ac_sum * 1.0 / intervals, expected_sum * 1.0 / intervals"
        " FROM site_day AS d LEFT JOIN logger_day AS t ON t.logger_id = ? AND t.day = d.day"
        " WHERE d.site_id = ? AND d.day BETWEEN ? AND ? ORDER BY d.day",
        logger.logger_id,
        logger.site.site_id,
        max(window.start, fleet.first_day).toordinal(),
        min(window.end, fleet.last_day).toordinal(),
    )
    return [Bucket(*row) for row in found]


def read_peak(fleet: Fleet, logger: Logger, day: int) -> tuple[int, int]:
    """(slot, W) of the highest reading of a day that has readings; the first of several."""
    [(slot, power)] = fleet.rows(
        f"SELECT r.key - r.key / {SLOTS_PER_KEY} * {SLOTS_PER_KEY}, ac_w"
        " FROM site_day AS d JOIN reading AS r"
        f" ON r.key >= ? * {SLOTS_PER_KEY} + d.first_slot"
        f" AND r.key < ? * {SLOTS_PER_KEY} + d.first_slot + d.slots"
        " WHERE d.site_id = ? AND d.day = ? ORDER BY ac_w DESC, r.key LIMIT 1",
        logger.logger_id,
        logger.logger_id,
        logger.site.site_id,
        day,
    )
    return slot, power
