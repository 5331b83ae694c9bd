"""The size of JSON, before it is read or written: reading and writing cannot be interrupted."""

from collections.abc import Mapping
from typing import Any


class ValueCount:
    """About how many values JSON text has, counted as it comes; what stands in strings is none."""

    def __init__(self) -> None:
        self.count = 1
        self._in_string = False
        self._rest = b""
        """A backslash at the end, whose character is still to come."""

    def feed(self, text: bytes) -> None:
        plain = (self._rest + text).replace(b"\\\\", b"").replace(b'\\"', b"")
        self._rest = plain[-1:] if plain.endswith(b"\\") else b""
        pieces = plain.split(b'"')
        outside = b"".join(pieces[int(self._in_string) :: 2])
        self.count += sum(map(outside.count, (b",", b":", b"[", b"{")))
        self._in_string ^= len(pieces) % 2 == 0


def has_more_values(text: bytes, limit: int) -> bool:
    """Check that JSON text has more values than that."""
    if len(text) <= limit:  # each takes a byte or more
        return False
    count = ValueCount()
    count.feed(text)
    return count.count > limit


def is_larger(value: Any, max_chars: int, max_values: int) -> bool:
    """Check that a JSON value has more text or more values than that; it is not walked further."""
    chars, values, waiting = 0, 0, [value]
    while waiting:
        item = waiting.pop()
        values += 1
        if isinstance(item, str):
            chars += len(item)
        elif isinstance(item, Mapping):
            chars += sum(len(name) for name in item if isinstance(name, str))
            values += len(item)
        if isinstance(item, Mapping | list | tuple):
            if values + len(waiting) + len(item) > max_values:
                return True
            waiting += item.values() if isinstance(item, Mapping) else item
        if chars > max_chars:
            return True
    return False
