"""Texts about the app around the chat, which front ends bring for the model.

AG-UI has them in `context` and in messages of the roles `system` and `developer`, assistant-ui in
the key `system` of its bodies. They have other shapes than these at times, and are read leniently.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from turnstream.server.formats.fields import BodyLimits
from turnstream.server.formats.json_text import dumps
from turnstream.server.turns.requests import AppContext

MAX_BYTES = 8_000
"""Bytes of the texts of one request, as UTF-8. What is beyond them is left out."""
ROLES = ("system", "developer")
BEYOND = f"context:beyond-{MAX_BYTES}-bytes"


def of_context(given: Any) -> Iterator[AppContext]:
    """Yield the entries of AG-UI's `context`: `[{"description", "value"}]`."""
    for entry in given if isinstance(given, list) else ():
        if isinstance(entry, dict) and (value := _text(entry.get("value"))):
            yield AppContext(_text(entry.get("description")), value)


def of_messages(given: Any) -> Iterator[AppContext]:
    """Yield the texts of messages that are an app's, not the user's."""
    for message in given if isinstance(given, list) else ():
        if isinstance(message, dict) and message.get("role") in ROLES:
            said = message.get("content") or message.get("parts")
            parts = said if isinstance(said, list) else [{"text": said}]
            texts = (one.get("text") for one in parts if isinstance(one, dict))
            if text := "\n".join(one for one in texts if isinstance(one, str)):
                yield AppContext("", text)


def of_text(given: Any) -> Iterator[AppContext]:
    if given and isinstance(given, str):
        yield AppContext("", given)


def taken(
    found: Iterable[AppContext], limits: BodyLimits
) -> tuple[tuple[AppContext, ...], Sequence[str]]:
    """Return the texts that the run gets, and the names of what has no effect."""
    entries = [*dict.fromkeys(AppContext(*map(_whole, (e.description, e.value))) for e in found)]
    if not entries or not limits.takes_app_context:
        return (), ["context"] if entries else []
    kept: list[AppContext] = []
    room = MAX_BYTES
    for entry in entries:
        description = _within(room, entry.description)
        value = _within(room - _size(description), entry.value)
        if not value:
            break
        kept.append(AppContext(description, value))
        room -= _size(description) + _size(value)
    return tuple(kept), [] if kept == entries else [BEYOND]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else dumps(value)


def _whole(text: str) -> str:
    """Return a text without half characters, which nobody could store."""
    return text[: MAX_BYTES + 1].encode(errors="replace").decode()


def _size(text: str) -> int:
    return len(text.encode())


def _within(room: int, text: str) -> str:
    """Return as much of a text as fits."""
    return text[:room].encode()[:room].decode(errors="ignore")
