"""Payloads to the bytes of Server-Sent Events.

A frame is `data: <JSON on one line>` and a blank line. LF only, and never `event:`: one client
drops the stream on any name but `message`.
"""

from collections.abc import Mapping, Sequence
from json import JSONEncoder
from json.encoder import encode_basestring
from typing import Any

DONE = "[DONE]"
"""The payload of the last frame: a bare word, not JSON."""

quote = encode_basestring
"""A string as JSON: what `dumps` does with one, at a tenth of the cost."""

_encode = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def dumps(value: Any) -> str:
    """Compact JSON on one line.

    Leaves out what the clients' parsers take for prototype pollution, in a model's arguments or a
    tool's result: a key `__proto__`, and a `constructor` that is null or has a `prototype`. One
    client drops a chunk with such a key, the other the whole stream.

    Raises ValueError on NaN and infinities.
    """
    text = _encode(value)
    if '"__proto__"' in text or '"constructor"' in text:
        return _encode(_without_prototypes(value))
    return text


def frame(payloads: Sequence[str], event_id: str | None) -> bytes:
    """One frame a payload. The last carries the id: who has seen the id has seen them all."""
    if not payloads:
        return b""
    *ahead, last = payloads
    text = "".join([f"data: {payload}\n\n" for payload in ahead])
    if event_id is not None:
        text += f"id: {event_id}\n"
    # A lone surrogate has no UTF-8. Written `\ud800` it is a valid JSON escape, since it can only
    # stand inside a JSON string.
    return f"{text}data: {last}\n\n".encode("utf-8", "backslashreplace")


def _without_prototypes(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _without_prototypes(item)
            for key, item in value.items()
            if not _pollutes(key, item)
        }
    if isinstance(value, list | tuple):
        return [_without_prototypes(item) for item in value]
    return value


def _pollutes(key: str, value: Any) -> bool:
    if key == "constructor":
        return value is None or (isinstance(value, Mapping) and "prototype" in value)
    return key == "__proto__"
