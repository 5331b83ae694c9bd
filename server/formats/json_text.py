"""JSON as the clients of every wire format accept it."""

from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any

from turnstream.tools.strict_json import write

DONE = "[DONE]"
"""The payload with which formats of this family end: a bare word, not JSON."""

quote = encode_basestring
"""A string as JSON: what `dumps` does with one, at a tenth of the cost."""


def dumps(value: Any) -> str:
    """Compact JSON on one line.

    Leaves out what the clients' parsers take for prototype pollution, in a model's arguments or a
    tool's result: a key `__proto__`, and a `constructor` that is null or has a `prototype`. One
    client drops a chunk with such a key, the other the whole stream.

    Raises ValueError on NaN and infinities.
    """
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
