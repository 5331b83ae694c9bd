"""The faults that are laid over the healthy plant, and the truth about them.

Times are local to the logger's site. `spoil` changes a logger's power; `lost_slots` says which of
its readings never arrived. Detection never sees this file: it has to find the faults in the
readings.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from turnstream.tools.solar.build.plant import ETA
from turnstream.tools.solar.build.sites import LOGGERS, SEED, Logger

KINDS = ("outage", "string_loss", "soiling", "communication_gap", "derating", "notice")
DERATED_SHARE = 0.55  # of rated power, while the heat sink is too hot


@dataclass(frozen=True, slots=True)
class Fault:
    """`kind`: outage, string_loss, soiling, communication_gap, derating or notice (no effect).

    `end` None: still there when the data end. `size`: the input that lost a string (1 or 2), or the
    share of power that soiling had taken when it was cleaned off.
    """

    kind: str
    logger_id: int
    start: str
    end: str | None
    code: int | None = None
    size: float = 0.0


_PLANNED = (
    Fault("outage", 2, "2024-04-16 09:30", "2024-04-18 15:00", 2104),
    Fault("outage", 5, "2024-09-26 11:00", "2024-09-27 10:00", 1201),
    Fault("outage", 6, "2024-09-26 11:00", "2024-09-27 10:00", 1201),
    Fault("outage", 7, "2024-09-26 11:00", "2024-09-27 10:00", 1201),
    Fault("outage", 6, "2024-07-08 11:15", "2024-07-08 16:15", 1102),
    Fault("outage", 9, "2024-06-10 12:00", "2024-06-13 14:00", 5003),
    Fault("outage", 8, "2024-03-10 11:00", "2024-03-10 15:00", 1102),
    Fault("outage", 10, "2024-11-19 11:00", "2024-11-19 13:30", 2302),
    Fault("outage", 12, "2024-12-29 10:00", "2024-12-30 14:00", 2104),
    Fault("string_loss", 3, "2024-05-21 13:00", "2024-08-13 10:00", 2201, 1),
    Fault("string_loss", 8, "2024-07-02 12:00", "2024-07-20 12:00", 2201, 2),
    Fault("string_loss", 11, "2024-10-01 12:00", None, 2201, 2),
    Fault("soiling", 1, "2024-06-20 00:00", "2024-08-05 00:00", None, 0.14),
    Fault("soiling", 5, "2024-02-05 00:00", "2024-03-25 00:00", None, 0.12),
    Fault("soiling", 10, "2024-08-25 00:00", "2024-10-20 00:00", None, 0.16),
    Fault("communication_gap", 4, "2024-03-09 20:00", "2024-03-11 08:00", 4001),
    Fault("communication_gap", 4, "2024-10-14 00:00", "2024-10-14 06:30", 4001),
    Fault("communication_gap", 6, "2024-01-22 09:00", "2024-01-22 17:00", 4001),
    Fault("communication_gap", 7, "2024-08-19 06:00", "2024-08-24 18:00", 4001),
    Fault("communication_gap", 9, "2024-11-02 18:00", "2024-11-04 07:00", 4001),
    Fault("communication_gap", 12, "2024-07-15 00:00", "2024-07-18 00:00", 4001),
    *(
        Fault("derating", 6, f"2024-{day} 12:00", f"2024-{day} 15:30", 3105)
        for day in ("06-14", "06-18", "07-22", "08-07", "08-14", "08-27", "09-10")
    ),
    *(
        Fault("derating", 7, f"2024-{day} 11:30", f"2024-{day} 15:00", 3105)
        for day in ("06-27", "07-30", "08-12")
    ),
    Fault("notice", 4, "2024-05-12 03:00", "2024-05-12 03:30", 4102),
    Fault("notice", 2, "2024-10-02 22:15", "2024-10-02 22:45", 1101),
    Fault("notice", 10, "2024-06-30 14:00", "2024-07-04 09:00", 3106),
    Fault("notice", 11, "2024-12-18 19:30", "2024-12-18 20:00", 1101),
)


def _chance_faults() -> Iterable[Fault]:
    """Short trips and short silences, drawn once and for all by the seed."""
    draw = np.random.RandomState(SEED + 1000)
    connected = [one.logger_id for one in LOGGERS if one.commissioned]
    for kind, code, count in (("outage", 1102, 6), ("communication_gap", 4001, 10)):
        for _ in range(count):
            logger_id = int(connected[draw.randint(len(connected))])
            start = pd.Timestamp("2024-05-06") + pd.Timedelta(days=int(draw.randint(235)))
            start += pd.Timedelta(minutes=15 * int(draw.randint(42, 52)))
            end = start + pd.Timedelta(minutes=15 * int(draw.randint(6, 13)))
            yield Fault(kind, logger_id, f"{start:%Y-%m-%d %H:%M}", f"{end:%Y-%m-%d %H:%M}", code)


FAULTS = (*_PLANNED, *_chance_faults())


def of(logger: Logger, *kinds: str) -> list[Fault]:
    return [one for one in FAULTS if one.logger_id == logger.logger_id and one.kind in kinds]


def span(fault: Fault, index: pd.DatetimeIndex, time_zone: str) -> pd.Series:
    """True where the fault holds. `index`: slot starts in UTC."""
    local = index.tz_convert(time_zone)
    holds = local >= pd.Timestamp(fault.start, tz=time_zone)
    if fault.end:
        holds &= local < pd.Timestamp(fault.end, tz=time_zone)
    return pd.Series(holds, index=index)


def spoil(logger: Logger, dc: pd.DataFrame, time_zone: str) -> tuple[pd.DataFrame, pd.Series]:
    """DC power with the faults in it, and the AC power that the inverter allows itself, in W."""
    dc, index = dc.copy(), pd.DatetimeIndex(dc.index)
    limit = pd.Series(float(logger.rated_w), index=index)
    for fault in of(logger, "soiling", "string_loss", "derating", "outage"):
        holds = span(fault, index, time_zone)
        if fault.kind == "soiling":
            dc = dc.mul(1 - fault.size * (holds.cumsum() / holds.sum()).where(holds, 0), axis=0)
        elif fault.kind == "string_loss":
            strings = logger.strings[int(fault.size) - 1]
            dc.loc[holds, f"dc{fault.size:.0f}"] *= (strings - 1) / strings
        elif fault.kind == "derating":
            limit[holds] = DERATED_SHARE * logger.rated_w
        else:
            dc[holds] = 0.0
    return dc, limit


def lost_slots(logger: Logger, index: pd.DatetimeIndex, time_zone: str) -> pd.Series:
    """True where no reading arrived: before the start of service, and in every gap."""
    lost = pd.Series(False, index=index)
    if logger.commissioned is None:
        return ~lost
    lost |= index < pd.Timestamp(logger.commissioned, tz=time_zone)
    for fault in of(logger, "communication_gap"):
        lost |= span(fault, index, time_zone)
    return lost


def truth(
    logger: Logger, dc: pd.DataFrame, limit: pd.Series, time_zone: str
) -> list[dict[str, Any]]:
    """Return the tests' knowledge of a logger: one row a fault, and one for each day of clipping.

    `effect` counts slots: of lost readings, of output that stood still though the healthy plant
    would have given 5% of its rating, of power that was held back.
    """
    total = dc["dc1"] + dc["dc2"]
    index = pd.DatetimeIndex(dc.index)
    lost = lost_slots(logger, index, time_zone)
    could = {
        "outage": ~lost,
        "string_loss": ~lost & (total > 0),
        "soiling": ~lost & (total > 0),
        "communication_gap": pd.Series(True, index=index),
        "derating": ~lost & (total * ETA > limit * 1.05),
        "notice": pd.Series(True, index=index),
    }
    rows = [
        _record(fault, int((span(fault, index, time_zone) & could[fault.kind]).sum()), time_zone)
        for fault in of(logger, *could)
    ]
    held = ~lost & (total * ETA > limit) & (limit == logger.rated_w)
    by_day = held.groupby(index.tz_convert(time_zone).date).sum()
    clipping = [
        {"kind": "clipping", "logger_id": logger.logger_id, "day": str(day), "effect": int(count)}
        for day, count in by_day[by_day >= 4].items()
    ]
    return [*sorted(rows, key=lambda row: (row["kind"], row["start"])), *clipping]


def _record(fault: Fault, effect: int, time_zone: str) -> dict[str, Any]:
    record: Mapping[str, Any] = {
        "kind": fault.kind,
        "logger_id": fault.logger_id,
        "start": pd.Timestamp(fault.start, tz=time_zone).isoformat(),
        "end": pd.Timestamp(fault.end, tz=time_zone).isoformat() if fault.end else None,
        "code": fault.code,
        "size": fault.size,
        "effect": effect,
    }
    return dict(record)
