"""A log's items as JSON and back: a header or a chunk, one object each.

    {"type": "TextDelta", "path": [0], "text": "Hello"}

`type` is the name of the dataclass, the other keys are its fields. Tuples become arrays; nested
dataclasses are objects of the same form.

Workers of several versions read each other's logs while they are replaced. An older worker passes
over an unknown kind of chunk, and ignores an unknown field of a kind that it knows. It cannot read
an unknown kind of part: its readers come to the end of that log, and load the thread.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args

from turnstream.server.turns.chunks import (
    Approval,
    Chunk,
    ReasoningPart,
    TextPart,
    Timing,
    ToolCallPart,
    Usage,
)
from turnstream.server.turns.header import RunHeader, ThreadKey

LogItem = RunHeader | Chunk


@dataclass(frozen=True, slots=True)
class Unknown:
    """In the place of a chunk of a kind that only a newer version has: it keeps the number, and
    makes no event."""

    kind: str


_TYPES: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        *get_args(Chunk),
        *(RunHeader, ThreadKey, TextPart, ReasoningPart, ToolCallPart, Usage, Timing, Approval),
    )
}
_FIELDS: Mapping[type, tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind)) for kind in _TYPES.values()
}
_NESTED = frozenset({"key", "part", "usage", "timing", "approval"})
"""Fields that hold a dataclass. The others hold JSON, which may have a key `type` of its own."""
_TUPLES = frozenset({"path", "parts", "ids", "namespace", "tool_call_ids"})


def to_json(item: LogItem) -> dict[str, Any]:
    """The item as JSON data; it shares what it can with the item."""
    return _object(item)


def from_json(value: Mapping[str, Any]) -> LogItem:
    """The item of a JSON object. Raises ValueError if the object is not one of ours."""
    item = _item(value)
    if not isinstance(item, LogItem):
        raise ValueError(f"{value.get('type')!r} is not an item of a log")
    return item


def read_item(value: Any) -> LogItem | Unknown:
    """The same, of a log that a newer version may have written. Raises ValueError if it is not to
    be passed over: it is of a kind that is known here, or of none."""
    kind = value.get("type") if isinstance(value, Mapping) else None
    if isinstance(kind, str) and kind not in _TYPES:
        return Unknown(kind)
    return from_json(value)


def _object(item: Any) -> dict[str, Any]:
    kind = type(item)
    values = ((name, getattr(item, name)) for name in _FIELDS[kind])
    return {
        "type": kind.__name__,
        **{name: _object(value) if type(value) in _FIELDS else value for name, value in values},
    }


def _item(value: Any) -> Any:
    name = value.get("type") if isinstance(value, Mapping) else value
    kind = _TYPES.get(str(name))
    if kind is None or not isinstance(value, Mapping):
        raise ValueError(f"{str(name)[:100]!r} is not a type of this vocabulary")
    try:
        known = (name for name in _FIELDS[kind] if name in value)
        return kind(**{name: _field(name, value[name]) for name in known})
    except TypeError as error:
        raise ValueError(f"{kind.__name__}: {error}") from None


def _field(name: str, value: Any) -> Any:
    if name in _TUPLES:
        return tuple(value)
    return _item(value) if name in _NESTED and value is not None else value
