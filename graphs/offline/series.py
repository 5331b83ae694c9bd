"""Figures that stand in the message itself: `1, 4, 9`, `apples 3, pears 5`, `3 apples, 5 pears`."""

import string

from turnstream.graphs.offline.ask import BLANKS_BEFORE, SIGNED, any_case, number
from turnstream.graphs.offline.figure import Figure

_SEPARATOR = any_case(rf"{BLANKS_BEFORE}(?:,\s*+and\b|[,;|])\s*+|(?<!\s)\s++and\s++")
_COUNTED = any_case(rf"\A(?P<value>{SIGNED})\s++(?P<label>[^\W\d].*)")
_LABELLED = any_case(rf"(?P<value>{SIGNED})\s*+(?P<unit>%|°?[^\W\d]{{0,6}}+)\Z")
_EDGE = f"{string.whitespace}:="


def inline_figures(text: str) -> list[Figure]:
    """Empty if there is neither a number nor a list."""
    name, _, values = text.partition(":")
    if "," in values and ":" not in values and "," not in name:
        text = values
    found = [_figure(item.strip(" .?!\"'")) for item in _SEPARATOR.split(text) if item.strip()]
    return found if len(found) > 1 or any(figure.is_number for figure in found) else []


def _figure(item: str) -> Figure:
    counted = _COUNTED.match(item)
    if counted:
        return Figure(counted["label"].strip()[:80], number(counted["value"]))
    labelled = _LABELLED.search(item)
    if labelled:
        label = item[: labelled.start()].rstrip(_EDGE).strip()
        return Figure(label[:80], number(labelled["value"]), labelled["unit"])
    return Figure(item[:80], None)
