"""schedule_maintenance, list_maintenance, cancel_maintenance: visits of technicians.

They are the fleet's tools that write, and what they write is a file of its own; see `visits`.
"Today" is the last day of the data, as everywhere in the fleet.
"""

import re
from typing import Any, Literal

from langchain_core.tools import ToolException

from turnstream.tools.contract import real_tool
from turnstream.tools.solar.answers import (
    MAX_ROWS,
    SHARED_FIELDS,
    TABLE_FIELDS,
    Result,
    invalid,
    refusing,
    shown,
    table,
)
from turnstream.tools.solar.fleet import Fleet, open_fleet
from turnstream.tools.solar.targets import find_logger, find_target
from turnstream.tools.solar.visits import (
    CANCELLED,
    PLANNED,
    Visit,
    add_visit,
    cancel_visit,
    find_visits,
)
from turnstream.tools.solar.windows import Day, find_day, find_window
from turnstream.tools.strict_json import clean_text

Work = Literal["inspection", "cleaning", "repair", "service"]
State = Literal["planned", "cancelled", "all"]

MAX_NOTE_CHARS = 500
_TOLD_VISITS = 20  # to the model, the first; the table has more
_EVER = ("0001-01-01", "9999-12-31")
_VISIT = re.compile(r"(?:M-?)?([1-9][0-9]{0,8})", re.IGNORECASE)
_STATES: dict[State, tuple[str, ...]] = {
    "planned": (PLANNED,),
    "cancelled": (CANCELLED,),
    "all": (PLANNED, CANCELLED),
}
_LABELS = {
    "id": "Visit",
    "date": "Date",
    "logger": "Inverter",
    "site": "Site",
    "work": "Work",
    "state": "State",
    "note": "Note",
}


@real_tool(client_fields=[*SHARED_FIELDS, "visit"], needs_approval=True)
@refusing
def schedule_maintenance(
    logger: str | int, date: Day, work: Work, note: str | None = None
) -> dict[str, Any]:
    """Plan the visit of a technician to one inverter. The same work on the same inverter cannot be
    planned twice for one day.

    Args:
        logger: The inverter, by number or name ("3", "inverter 3").
        date: The day, YYYY-MM-DD, local to the site; today, the day of `now`, at the earliest.
        work: What is to be done; service is the regular maintenance.
        note: What the technician has to know, up to 500 characters.
    """
    fleet = open_fleet()
    one = find_logger(fleet, logger)
    day = find_day("date", date)
    if day < fleet.last_day:
        raise invalid(
            "date", f"{day} is in the past; today is {fleet.last_day}.", "today or a later day"
        )
    visit, is_new = add_visit(one.logger_id, day, work, _checked(note))
    if not is_new:
        raise ToolException(
            f"This visit is planned already: {visit.visit_id}, {work} of {one.name} on {day}. "
            "Choose another day, or cancel it first."
        )
    return _answer(fleet, visit)


@real_tool(client_fields=[*SHARED_FIELDS, *TABLE_FIELDS, "state", "count", "visits"], artifact=True)
@refusing
def list_maintenance(
    target: str | int = "fleet",
    start: str | None = None,
    end: str | None = None,
    state: State = "planned",
) -> Result:
    """List the maintenance visits by date: id, inverter, work, note.

    Args:
        target: "fleet", a site or an inverter, by number or name.
        start: First day, YYYY-MM-DD. Default: all days.
        end: Last day, included. Default: all days.
        state: Only the planned visits, only the cancelled ones, or all.
    """
    fleet = open_fleet()
    meant = find_target(fleet, target)
    window = find_window(fleet, start or _EVER[0], end or _EVER[1], days=1)
    visits, count = find_visits(
        [one.logger_id for one in meant.loggers],
        window.start,
        window.end,
        _STATES[state],
        MAX_ROWS,
    )
    described = [_described(fleet, visit) for visit in visits]
    answer = {
        "status": "ok",
        "now": fleet.now,
        "target": meant.described(),
        "state": state,
        "count": count,
        "visits": described[:_TOLD_VISITS],
    } | ({"window": window.described()} if start or end else {})
    return answer, table(_LABELS, described) if described else {}


@real_tool(client_fields=[*SHARED_FIELDS, "visit"])
@refusing
def cancel_maintenance(visit: str) -> dict[str, Any]:
    """Cancel a planned maintenance visit. It stays on file as cancelled; to move a visit, cancel it
    and plan another one.

    Args:
        visit: The visit's id, as "M-3".
    """
    fleet = open_fleet()
    number = _VISIT.fullmatch(visit.strip())
    found, is_cancelled = cancel_visit(int(number[1])) if number else (None, False)
    if found is None:
        raise ToolException(f"There is no visit {shown(visit)}. list_maintenance has their ids.")
    if not is_cancelled:
        raise ToolException(
            f"The visit {found.visit_id} is cancelled already. list_maintenance has the planned "
            "ones."
        )
    return _answer(fleet, found)


def _checked(note: str | None) -> str | None:
    """The note as it is stored. Raises Refusal for a long one."""
    text = clean_text(note or "").strip()
    if len(text) > MAX_NOTE_CHARS:
        raise invalid(
            "note", f"{len(text)} characters are too many.", f"up to {MAX_NOTE_CHARS} characters"
        )
    return text or None


def _answer(fleet: Fleet, visit: Visit) -> dict[str, Any]:
    return {"status": "ok", "now": fleet.now, "visit": _described(fleet, visit)}


def _described(fleet: Fleet, visit: Visit) -> dict[str, Any]:
    logger = next(one for one in fleet.loggers if one.logger_id == visit.logger_id)
    return {
        "id": visit.visit_id,
        "logger": logger.name,
        "site": logger.site.site_id,
        "date": visit.day,
        "work": visit.work,
        "note": visit.note,
        "state": visit.state,
        "created_at": visit.created_at,
    }
