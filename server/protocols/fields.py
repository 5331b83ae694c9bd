"""Reading a body: values of one type, ids, and the sentence that says what is wrong with one.

Every function raises InvalidRequest. `where` names the value, as in `messages[2].parts`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from reprlib import Repr
from typing import Any

from turnstream.server.protocols.json_text import dumps
from turnstream.server.turns.requests import InvalidRequest

_THREAD_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_MESSAGE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HELD_MESSAGE_ID = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_MOST_NAMED = 3
MAX_ALT_CHARS = 1000
"""Of what an image shows."""

_repr = Repr()
_repr.maxstring = _repr.maxother = 60


@dataclass(frozen=True, slots=True)
class BodyLimits:
    max_message_chars: int
    """Of the text of a message, and of each other thing that a request adds, as JSON."""
    max_images: int = 10
    """Of one message."""
    max_image_bytes: int = 8_000_000
    """Of the `data:` URLs of one message's images, together."""


def shown(value: Any) -> str:
    return _repr.repr(value)


def string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InvalidRequest("invalid_body", f"{where} is {shown(value)}: send a string.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(
            "invalid_text",
            f"{where} has half a surrogate pair, in {shown(value)}: send whole characters.",
        ) from None
    return value


def mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidRequest("invalid_body", f"{where} is {shown(value)}: send a JSON object.")
    return value


def sequence(value: Any, where: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise InvalidRequest("invalid_body", f"{where} is {shown(value)}: send a JSON array.")
    return value


def flag(value: Any, where: str) -> bool:
    """Missing or null is false."""
    if value is not None and not isinstance(value, bool):
        raise InvalidRequest("invalid_body", f"{where} is {shown(value)}: send true or false.")
    return bool(value)


def only(body: Mapping[str, Any], allowed: Iterable[str], where: str) -> None:
    unknown = sorted(body.keys() - set(allowed))
    if unknown:
        named = ", ".join([shown(key) for key in unknown[:_MOST_NAMED]])
        more = ", ..." if len(unknown) > _MOST_NAMED else ""
        raise InvalidRequest(
            "unknown_key",
            f"{where} has the unknown {'key' if len(unknown) == 1 else 'keys'} {named}{more}: "
            f"the keys are {', '.join(allowed)}.",
        )


def plain_json(value: Any, where: str, limits: BodyLimits) -> Any:
    """The value itself, if it is JSON that can be stored and sent on."""
    try:
        text = dumps(value)
        text.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(
            "invalid_text", f"{where} has half a surrogate pair: send whole characters."
        ) from None
    except (ValueError, RecursionError):
        raise InvalidRequest(
            "invalid_json_value",
            f"{where} is not plain JSON (NaN, an infinity, or nested too deep): send JSON.",
        ) from None
    if len(text) > limits.max_message_chars:
        raise InvalidRequest(
            "value_too_long",
            f"{where} has {len(text)} characters as JSON: send at most {limits.max_message_chars}.",
        )
    return value


def thread_id(value: Any) -> str:
    if not isinstance(value, str) or not _THREAD_ID.fullmatch(value):
        raise InvalidRequest(
            "invalid_thread_id",
            f"The thread's id is {shown(value)}: use 1 to 128 of A-Z, a-z, 0-9, _ and -, "
            "or leave it out for a new thread.",
        )
    return value


def message_id(value: Any, where: str) -> str:
    """The id that a client gives a new message: without a dot, as the server's own have one."""
    if not isinstance(value, str) or not _MESSAGE_ID.fullmatch(value):
        raise InvalidRequest(
            "invalid_message_id",
            f"{where} is {shown(value)}: a message's id has 1 to 64 of A-Z, a-z, 0-9, _ and -.",
        )
    return value


def held_message_id(value: Any, where: str) -> str:
    """The id of a message that the thread is to hold, whoever gave it."""
    if not isinstance(value, str) or not _HELD_MESSAGE_ID.fullmatch(value):
        raise InvalidRequest(
            "invalid_message_id",
            f"{where} is {shown(value)}: send the id of a message of the thread.",
        )
    return value
