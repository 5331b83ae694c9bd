"""Questions that the user wants to be asked, for `request_user_selection`."""

from collections.abc import Mapping
from typing import Any

from turnstream.graphs.offline.ask import SELECT, Ask, Facts, any_case, past

MAX_OPTIONS = 100

_CUE = any_case(
    past(r"\b(?:let me|ask me|help me|have me|allow me)\b")
    + r".*?\b(?:choose|pick|select|decide|which|what|whether|date|day)\b"
    r"|\A(?:please )?(?:choose|pick|select)\b"
)
_OPTIONS = (
    any_case(r":\s*(.+)"),
    any_case(r"\b(?:between|among|from|out of|whether I (?:prefer|want|like))\s+(.+)"),
    any_case(r"\bof\s+(.+)"),
)
_SEPARATOR = any_case(r",\s*+(?:and|or)\b|[,;]|\b(?:and|or)\b")
_COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_COUNT = any_case(rf"\b(?:(up to|at most|at least)\s+)?({'|'.join(_COUNTS)}|[2-9])\b")
_SOME = any_case(r"\b(?:several|multiple|some|any|a few|all that)\b")
_DATE = any_case(r"\b(?:dates?|day|period)\b")
_RANGE = any_case(r"\b(?:range|period|dates|start and end)\b")
_ISO = any_case(r"\b\d{4}-\d{2}-\d{2}\b")
_NOUN = any_case(r"\b(?:which|what) (\w+)")
_WANTED = any_case(r"\b(?:choose|pick|select|decide)\b.*")


def selection(clause: str, _: Facts) -> list[Ask]:
    if not _CUE.search(clause):
        return []
    head, options = _split(clause.strip(" .?!"))
    dates = _ISO.findall(clause)
    if _DATE.search(head) and (dates or not options):
        return [Ask(SELECT, _date_question(head, dates))]
    return [Ask(SELECT, _question(head, options))] if options else []


def _split(clause: str) -> tuple[str, list[str]]:
    for pattern in _OPTIONS:
        match = pattern.search(clause)
        if match:
            found = [option.strip().strip("\"' ") for option in _SEPARATOR.split(match[1])]
            return clause[: match.start()], [*dict.fromkeys(filter(None, found))][:MAX_OPTIONS]
    return clause, []


def _date_question(head: str, dates: list[str]) -> dict[str, Any]:
    kind = "date_range" if _RANGE.search(head) else "date"
    limits = dict(zip(("min_date", "max_date"), sorted(dates), strict=False))
    return {"kind": kind, "prompt": _prompt(head), **limits}


def _question(head: str, options: list[str]) -> dict[str, Any]:
    bounds = _bounds(head, len(options))
    return {
        "kind": "single" if bounds is None else "multiple",
        "prompt": _prompt(head),
        "options": [{"value": option} for option in options],
        **(bounds or {}),
    }


def _bounds(head: str, most: int) -> Mapping[str, int] | None:
    """Return the number of options that are to be taken; None: one."""
    counted = _COUNT.search(head)
    if not counted:
        return {"min_selected": 1} if _SOME.search(head) else None
    limit, word = (counted[1] or "").lower(), counted[2].lower()
    count = min(_COUNTS.get(word) or int(word), most)
    if limit == "at least":
        return {"min_selected": count}
    return {"min_selected": 1 if limit else count, "max_selected": count}


def _prompt(head: str) -> str:
    """`Let me pick two toppings` -> `Pick two toppings.`"""
    noun, wanted = _NOUN.search(head), _WANTED.search(head)
    if noun:
        return f"Which {noun[1]}?"
    if not wanted:
        return "Pick a date." if _DATE.search(head) else "Which one?"
    text = " ".join(wanted[0].split()).rstrip(" ,")[:200]
    return f"{text[:1].upper()}{text[1:]}{'' if ' ' in text else ' one'}."
