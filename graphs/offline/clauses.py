"""A message cut into steps, and each step into clauses that can be asked at the same time.

A clause opens a new step after "then", and where it points back ("show it as a card"). "Show X
as a table" is X, then "show that as a table", where X is for a tool. Quoted text stays whole.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from re import Pattern

from turnstream.graphs.offline.ask import BLANKS_BEFORE, any_case, past
from turnstream.graphs.offline.screen import COMPONENT, SHOW

MAX_CLAUSES = 50
"""Clauses of a message; what stands behind them is not searched for asks."""
MAX_VALUE_CHARS = 1000
"""Characters of a result that takes the place of "it", however often."""

_QUOTED = r'"[^"]*"|“[^“”]*+”'
_THEN = any_case(
    rf"{_QUOTED}|({BLANKS_BEFORE}(?:[,.;:]\s*+)?+\b(?:and\s++)?+"
    r"(?:(?:then|afterwards|after that)\b|next,),?+\s++)"
)
_VERBS = (
    r"add|analy[sz]e|ask|book|calculate|call|cancel|chart|clean|compare|compute|convert|create"
    r"|diagnose|display|divide|draw|find|forecast|give|graph|help|how|inspect|let|list|make"
    r"|multiply|pick|plot|put|raise|render|run|schedule|show|subtract|tell|the time|use|what"
    r"|what's|when|where|which|who|write"
)
_ANOTHER = any_case(
    rf"{_QUOTED}|((?<=[.?!;])\s++"
    r"|(?:(?<!\s)\s++(?:,\s++)?+|,\s++)(?:and|also|plus|but)\s++(?:also\s++)?+"
    rf"(?=(?:{_VERBS})\b)|,\s++(?=(?:{_VERBS})\b))"
)
_ONWARD = (
    r"(?=\s++(?:as|by|cubed|divided|from|in|into|minus|multiplied|on|plus|squared|times|to|with"
    r"|and)\b|\s*+[,.?!]*+\s*+$)"
)
_RESULT = r"(?:answer|choice|figure|number|outcome|product|result|selection|sum|total|value)s?"
_BACK = any_case(
    rf"{_QUOTED}|(\b(?:the|my) {_RESULT}\b(?! of\b)"
    rf"|(?<!is )\b(?:it|that|this|them|these|those|both)\b{_ONWARD})"
)
_ALL = any_case(r"^(?:them|these|those|both|(?:the|my) \w+s)$")
_WITH_DIGITS = re.compile(r"\d\D|\D\d")
_SHOWN = (
    any_case(
        rf"{past(f'{SHOW} ')}(?:me )?(?P<what>.+?) "
        rf"(?P<how>(?:as|in|on) (?:an? |the )?(?:\w+ )?{COMPONENT}.*)$"
    ),
    any_case(
        rf"(?P<how>{past(SHOW)}.*?{COMPONENT}) (?:about|for|of|on|showing|with) (?P<what>.+)$"
    ),
)


def steps(text: str, is_ask: Callable[[str], bool]) -> list[list[str]]:
    """`is_ask` says whether any tool would be called for a clause; the others are left out."""
    found: list[list[str]] = []
    opened = None
    for leg, clause in islice(_clauses(text), MAX_CLAUSES):
        for part in filter(is_ask, _unfold(clause, is_ask)):
            if leg == opened and not points_back(part):
                found[-1].append(part)
            else:
                found.append([part])
            opened = leg
    return found


def _clauses(text: str) -> Iterator[tuple[int, str]]:
    """Each clause with the number of the leg that it is of: "then" begins a new leg."""
    for number, leg in enumerate(_split(_THEN, text)):
        for clause in filter(None, _split(_ANOTHER, leg)):
            yield number, clause


def points_back(clause: str) -> bool:
    return any(match[1] for match in _BACK.finditer(clause))


def means_all(clause: str) -> bool:
    """It points at more than the last step ("them", "both", "the results")."""
    return any(match[1] and _ALL.search(match[1]) for match in _BACK.finditer(clause))


def resolve(clause: str, value: object) -> str:
    """The clause with the value in the place of what points at it.

    A text with digits in it, such as a date or a time, would be read as numbers: it stays out,
    and so does a very long one.
    """
    text = str(value)
    if len(text) > MAX_VALUE_CHARS:
        return clause
    if not isinstance(value, (int, float)) and _WITH_DIGITS.search(text):
        return clause
    return _BACK.sub(lambda match: text if match[1] else match[0], clause)


def _split(pattern: Pattern[str], text: str) -> Iterator[str]:
    start = 0
    for match in pattern.finditer(text):
        if match[1]:
            yield text[start : match.start()].strip()
            start = match.end()
    yield text[start:].strip()


def _unfold(clause: str, is_ask: Callable[[str], bool]) -> list[str]:
    """`Show 12 * 12 as a card` -> `12 * 12`, `Show that as a card`"""
    for pattern in _SHOWN:
        shown = pattern.match(clause)
        if shown and not points_back(shown["what"]) and is_ask(shown["what"]):
            how = shown["how"]
            again = f"show that {how}" if pattern is _SHOWN[0] else f"{how} of that"
            return [shown["what"], again]
    return [clause]
