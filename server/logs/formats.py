"""Log records as lines: text for people, JSON for collectors."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal

from turnstream.server.logs.exceptions import Description, describe
from turnstream.server.logs.messages import escape, fields, message, name

LogFormat = Literal["text", "json"]

_CODES = ("status", "code", "storage", "sqlstate", "errno", "sqlite")


class TextFormat(logging.Formatter):
    """`LEVEL: message`, of one of several workers `LEVEL [worker]: message`.

    An exception follows on indented lines, so no line of it looks like a record.
    """

    def format(self, record: logging.LogRecord) -> str:
        level = f"{record.levelname} [{_worker}]" if _worker else record.levelname
        lines = [f"{level}: {message(record)}"]
        error = _exception(record)
        if error is not None:
            lines += _lines(describe(error), "  ")
        return "\n".join(lines)


class JsonFormat(logging.Formatter):
    """One object a line: `{"time", "level", "logger", "worker"?, "message", ..., "exception"?}`.

    The dots are the message's named values. An error's id stands in `exception`.
    """

    def format(self, record: logging.LogRecord) -> str:
        named, error = fields(record), _exception(record)
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": escape(record.name),
            **({"worker": _worker} if _worker else {}),
            "message": name(record),
        }
        if error is not None:
            error_id = {"error_id": named.pop("error_id")} if "error_id" in named else {}
            entry["exception"] = describe(error) | error_id
        return json.dumps(entry | named | entry)  # no value takes the place of what is always there


_worker: str | None = None


@contextmanager
def worker_named(worker: str | None) -> Iterator[None]:
    """Name this worker in every line, as the database does. None: there are no workers."""
    global _worker  # noqa: PLW0603  the log is the process's
    _worker = worker
    try:
        yield
    finally:
        _worker = None


FORMATS: dict[LogFormat, type[logging.Formatter]] = {"text": TextFormat, "json": JsonFormat}


def _exception(record: logging.LogRecord) -> BaseException | None:
    return record.exc_info[1] if record.exc_info else None


def _lines(described: Description, indent: str) -> Iterator[str]:
    codes = ", ".join(f"{code} {described[code]}" for code in _CODES if code in described)
    yield f"{indent}{described['type']}" + (f" ({codes})" if codes else "")
    if "frames_omitted" in described:
        yield f"{indent}  ... {described['frames_omitted']} more calls"
    for frame in described["frames"]:
        yield f"{indent}  at {frame}"
    for member in described.get("exceptions", ()):
        yield f"{indent}  one of the group:"
        yield from _lines(member, indent + "    ")
    if "cause" in described:
        yield f"{indent}caused by:"
        yield from _lines(described["cause"], indent)
