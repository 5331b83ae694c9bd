"""A day to come, in words: "tomorrow", "next Tuesday", "on the first of December"."""

from collections.abc import Callable
from datetime import date, timedelta
from re import Match, Pattern

from turnstream.graphs.offline.ask import any_case
from turnstream.graphs.offline.solar_days import ISO, MONTH, MONTHS, ONE, TH, WEEKDAYS, YEAR

_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "ninth", "tenth"),
)
_COUNTS = ("one", "two", "three", "four", "five", "six")
_DAY = rf"(?P<day>\d{{1,2}}|{'|'.join(_ORDINALS)}){TH}"
_COUNT = rf"(?P<count>\d{{1,3}}|an?|{'|'.join(_COUNTS)})"


def find_coming_day(clause: str, today: date | None) -> str | None:
    """The first day that is named, YYYY-MM-DD; None if none is.

    A day that depends on today stays as it is said while today is not known, and so does one that
    the calendar does not have: the tool refuses both.
    """
    written = ISO.search(clause)
    if written:
        return written[0]
    for pattern, day, is_relative in _PHRASES:
        match = pattern.search(clause)
        if match and is_relative(match) and today is None:
            return match[0]
        if match:
            try:
                return str(day(match, today or date.min))
            except (ValueError, OverflowError):
                return match[0]
    return None


def needs_today(clause: str) -> bool:
    """Check that the day that is meant depends on which day it is."""
    if ISO.search(clause):
        return False
    found = ((pattern.search(clause), is_relative) for pattern, _, is_relative in _PHRASES)
    return next((is_relative(match) for match, is_relative in found if match), False)


def _in(days: int) -> Callable[[Match[str], date], date]:
    return lambda _, today: today + days * ONE


def _after(match: Match[str], today: date) -> date:
    word = match["count"].lower()
    count = _COUNTS.index(word) + 1 if word in _COUNTS else 1 if word[0] == "a" else int(word)
    return today + count * timedelta(days=7 if match["span"].lower() == "week" else 1)


def _weekday(match: Match[str], today: date) -> date:
    """The first one after today."""
    ahead = (WEEKDAYS.index(match["weekday"].lower()) - today.weekday() - 1) % 7 + 1
    return today + ahead * ONE


def _next_week(_: Match[str], today: date) -> date:
    """Its Monday."""
    return today + (7 - today.weekday()) * ONE


def _on_day(match: Match[str], today: date) -> date:
    """Without a year, the next one."""
    month, word = MONTHS.index(match["month"].lower()) + 1, match["day"].lower()
    day = _ORDINALS.index(word) + 1 if word in _ORDINALS else int(word)
    if match["year"]:
        return date(int(match["year"]), month, day)
    this_year = date(today.year, month, day)
    return this_year if this_year >= today else date(today.year + 1, month, day)


def _always(_: Match[str]) -> bool:
    return True


def _without_year(match: Match[str]) -> bool:
    return not match["year"]


_PHRASES: tuple[
    tuple[Pattern[str], Callable[[Match[str], date], date], Callable[[Match[str]], bool]], ...
] = tuple(
    (any_case(pattern), day, is_relative)
    for pattern, day, is_relative in (
        (r"\bthe day after tomorrow\b", _in(2), _always),
        (r"\btomorrow\b", _in(1), _always),
        (r"\btoday\b", _in(0), _always),
        (rf"\b{_DAY} (?:of )?{MONTH}\b(?:,? {YEAR})?", _on_day, _without_year),
        (rf"\b{MONTH} (?:the )?{_DAY}\b(?:,? {YEAR})?", _on_day, _without_year),
        (rf"\b(?:next )?(?P<weekday>{'|'.join(WEEKDAYS)})\b", _weekday, _always),
        (rf"\bin {_COUNT} (?P<span>day|week)s?\b", _after, _always),
        (r"\bnext week\b", _next_week, _always),
    )
)
