"""Figures that stand in the message itself: `1, 4, 9`, `apples 3, pears 5`, `3 apples, 5 pears`."""

from graphs.offline.ask import SIGNED, any_case, number
from graphs.offline.figure import Figure

_SEPARATOR = any_case(r"\s*(?:,\s*and\b|,|;|\|)\s*|\s+and\s+")
_COUNTED = any_case(rf"(?P<value>{SIGNED})\s+(?P<label>[^\W\d].*)")
_LABELLED = any_case(rf"(?P<label>.*?)[\s:=]*(?P<value>{SIGNED})\s*(?P<unit>%|°?[^\W\d]{{0,6}})")


def inline_figures(text: str) -> list[Figure]:
    """Empty if there is neither a number nor a list."""
    name, _, values = text.partition(":")
    if "," in values and ":" not in values and "," not in name:
        text = values
    found = [_figure(item.strip(" .?!\"'")) for item in _SEPARATOR.split(text) if item.strip()]
    return found if len(found) > 1 or any(figure.is_number for figure in found) else []


def _figure(item: str) -> Figure:
    match = _COUNTED.fullmatch(item) or _LABELLED.fullmatch(item)
    if not match:
        return Figure(item[:80], None)
    groups = match.groupdict()
    return Figure(groups["label"].strip()[:80], number(groups["value"]), groups.get("unit") or "")
