"""Maintenance of the solar fleet: visits to plan, to list and to cancel."""

from typing import Any

from turnstream.graphs.offline.ask import Ask, Facts, any_case, past
from turnstream.graphs.offline.coming_days import find_coming_day, needs_today
from turnstream.graphs.offline.screen import COMPONENT
from turnstream.graphs.offline.solar import LOGGER, UNIT, find_target
from turnstream.graphs.offline.solar_days import find_days, today_of

SCHEDULE, LIST, CANCEL = "schedule_maintenance", "list_maintenance", "cancel_maintenance"
MAX_VISITS = 10
"""Visits of a clause that names several inverters, or several visits."""

_POLITE = r"\A\W*+(?:(?:please|can you|could you|would you|have someone|let us|let's)\W++)*+"
_COMMAND = rf"{_POLITE}(?:inspect|clean|wash|repair|fix|mend|service)\b"
_TO_PLAN = past(r"(?<!the )(?<!maintenance )\b(?:schedule|book|plan|arrange)\b")
_WORK = r"(?:inspect|check|clean|wash|repair|fix|mend|replac|service|servicing|maint|visit)"
_VISITS = r"(?:maintenance|visits?|inspections?|cleanings?|repairs?)"

_SCHEDULE = any_case(rf"{_TO_PLAN}.*\b{_WORK}|{_COMMAND}")
UNPLANNED = rf"{_TO_PLAN}.*\b{_WORK}|{_COMMAND}.*\b{UNIT}\b"
"""A wish for a visit, though what is needed may be missing."""
NO_COMMAND = any_case(
    r"\A\W*+(?:did|do|does|has|is|are|was|were|what|which|when|where|why|how|who)\b"
    r"|\b(?:not|never|cannot)\b|n['\u2019]t\b"
)
_CANCEL = any_case(r"\b(?:cancel|call off)\b")
_VISIT = any_case(r"\b(?:M-?|visit (?:no\. |number |#)?+)(\d{1,9})\b")
_LISTED = any_case(
    past(r"\b(?:which|what|list|show|any|see)\b")
    + r".*\b(?:maintenance|visits|inspections|cleanings|repairs)\b|"
    + past(rf"\b{_VISITS}")
    + r".*\b(?:planned|scheduled|booked|plan|calendar|schedule)\b"
    + rf"|\b(?:planned|scheduled|cancelled|coming|next) {_VISITS}\b"
    + r"|\A\W*+what(?:'s| is) (?:planned|scheduled)\b"
)
_OTHER = any_case(rf"\b(?:needs?|errors?|codes?)\b|\b{COMPONENT}")
_SOME_VISITS = any_case(rf"\b{_VISITS}\b")
_IS_CANCELLED = any_case(r"\bcancell?ed\b")
_LOGGERS = any_case(rf"\b{UNIT} (\d{{1,6}}(?:, \d{{1,6}})*+,? and \d{{1,6}})\b")
_NUMBER = any_case(r"\d+")
_QUOTED = any_case(r'"([^"]*)"|“([^“”]*+)”')
_WORKS = (
    (any_case(r"\b(?:clean|wash)"), "cleaning"),
    (any_case(r"\b(?:repair|fix|mend|replac)"), "repair"),
    (any_case(r"\b(?:inspect|check)"), "inspection"),
)


def maintenance(clause: str, facts: Facts) -> list[Ask]:
    text = _QUOTED.sub(" ", clause)
    is_command = not NO_COMMAND.search(text)
    if is_command and _CANCEL.search(text):
        asks = _to_cancel(text)
    elif is_command and _SCHEDULE.search(text):
        asks = _to_schedule(clause, text, facts)
    elif _LISTED.search(text) and not _OTHER.search(text):
        asks = [_to_list(text)]
    else:
        return []
    return [ask for ask in asks[:MAX_VISITS] if ask.tool in facts.tools]


def hangs_on_today(clause: str, facts: Facts) -> bool:
    asks = maintenance(clause, facts)
    return any(ask.tool == SCHEDULE for ask in asks) and needs_today(_QUOTED.sub(" ", clause))


def _to_schedule(clause: str, text: str, facts: Facts) -> list[Ask]:
    """Nothing where the inverter or the day is missing."""
    day, note = find_coming_day(text, today_of(facts)), _QUOTED.search(clause)
    work = next((work for pattern, work in _WORKS if pattern.search(text)), "service")
    rest = {"date": day, "work": work} | ({"note": note[1] or note[2]} if note else {})
    loggers = _loggers(text) if day else []
    return [Ask(SCHEDULE, {"logger": f"inverter {number}", **rest}) for number in loggers]


def _loggers(text: str) -> list[str]:
    several, one = _LOGGERS.search(text), LOGGER.search(text)
    return _NUMBER.findall(several[1]) if several else [one[1]] if one else []


def _to_cancel(text: str) -> list[Ask]:
    """Ask for a list, which has the ids, if visits are to be cancelled and none has an id."""
    numbers = dict.fromkeys(_VISIT.findall(text))
    if numbers:
        return [Ask(CANCEL, {"visit": f"M-{number}"}) for number in numbers]
    return [_to_list(text)] if _SOME_VISITS.search(text) else []


def _to_list(text: str) -> Ask:
    days = find_days(text, None)
    arguments: dict[str, Any] = find_target(text)
    arguments |= {"start": days[0], "end": days[1]} if days else {}
    arguments |= {"state": "cancelled"} if _IS_CANCELLED.search(text) else {}
    return Ask(LIST, arguments)
