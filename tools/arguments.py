"""Arguments of UI tools: strict JSON, and one sentence about what is wrong with it.

Strict means as JSON Schema means it: nothing is converted, `true` is not a number, null is not
the same as absent, an integer may be written 2.0.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

MAX_FAULTS = 3
MAX_SHOWN = 60
MAX_INT = 2**63 - 1
"""The largest integer that a checkpoint (msgpack) is sure to hold."""

SURROGATE = re.compile(r"[\ud800-\udfff]")

JSON_TYPES: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "number": ("a number", (int, float)),
    "integer": ("a whole number", (int,)),
    "string": ("a string", (str,)),
    "boolean": ("true or false", (bool,)),
    "null": ("null", (type(None),)),
}
"""Types of JSON Schema: their words, and the types of Python."""


class Arguments(BaseModel):
    """Arguments that a model may write. A field with a default may be absent."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def typed(
    *names: str, limits: tuple[float | None, float | None] = (None, None)
) -> Callable[[Any], Any]:
    """Return a check that a value has one of these types of JSON Schema, and a number is within
    the limits, where there are any."""
    kinds = {kind for name in names for kind in JSON_TYPES[name][1]}
    said = f"should be {' or '.join(JSON_TYPES[name][0] for name in names)}"
    least, most = limits
    said += f", at least {least}" if least is not None else ""
    said += f", at most {most}" if most is not None else ""
    low = -math.inf if least is None else least
    high = math.inf if most is None else most

    def check(value: Any) -> Any:
        plain = _whole(value) if "integer" in names else value
        if type(plain) not in kinds:
            raise PydanticCustomError("json_type", "{said}", {"said": said})
        if limits != (None, None) and isinstance(plain, int | float) and not low <= plain <= high:
            raise PydanticCustomError("json_range", "{said}", {"said": said})
        return value

    return check


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Integer: TypeAlias = Annotated[int, BeforeValidator(_whole)]

A = TypeVar("A", bound=Arguments)


def parse(kind: type[A], value: Any, at: str = "") -> A:
    """The arguments as `kind`; `at` names their place. Raises ValueError with one sentence."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise ValueError(sentence(error, at)) from None


def shorten(text: str) -> str:
    """Return as much of a text that the model wrote as an error should repeat, in valid Unicode."""
    shown = text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."
    return shown.encode(errors="replace").decode()


def unstorable(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[str]:
    """Says where something is that Python reads from JSON and cannot write: NaN, 2**70, half a
    surrogate pair."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from unstorable(key, at)
            yield from unstorable(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from unstorable(item, (*at, index))
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{_place(at)}: should be a finite number"
    elif isinstance(value, int) and abs(value) > MAX_INT:
        yield f"{_place(at)}: is too big for an integer"
    elif isinstance(value, str) and SURROGATE.search(value):
        yield f"{_place(at)}: should be valid Unicode"


def _place(location: Sequence[str | int]) -> str:
    return shorten(".".join(shorten(str(step)) for step in location))


def sentence(error: ValidationError, at: str = "") -> str:
    """The first faults of the arguments at a place, as one sentence."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    places = [_place((at, *fault["loc"]) if at else fault["loc"]) for fault in faults]
    said = [f"{place}: {fault['msg']}" for place, fault in zip(places, faults, strict=True)]
    return listed(said)


def listed(faults: Sequence[str]) -> str:
    """The first few faults as one sentence."""
    more = len(faults) - MAX_FAULTS
    return "; ".join(faults[:MAX_FAULTS]) + (f"; and {more} more" if more > 0 else "") + "."
