"""The frames of event streams: their numbers and what they say."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_ID = re.compile(rb"id: ([\w-]+):(\d+)\n")
_DATA = re.compile(rb"^data: (.*)$", re.MULTILINE)
DONE = b"[DONE]"


def place(frame: bytes) -> tuple[str, int] | None:
    """Run and number, of a frame that has them."""
    found = _ID.match(frame)
    return (found[1].decode(), int(found[2])) if found else None


def payload(frame: bytes) -> dict[str, Any] | None:
    """None for the bare word at the end."""
    found = _DATA.search(frame)
    if found is None or found[1] == DONE:
        return None
    value: dict[str, Any] = json.loads(found[1])
    return value


def payloads(frames: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    return (value for frame in frames if (value := payload(frame)))


def is_done(frame: bytes) -> bool:
    return frame.rstrip().endswith(b"data: " + DONE)


def tells_lost(frames: Sequence[bytes]) -> bool:
    """Whether the stream says that its cursor is lost."""
    return any(b'"cursor_lost"' in frame for frame in frames[-4:])


def shows_the_end(frames: Sequence[bytes]) -> bool:
    """Whether the stream has come to the end of its run."""
    return bool(frames) and is_done(frames[-1]) and not tells_lost(frames)


def last_number(frames: Sequence[bytes]) -> int:
    """0 if no frame has one."""
    return next((found[1] for frame in reversed(frames) if (found := place(frame))), 0)
