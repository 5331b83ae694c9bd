"""Conversion of physical units, with pint: imported at the first one, for that takes as long as a
tenth of the server's start.

Unit expressions come from a model, so from anybody, and pint would calculate `9**9**9 meter`.
What reaches pint is a product of unit names with one-digit exponents, and short.
"""

import difflib
import math
import re
from functools import cache
from threading import Lock
from typing import Any

import pint
from langchain_core.tools import ToolException

MAX_CHARS = 60
MAX_MATCHES = 5
SIGNIFICANT_DIGITS = 12
"""Of a result: cuts off what the arithmetic of floats adds, as in 67.99999999999994."""

_LETTER = r"A-Za-z_\u00b5\u03bc\u03a9\u2126\u00c5\u212b"
_NAME = rf"(?:%|\u00b0[CF]?|(?!per\b)[{_LETTER}][{_LETTER}0-9]*+)"
_FACTOR = rf"{_NAME}(?:[\u00b2\u00b3]| ?(?:\^|\*\*) ?-?[1-9])?"
_TIMES = r"(?: ?[*/\u00b7] ?| per | )"
_PRODUCT = rf"{_FACTOR}(?:{_TIMES}{_FACTOR})*"
_GROUP = rf"(?:{_FACTOR}|\( ?{_PRODUCT} ?\))"
EXPRESSION = re.compile(rf"(?:1 ?/ ?)?{_GROUP}(?:{_TIMES}{_GROUP})*")
"""A product of powers of names; micro, ohm, degree and angstrom signs count as letters."""
_LONG_NAME = re.compile(r"[A-Z]\w{3,}")

USAGE = (
    'Write units as names or symbols with * / and ^, such as "km/h", "kWh", "m^2" or "degC" '
    f"(at most {MAX_CHARS} characters, no numbers)."
)

# RuntimeWarning: where numpy is installed, it takes the logarithm of a negative value to decibels.
CANNOT_CONVERT = (pint.PintError, OverflowError, ZeroDivisionError, ValueError, RuntimeWarning)

# pint makes no promise about threads, and sync tools run in threads.
_LOCK = Lock()


@cache
def _registry() -> pint.UnitRegistry[Any]:
    return pint.UnitRegistry()


@cache
def _names() -> tuple[str, ...]:
    return tuple(_registry())


def _unit(text: str) -> pint.Unit:
    """Raises ToolException for what pint does not know, with near matches."""
    source = " ".join(text[: MAX_CHARS + 1].split())
    if len(text) > MAX_CHARS or not EXPRESSION.fullmatch(source):
        raise ToolException(f"{text[:MAX_CHARS]!r} is not a unit. {USAGE}")
    try:
        return _parsed(source)
    except pint.UndefinedUnitError as error:
        raise ToolException(_unknown(error.unit_names)) from error
    except (pint.PintError, ValueError, TypeError) as error:
        raise ToolException(f"{source!r} cannot be read as a unit. {USAGE}") from error


def _parsed(source: str) -> pint.Unit:
    try:
        unit = _registry().parse_units(source)
    except pint.UndefinedUnitError:
        # Names are in small letters. Symbols are short, and differ by case: mW, MW.
        small = _LONG_NAME.sub(lambda match: match[0].lower(), source)
        unit = _registry().parse_units(small)
    _ = unit.dimensionality  # not every name has one: a decibel squared has none
    return unit


def _unknown(names: tuple[str, ...]) -> str:
    name = names[0]
    near = _other_case(name) or difflib.get_close_matches(
        name.lower(), _names(), n=MAX_MATCHES, cutoff=0.7
    )
    hint = f" Did you mean {' or '.join(near)}?" if near else f" {USAGE}"
    return f"The unit {name!r} is not known.{hint}"


def _other_case(name: str) -> list[str]:
    found = _registry().parse_unit_name(name, case_sensitive=False)
    return sorted({prefix + unit for prefix, unit, _ in found})[:MAX_MATCHES]


def convert(value: float, from_unit: str, to_unit: str) -> dict[str, Any]:
    """The quantity in the other unit. Raises ToolException with a sentence for the model."""
    with _LOCK:
        source, target = _unit(from_unit), _unit(to_unit)
        if source.dimensionality != target.dimensionality:
            raise ToolException(
                f"{source} ({source.dimensionality}) cannot be converted to "
                f"{target} ({target.dimensionality}): they measure different things."
            )
        try:
            quantity = float(value)  # a larger integer than a checkpoint holds may come in
            result = float(_registry().Quantity(quantity, source).to(target).magnitude)
        except CANNOT_CONVERT as error:
            raise ToolException(f"{source} cannot be converted to {target}.") from error
    if not (math.isfinite(quantity) and math.isfinite(result)):
        raise ToolException("The value or its conversion is not a finite number.")
    return {
        "value": quantity,
        "from_unit": str(source),
        "result": float(f"{result:.{SIGNIFICANT_DIGITS}g}"),
        "to_unit": str(target),
    }
