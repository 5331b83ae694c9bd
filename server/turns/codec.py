"""A log's items as JSON and back: a header or a chunk, one object each.

    {"type": "TextDelta", "step_id": "run-1", "path": [0], "text": "Hello"}

`type` is the name of the dataclass, the other keys are its fields. Tuples become arrays; nested
dataclasses are objects of the same form.

Workers of several versions read each other's logs while they are replaced. An older worker passes
over an unknown kind of chunk, and ignores an unknown field of a kind that it knows. It cannot read
an unknown kind of part: its readers come to the end of that log, and load the thread.

Versions, by `RunHeader.version`:

    1   a chunk of a part has no `step_id`, and `PartStart` no `path`: a part begins in the step
        that it names, or in the one that started last
    2   every chunk of a step names it, and every chunk of a part names that
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args

from turnstream.server.turns.chunks import (
    Approval,
    ArgsFinish,
    Chunk,
    FilePart,
    PartFinish,
    PartStart,
    ReasoningPart,
    Result,
    SourcePart,
    StepFinish,
    StepStart,
    TextDelta,
    TextPart,
    Timing,
    ToolCallPart,
    Usage,
)
from turnstream.server.turns.header import LOG_VERSION, RunHeader, ThreadKey

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
        *(FilePart, SourcePart),
    )
}
_FIELDS: Mapping[type, tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind)) for kind in _TYPES.values()
}
_OF_A_STEP = frozenset(
    kind.__name__ for kind in (PartStart, TextDelta, ArgsFinish, Result, PartFinish, StepFinish)
)
_NESTED = frozenset({"key", "part", "usage", "timing", "approval", "chunk"})
"""Fields that hold a dataclass. The others hold JSON, which may have a key `type` of its own."""
_TUPLES = frozenset(
    {
        "path",
        "parts",
        "ids",
        "namespace",
        "tool_call_ids",
        "interrupt_ids",
        "step_ids",
        "call_ids",
        "writes",
    }
)


def to_json(item: LogItem) -> dict[str, Any]:
    """The item as JSON data; it shares what it can with the item."""
    return _object(item)


def from_json(value: Mapping[str, Any]) -> LogItem:
    """The item of a JSON object. Raises ValueError if the object is not one of ours."""
    item = _item(value)
    if not isinstance(item, LogItem):
        raise ValueError(f"{value.get('type')!r} is not an item of a log")
    return item


class LogDecoder:
    """Decode the items of one log, in order, whatever version of a worker wrote each: a log that
    one worker began another may go on with. `version` is that of the worker that began it."""

    def __init__(self) -> None:
        self.version = LOG_VERSION
        self._newest = ""
        """The id of the step that started last."""
        self._steps: list[str] = []
        """The id of each part's step, by the part's number in the run."""

    def decode(self, value: Any) -> LogItem | Unknown:
        """Decode an item. Raises ValueError if it has no type, or does not fit its type."""
        kind = value.get("type") if isinstance(value, Mapping) else None
        if isinstance(kind, str) and kind not in _TYPES:
            return Unknown(kind)
        if kind == "RunHeader":
            value = {"version": 1, **value}
        elif kind in _OF_A_STEP:
            value = self._completed(kind, value)
        item = from_json(value)
        match item:
            case RunHeader():
                self.version = item.version
            case StepStart():
                self._newest = item.step_id
            case PartStart():
                self._steps.append(item.step_id)
        return item

    def _completed(self, kind: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
        """The value with what a worker of version 1 left out."""
        if value.get("step_id") is not None and "path" in value:
            return value
        if kind == "PartStart":
            missing = {"step_id": self._newest, "path": [len(self._steps)]}
        elif kind == "StepFinish":
            missing = {"step_id": self._newest}
        else:
            missing = {"step_id": self._step_of(value.get("path"))}
        return {**value, **{k: v for k, v in missing.items() if value.get(k) is None}}

    def _step_of(self, path: Any) -> str:
        try:
            (number,) = path
            step_id: str = self._steps[number]
        except (TypeError, ValueError, IndexError):
            raise ValueError("a chunk of a part that has not started") from None
        return step_id


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
