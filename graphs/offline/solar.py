"""Questions about the solar fleet, for the nine tools that answer from its data."""

from collections.abc import Callable, Sequence
from datetime import date
from re import Pattern
from typing import Any

from turnstream.graphs.offline.ask import Ask, Facts, any_case, past
from turnstream.graphs.offline.solar_days import find_days, is_day_word, needs_today, today_of

LIST, ERRORS, FORECAST = "list_loggers", "diagnose_error_codes", "forecast_production"

Args = dict[str, Any]

UNIT = r"(?:inverter|logger|inv)s?"
_PLANT = r"(?:site|plant)s?"
_NAME = r"(?-i:[A-Z][a-z]+(?: [A-Z][a-z]+)*)"
LOGGER = any_case(rf"\b{UNIT}\s*+(?:(?:no\.?+|number|#)\s*+)?+(\d{{1,6}})\b")
_SITE = any_case(rf"\b{_PLANT} (\w\b|{_NAME})")
_PLACE = any_case(rf"\b(?:at|in|for|of|from|does|did|will|is) (?:the )?({_NAME})")
_CODE = any_case(r"(?<![-\d])[1-9]\d{3}(?![-\d])")
_COMPARED = any_case(r"\bcompare (?P<what>.+)|^(?P<two>.+ (?:versus|vs\.?|against) .+)")
_BEHIND = any_case(
    r"(?<!\s)\s++(?:by|during|for|from|in|last|on|over|since|this|today|yesterday)\b.*"
    r"|(?<!\W)\W++\Z"
)
_BETWEEN = any_case(r",\s*+(?:and|or)\b|[,&]|\b(?:and|or|to|with|versus|vs|against)\b\.?+")
_COMPARABLE = any_case(
    rf"(?:the )?(?:(?P<kind>{UNIT}|{_PLANT}) )?(?P<name>[a-z]|\d{{1,6}}|{_NAME})"
)
_METRICS = (
    (any_case(r"\bperformance\b|\bPR\b"), "performance_ratio"),
    (any_case(r"\bcoverage\b|\bavailab"), "coverage"),
    (any_case(r"\benergy\b|\bproduc|\bkWh\b(?!/)"), "energy"),
)
_AHEAD = any_case(r"\bnext (\d{1,6}) days\b")
_ALL = any_case(r"(?:all )?(?:the |our )?(?:sites|plants)")


def solar(clause: str, facts: Facts) -> list[Ask]:
    for tool, pattern, arguments in _QUESTIONS:
        if tool in facts.tools and pattern.search(clause):
            found = arguments(clause, today_of(facts))
            if found is not None:
                return [Ask(tool, found)]
    return []


def hangs_on_today(clause: str, facts: Facts) -> bool:
    asks = solar(clause, facts) if needs_today(clause) and not _by_default(clause) else []
    return any(ask.tool != FORECAST for ask in asks)


def _by_default(clause: str) -> bool:
    """The year so far is what these tools look at when they are told of no days."""
    return bool(_THIS_YEAR.search(clause) and (_SAVED.search(clause) or _ERROR.search(clause)))


def find_target(clause: str) -> Args:
    logger = LOGGER.search(clause)
    if logger:
        return {"target": f"inverter {logger[1]}"}
    site = _SITE.search(clause)
    if site:
        return {"target": f"site {site[1]}"}
    places = [match[1] for match in _PLACE.finditer(clause) if not is_day_word(match[1])]
    return {"target": places[0]} if places else {}


def _window(clause: str, today: date | None) -> Args:
    days = None if _by_default(clause) else find_days(clause, today)
    return {"start": days[0], "end": days[1]} if days else {}


def _only_window(clause: str, today: date | None) -> Args:
    return _window(clause, today)


def _of_target(clause: str, today: date | None) -> Args:
    return find_target(clause) | _window(clause, today)


def _of_logger(clause: str, today: date | None) -> Args | None:
    """None where no inverter is named: these tools look at one."""
    logger = LOGGER.search(clause)
    return {"logger": f"inverter {logger[1]}"} | _window(clause, today) if logger else None


def _curve(clause: str, today: date | None) -> Args | None:
    found = _of_logger(clause, today)
    if found and found.get("start") == found.get("end"):
        found.pop("end", None)
    return found


