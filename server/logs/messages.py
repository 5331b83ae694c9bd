"""The message of a log record: no content of users, models or tools, and no forged lines.

Our own messages are written out, since their values are ids, counts and names. Of a library's
message only its text without the values is: `Retrying after %s` is logged as `Retrying after ...`.
A text that a library has put together beforehand is withheld: it may hold anything.

uvicorn is quoted with its values, which are addresses, paths and numbers, but for what it has put
together at another level than INFO: as an ERROR it passes on whole tracebacks.
"""

import logging
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

from turnstream.tools import strict_json

OURS = "turnstream"
"""The loggers under this name are trusted with what they say."""

_PLACEHOLDER = re.compile(r"%(?:\(\w++\))?+[-#0 +]*+(?:\*|\d++)?+(?:\.(?:\*|\d++))?+[a-zA-Z]")


@dataclass(frozen=True, slots=True)
class Event:
    """A message that consists of fields: one JSON object in a text log."""

    name: str
    """The event, as the message of a JSON log."""
    fields: Mapping[str, Any]

    def __str__(self) -> str:
        return strict_json.write(self.fields)


def escape(text: str) -> str:
    """Text on one line, with everything that steers a terminal or is invisible written out."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def is_ours(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] == OURS


def _is_uvicorns_own(record: logging.LogRecord) -> bool:
    level = record.levelno
    shown = level == logging.INFO or (level > logging.INFO and _is_literal(record))
    return shown and record.name.partition(".")[0] == "uvicorn"


def _is_literal(record: logging.LogRecord) -> bool:
    """Check that the message stands, without its values, in the code that logs it."""
    return isinstance(record.msg, str) and record.msg in _literals(record.pathname)


def message(record: logging.LogRecord) -> str:
    """The message on one line, as far as it may be logged."""
    shows_values = is_ours(record) or _is_uvicorns_own(record)
    text = _written_out(record) if shows_values else _without_values(record)
    return escape(text.strip())


def name(record: logging.LogRecord) -> str:
    """The message beside the record's fields."""
    return record.msg.name if isinstance(record.msg, Event) else message(record)


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """The named values of a message of ours: an event's, or those of `logger.info(text, {...})`."""
    if not is_ours(record):
        return {}
    if isinstance(record.msg, Event):
        return {key: _plain(value) for key, value in record.msg.fields.items()}
    named = record.args if isinstance(record.args, Mapping) else {}
    return {str(key): _plain(value) for key, value in _safe(named).items()}


def _plain(value: object) -> object:
    """The value as JSON has it; an event's fields may be objects."""
    return value if isinstance(value, int | float | dict | None) else escape(str(value))


def _written_out(record: logging.LogRecord) -> str:
    args = record.args
    if not args:
        return str(record.msg)
    safe = _safe(args) if isinstance(args, Mapping) else tuple(map(_safe_value, args))
    try:
        return str(record.msg) % safe
    except (TypeError, ValueError, KeyError):
        return _without_values(record)


def _safe(named: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _safe_value(value) for key, value in named.items()}


def _safe_value(value: object) -> object:
    """Log an exception as its `log_text`, or else its type: its text may be private."""
    if not isinstance(value, BaseException):
        return value
    text = getattr(value, "log_text", None)
    return text if isinstance(text, str) else type(value).__name__


def _without_values(record: logging.LogRecord) -> str:
    if _is_literal(record):
        return _PLACEHOLDER.sub("...", str(record.msg)).replace("%%", "%")
    return f"a message with values, withheld (line {record.lineno} of {record.module})"


@lru_cache(maxsize=64)
def _literals(path: str) -> frozenset[str]:
    """The strings that stand in a source file; none if it cannot be read."""
    try:
        with tokenize.open(path) as file:
            return frozenset(_strings(compile(file.read(), path, "exec", dont_inherit=True)))
    except (OSError, SyntaxError, ValueError):
        return frozenset()


def _strings(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _strings(constant)
