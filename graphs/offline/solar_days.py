"""Days in words: "last Tuesday", "in July", "on 2024-03-10", as a window of days.

The fleet's data end long ago, so "today" is their last day, and has to be asked for first.
"""

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from re import Match, Pattern

from turnstream.graphs.offline.ask import Facts, any_case

Days = tuple[date, date]
ONE = timedelta(days=1)

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTH = rf"(?P<month>{'|'.join(MONTHS)})"
YEAR = r"(?P<year>(?:19|20)\d\d)"
_NO_LETTER = re.compile(r"\W")
ISO = any_case(r"\b\d{4}-\d{2}-\d{2}\b")
_TODAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def today_of(facts: Facts) -> date | None:
    """The fleet's "today", if a result at hand says which day it is."""
    for result in facts.results:
        now = result.content.get("now") if isinstance(result.content, dict) else None
        if isinstance(now, str) and _TODAY.match(now):
            return date.fromisoformat(now[:10])
    return None


def find_days(clause: str, today: date | None) -> tuple[str, str] | None:
    """The first and the last day that are meant, YYYY-MM-DD; None if none is named, or "today" is
    needed and not known. Days that are no days, as 2024-02-30, are left to the tool."""
    written = ISO.findall(clause)
    if written:
        return min(written), max(written)
    for pattern, days, is_relative in _PHRASES:
        match = pattern.search(clause)
        if match and (today or not is_relative(match)):
            try:
                first, last = days(match, today or date.min)
            except (ValueError, OverflowError):
                return None
            return str(first), str(last)
    return None


def needs_today(clause: str) -> bool:
    """Check that the days that are meant depend on which day it is."""
    if ISO.search(clause):
        return False
    found = ((pattern.search(clause), is_relative) for pattern, _, is_relative in _PHRASES)
    return next((is_relative(match) for match, is_relative in found if match), False)


def _in_month(match: Match[str], today: date) -> Days:
    number = MONTHS.index(match["month"].lower()) + 1
    year = int(match["year"]) if match["year"] else _year_of(number, today)
    return date(year, number, 1), date(year, number, monthrange(year, number)[1])


def _on_day(match: Match[str], today: date) -> Days:
    number = MONTHS.index(match["month"].lower()) + 1
    year = int(match["year"]) if match["year"] else _year_of(number, today)
    day = date(year, number, int(match["day"]))
    return day, day


def _year_of(month: int, today: date) -> int:
    """The month that was last."""
    return today.year - (month > today.month)


def _weekday(match: Match[str], today: date) -> Days:
    """The last one before today."""
    back = (today.weekday() - WEEKDAYS.index(match["weekday"].lower()) - 1) % 7 + 1
    return (day := today - back * ONE), day


def _last_days(match: Match[str], today: date) -> Days:
    return today - (int(match["count"]) - 1) * ONE, today


def _this(match: Match[str], today: date) -> Days:
    return _starts(match["span"].lower(), today), today


def _last(match: Match[str], today: date) -> Days:
    span = match["span"].lower()
    end = _starts(span, today) - ONE
    return _starts(span, end), end


def _starts(span: str, day: date) -> date:
    if span == "week":
        return day - day.weekday() * ONE
    return day.replace(day=1) if span == "month" else day.replace(month=1, day=1)


def _whole_year(match: Match[str], _: date) -> Days:
    year = int(match["year"])
    return date(year, 1, 1), date(year, 12, 31)


def _ago(days: int) -> Callable[[Match[str], date], Days]:
    return lambda _, today: (today - days * ONE, today - days * ONE)


def _always(_: Match[str]) -> bool:
    return True


def _without_year(match: Match[str]) -> bool:
    return not match["year"]


TH = r"(?:st|nd|rd|th)?"
_PHRASES: tuple[
    tuple[Pattern[str], Callable[[Match[str], date], Days], Callable[[Match[str]], bool]], ...
] = tuple(
    (any_case(pattern), days, is_relative)
    for pattern, days, is_relative in (
        (r"\byesterday\b", _ago(1), _always),
        (r"\btoday\b", _ago(0), _always),
        (rf"\b(?P<weekday>{'|'.join(WEEKDAYS)})\b", _weekday, _always),
        (r"\b(?:last|past) (?P<count>[1-9]\d{0,2}) days\b", _last_days, _always),
        (r"\bthis (?P<span>week|month|year)\b", _this, _always),
        (r"\blast (?P<span>week|month|year)\b", _last, _always),
        (rf"\b{MONTH} (?P<day>\d{{1,2}}){TH}\b(?:,? {YEAR})?", _on_day, _without_year),
        (rf"\b(?P<day>\d{{1,2}}){TH} (?:of )?{MONTH}\b(?: {YEAR})?", _on_day, _without_year),
        (
            rf"\b(?:in|during|of|for|last|this) {MONTH}\b(?: {YEAR})?",
            _in_month,
            _without_year,
        ),
        (rf"\b(?:in|during|of|for|year) {YEAR}\b", _whole_year, lambda _: False),
    )
)


def is_day_word(word: str) -> bool:
    """Check that a capitalised word is the name of a day or a month, and not of a place."""
    return _NO_LETTER.sub("", word).lower() in (*MONTHS, *WEEKDAYS)
