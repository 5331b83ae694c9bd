"""JSON as RFC 8259 defines it, and as a checkpoint can hold it.

Python's `json` accepts NaN and infinities and raises RecursionError on deep nesting; the functions
here raise ValueError. Two are lenient on purpose: `text_of` writes NaN, so that a strict reader
refuses the text, and `write` lets lone surrogates pass, which the wire escapes.
"""

import json
import re
from collections.abc import Callable, Mapping
from json import JSONDecoder, JSONEncoder
from math import inf
from typing import Any, NoReturn

MAX_DEPTH = 100
"""Levels of nesting that a stored value may have; a checkpoint (msgpack) holds about 250."""

MAX_DIGITS = 400
"""Of an integer: Python takes the square of their number to read it. A float has up to 309."""


class TooDeepError(ValueError):
    """A value with more levels than Python can walk."""

    def __init__(self) -> None:
        super().__init__("it is nested too deep")


_SURROGATE = re.compile("[\ud800-\udfff]")
_encode = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_encode_spaced = JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError("it has a number of too many digits")
    return int(digits)


def _storable_int(digits: str) -> int | float:
    if len(digits) > MAX_DIGITS:  # beyond a float too
        return inf
    value = int(digits)
    return value if -(2**63) <= value < 2**64 else float(digits)


_STRICT = JSONDecoder(parse_constant=_refuse_constant, parse_int=_int)
_STORABLE = JSONDecoder(parse_int=_storable_int)


def write(value: Any) -> str:
    """Compact JSON on one line. Raises ValueError if the value is not JSON."""
    return _written(value, _encode)


def write_for_browsers(value: Any) -> str:
    """Compact JSON on one line, without what the clients' parsers take for prototype pollution: a
    key `__proto__`, and a `constructor` that is null or has a `prototype`. One client drops a chunk
    with such a key, another the whole stream, a third one a patch. Raises ValueError if the value
    is not JSON."""
    text = write(value)
    if '"__proto__"' in text or '"constructor"' in text:
        return write(_without_prototypes(value))
    return text


def _without_prototypes(value: Any) -> Any:
    if isinstance(value, Mapping):
        left = {key: item for key, item in value.items() if not _pollutes(key, item)}
        return {key: _without_prototypes(item) for key, item in left.items()}
    if isinstance(value, list | tuple):
        return [_without_prototypes(item) for item in value]
    return value


def _pollutes(key: str, value: Any) -> bool:
    if key == "constructor":
        return value is None or (isinstance(value, Mapping) and "prototype" in value)
    return key == "__proto__"


def write_spaced(value: Any) -> str:
    """JSON on one line with blanks behind its commas and colons, as models are given it."""
    return _written(value, _encode_spaced)


def _written(value: Any, encode: Callable[[Any], str]) -> str:
    try:
        return encode(value)
    except RecursionError:
        raise TooDeepError from None
    except TypeError as error:
        raise ValueError(str(error)) from None


def read(text: str | bytes, *, constant: Callable[[str], Any] | None = None) -> Any:
    """The value of a JSON text; `constant` is called with `NaN`, `Infinity` and `-Infinity`.

    Raises ValueError if the text is not JSON; bytes must be UTF-8.
    """
    decoder = JSONDecoder(parse_constant=constant, parse_int=_int) if constant else _STRICT
    try:
        return decoder.decode(text if isinstance(text, str) else text.decode("utf-8"))
    except RecursionError:
        raise TooDeepError from None


def read_object(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object that the text is; None if it is anything else."""
    try:
        value = read(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def read_storable(text: str) -> Any:
    """The value of a JSON text as a checkpoint can hold it: an integer of more than 64 bits becomes
    a float.

    Raises ValueError if the text is not JSON, has lone surrogates, a number that no float reaches,
    or more than MAX_DEPTH levels.
    """
    try:
        value = _STORABLE.decode(text)
        _encode(value).encode()
    except RecursionError:
        raise TooDeepError from None
    if _is_deep(value):
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
    return value


def read_storable_object(text: str) -> dict[str, Any] | None:
    """The JSON object that the text is, storable; None if it is anything else."""
    try:
        value = read_storable(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def copy(value: Any) -> Any:
    """The value as plain JSON data that shares nothing with it. Raises ValueError if it is not
    JSON."""
    return json.loads(write(value))


def text_of(value: Any) -> str:
    """The JSON text of arguments that a model gave. NaN is written as NaN, so that a strict reader
    refuses the text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def clean_text(text: str) -> str:
    """Text without lone surrogates, which neither UTF-8 nor the thread's storage can hold."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _is_deep(value: Any) -> bool:
    layer = [value]
    for _ in range(MAX_DEPTH + 1):
        layer = [
            item
            for outer in layer
            if isinstance(outer, dict | list)
            for item in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not layer:
            return False
    return True
