"""Windows of whole days, local to the site, first and last day included.

The data are historical: "now" is the end of the file, and what is not said counts back from there.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Any, TypeAlias
from zoneinfo import ZoneInfo

from pydantic import WithJsonSchema

from turnstream.tools.solar.answers import Refusal, invalid, shown
from turnstream.tools.solar.fleet import Fleet
from turnstream.tools.solar.schema import EPOCH_SLOT, SLOT_SECONDS
from turnstream.tools.solar.targets import Target

Day: TypeAlias = Annotated[str, WithJsonSchema({"type": "string", "format": "date"})]
"""A day as the model writes it, for which a form has a field. LangChain drops the
`json_schema_extra` of a `Field`."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FORM = "a day as YYYY-MM-DD"
_MAX_AVAILABLE = 12
ONE_YEAR = 0  # for `days`: from the 1 January before the end


@dataclass(frozen=True, slots=True)
class Window:
    start: date
    end: date

    @property
    def days(self) -> int:
        return (self.end - self.start).days + 1

    def described(self) -> dict[str, str]:
        return {"start": self.start.isoformat(), "end": self.end.isoformat()}


def find_day(argument: str, asked: str) -> date:
    """Raises Refusal for what is not a day of the calendar, as 29 February of most years."""
    text = asked.strip()
    if not _DAY.fullmatch(text):
        raise invalid(argument, f"{shown(asked)} is not {_FORM}.", _FORM)
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise invalid(argument, f"there is no day {shown(asked)}.", _FORM) from None


def find_window(
    fleet: Fleet, start: str | None, end: str | None, *, days: int, single: bool = False
) -> Window:
    """The window that is meant. Raises Refusal when it runs backwards.

    Without both it is the last `days` days. Without `start`, the `days` days up to `end`; without
    `end`, all from `start` to now, or, if `single`, that one day.
    """
    first = find_day("start", start) if start else None
    last = find_day("end", end) if end else None
    if last is None:
        last = first if single and first else max(fleet.last_day, first or fleet.last_day)
    if first is None:
        first = _back_from(last, days)
    if first > last:
        raise invalid(
            "end", f"{last} is before start {first}.", "start and end, the earlier day first"
        )
    return Window(first, last)


def _back_from(last: date, days: int) -> date:
    if days == ONE_YEAR:
        return date(last.year, 1, 1)
    return date.fromordinal(max(1, last.toordinal() - days + 1))


def require_data(fleet: Fleet, target: Target, window: Window) -> None:
    """Raises Refusal when the target has no reading at all, or none in the window."""
    days = days_with_data(fleet, target)
    if not days:
        raise Refusal(
            "no_data",
            f"{target.name} has never sent a reading.",
            target=target.described(),
            available=[],
            now=fleet.now,
        )
    if not any(window.start <= day <= window.end for day in days):
        raise Refusal(
            "no_data_in_window",
            f"{target.name} has no reading from {window.start} to {window.end}.",
            target=target.described(),
            window=window.described(),
            available=available(days, window),
            now=fleet.now,
        )


def days_with_data(fleet: Fleet, target: Target) -> list[date]:
    found = fleet.rows(
        "SELECT DISTINCT day FROM logger_day"
        " WHERE logger_id IN (SELECT value FROM json_each(?)) ORDER BY day",
        target.ids,
    )
    return [date.fromordinal(day) for (day,) in found]


def available(days: Sequence[date], asked: Window) -> list[dict[str, str]]:
    """The unbroken runs of days that have data, by time; of many, those nearest to `asked`."""
    found = [Window(run[0], run[-1]) for run in runs(days, timedelta(days=1))]
    found.sort(key=lambda one: max(one.start - asked.end, asked.start - one.end))
    nearest = sorted(found[:_MAX_AVAILABLE], key=lambda one: one.start)
    return [one.described() for one in nearest]


def runs(steps: Iterable[Any], stride: Any) -> list[list[Any]]:
    """Rising values cut into lists wherever the distance is more than `stride`."""
    found: list[list[Any]] = []
    for step in steps:
        if not found or step - found[-1][-1] > stride:
            found.append([])
        found[-1].append(step)
    return found


def local_time(slot: int, zone: ZoneInfo) -> str:
    """The start of a slot as ISO 8601, local and without an offset, to the minute."""
    moment = datetime.fromtimestamp((EPOCH_SLOT + slot) * SLOT_SECONDS, zone)
    return moment.strftime("%Y-%m-%dT%H:%M")