def _errors(clause: str, today: date | None) -> Args:
    codes = [int(code) for code in _CODE.findall(clause) if not 1990 <= int(code) <= 2099]
    return ({"codes": codes} if codes else {}) | find_target(clause) | _window(clause, today)


def _forecast(clause: str, _: date | None) -> Args:
    ahead = _AHEAD.search(clause)
    days = 7 if "next week" in clause.lower() else 1 if "tomorrow" in clause.lower() else None
    count = int(ahead[1]) if ahead else days
    start = find_days(clause, None)
    return (
        find_target(clause)
        | ({"days": count} if count else {})
        | ({"start": start[0]} if start else {})
    )


def _compared(clause: str, today: date | None) -> Args | None:
    match = _COMPARED.search(clause)
    if not match:
        return None
    metric = next((name for pattern, name in _METRICS if pattern.search(clause)), None)
    rest = _window(clause, today) | ({"metric": metric} if metric else {})
    text = _BEHIND.sub("", match["what"] or match["two"])
    if _ALL.fullmatch(text):
        return rest
    parts = [_COMPARABLE.fullmatch(part.strip()) for part in _BETWEEN.split(text)]
    if len(parts) < 2 or None in parts:
        return None
    return {"targets": _names([part.groupdict() for part in parts if part])} | rest


def _names(parts: Sequence[dict[str, str | None]]) -> list[str]:
    """`site A and B` -> `site A`, `site B`"""
    names, kind = [], ""
    for part in parts:
        kind = (part["kind"] or kind).lower().removesuffix("s")
        name = part["name"] or ""
        bare = len(name) == 1 or name.isdigit()
        names.append(f"{kind} {name}".strip() if bare else name)
    return names


def _listed(clause: str, _: date | None) -> Args:
    site = _SITE.search(clause)
    return {"site": site[1]} if site else {}


_SAVED = any_case(
    past(r"\b(?:did|do|have|has|will)\b")
    + r".*\b(?:saved?|earn(?:ed)?)\b|\b(?:our|the) savings\b|\bco2\b"
)
_ERROR = any_case(r"\b(?:errors|(?:error|fault) codes?|(?:error|fault|codes?) \d{4})\b")
_THIS_YEAR = any_case(r"\bthis year\b")
_DOING = r"\b(?:doing|going|look(?:s|ing)?|overview|status|state|perform(?:s|ing)?)\b"

_QUESTIONS: tuple[tuple[str, Pattern[str], Callable[[str, date | None], Args | None]], ...] = (
    (ERRORS, _ERROR, _errors),
    (
        FORECAST,
        any_case(
            past(r"\bwill\b")
            + r".*\b(?:produce|generate|make|yield)\b|"
            + past(r"\bexpect")
            + r".*\btomorrow|\bforecast\b"
        ),
        _forecast,
    ),
    ("compare_loggers", _COMPARED, _compared),
    ("get_power_curve", any_case(r"\bcurve\b|\bpower (?:of|at|from)\b"), _curve),
    (
        "analyze_inverter_health",
        any_case(rf"\bhealth|\bwrong with\b|\bbroken\b|\b(?:ok|okay|fine)\b|{_DOING}"),
        _of_logger,
    ),
    ("calculate_financial_savings", _SAVED, _of_target),
    ("calculate_performance_ratio", any_case(r"\bperformance ratio\b|\bPR\b"), _of_target),
    (
        "get_fleet_overview",
        any_case(
            past(r"\bfleet\b")
            + rf".*(?:{_DOING})|"
            + past(r"\b(?:how|overview|status|state)\b")
            + r".*\bfleet\b"
        ),
        _only_window,
    ),
    ("calculate_performance_ratio", any_case(rf"{past(f'{_PLANT} ')}.*(?:{_DOING})"), _of_target),
    (
        LIST,
        any_case(
            past(r"\b(?:list|which|what|show|how many)\b")
            + r".*\b(?:inverters|loggers|sites|plants)\b(?! \d)"
            r"|\A(?:all )?(?:the |our )?(?:inverters|loggers|sites|plants)\W*+\Z"
        ),
        _listed,
    ),
)
"""Which tool a clause is for, and its arguments; the first that knows the clause has it."""
