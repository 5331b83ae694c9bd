"""What a body changes of a thread."""

from typing import Any

from turnstream.server.protocols import allowed_tools
from turnstream.server.protocols.fields import mapping, only, shown
from turnstream.server.storage.titles import one_line
from turnstream.server.turns.requests import InvalidRequest

MAX_TITLE_CHARS = 200
_KEYS = ("title", "allowed_tools", "pinned", "archived")


def changes_of(body: Any) -> dict[str, Any]:
    """Checked. Raises InvalidRequest."""
    given = mapping(body, "The body")
    only(given, _KEYS, "The body")
    if not given:
        raise InvalidRequest(
            "invalid_body", f"The body changes nothing: send one or more of {', '.join(_KEYS)}."
        )
    changes: dict[str, Any] = {}
    for name in ("pinned", "archived"):
        if name in given:
            changes[name] = _flag(name, given[name])
    if "title" in given:
        changes["title"] = _title(given["title"])
    if "allowed_tools" in given:
        changes["allowed_tools"] = allowed_tools(given)
    return changes


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidRequest("invalid_body", f"{name} is {shown(value)}: send true or false.")
    return value


def _title(title: Any) -> str:
    if not isinstance(title, str) or not 1 <= len(title.strip()) <= MAX_TITLE_CHARS:
        raise InvalidRequest(
            "invalid_title", f'Send {{"title": "..."}} of 1 to {MAX_TITLE_CHARS} characters.'
        )
    try:
        title.encode()
    except UnicodeEncodeError:
        raise InvalidRequest("invalid_title", "The title is not valid Unicode.") from None
    line = one_line(title)
    if not line:
        raise InvalidRequest("invalid_title", "The title has no character that can be seen.")
    return line
