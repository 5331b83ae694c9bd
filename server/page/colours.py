"""The page's colours: CSS variables, each for light and dark, and the contrast between them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

BASE = Path(__file__).parent.parent.parent / "static" / "css" / "base.css"
"""The style sheet that has the colours of the page."""
_COLOUR = re.compile(r"#(?:[0-9a-f]{3}|[0-9a-f]{6})", re.IGNORECASE)
_VARIABLE = re.compile(r"--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")

TEXT, SHAPE = 4.5, 3.0
"""The least contrast of text, and of shapes such as borders and lines: WCAG 2.2, AA."""
_TINTED = ("info", "success", "warning", "danger")
PAIRS = (
    *(("text", each, TEXT) for each in ("page", "side", "card", "sunken", "hover", "said", "tint")),
    *(("muted", each, TEXT) for each in ("page", "side", "card", "sunken", "hover", "tint")),
    *(("accent", each, TEXT) for each in ("page", "card", "tint")),
    ("on-accent", "accent", TEXT),
    ("on-danger", "danger", TEXT),
    *((front, f"{each}-tint", TEXT) for each in _TINTED for front in (each, "text")),
    *((each, "page", TEXT) for each in ("warning", "danger")),
    *((each, "card", TEXT) for each in ("success", "danger")),
    ("strong-line", "card", SHAPE),
    *((f"s{number}", "card", SHAPE) for number in range(1, 9)),
)
"""Colours that are seen on each other, with the least contrast."""


@dataclass(frozen=True, slots=True)
class Colour:
    light: str
    dark: str
    """Both as #rrggbb."""


def is_colour(text: str) -> bool:
    return bool(_COLOUR.fullmatch(text))


def palette() -> dict[str, Colour]:
    """The colours of the page, by the names of their variables."""
    found = _VARIABLE.findall(BASE.read_text("utf-8"))
    return {name: Colour(light, dark) for name, light, dark in found}


def faint(colours: Mapping[str, Colour]) -> Iterator[tuple[str, str, str]]:
    """The pairs whose contrast is too small: their names, and what is wrong."""
    for front, back, least in PAIRS:
        for look in ("light", "dark"):
            found = contrast(getattr(colours[front], look), getattr(colours[back], look))
            if found < least:
                missed = f"a contrast of {found:.2f} in the {look} look; it needs {least} or more"
                yield front, back, missed


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21: WCAG 2.2's ratio."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    digits = colour[1:]
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    red, green, blue = (_linear(int(digits[i : i + 2], 16) / 255) for i in (0, 2, 4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
