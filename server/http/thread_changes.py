"""What a body changes of a thread."""

from typing import Any

from server.protocols import allowed_tools
from server.turns.requests import InvalidRequest

MAX_TITLE_CHARS = 200
_NAMES = frozenset({"title", "allowed_tools", "pinned", "archived"})


def changes_of(body: Any) -> dict[str, Any]:
    """Checked. Raises InvalidRequest."""
    if not isinstance(body, dict) or not body or not body.keys() <= _NAMES:
        raise InvalidRequest(
            "invalid_title",
            f'Send {{"title": "..."}} of 1 to {MAX_TITLE_CHARS} characters, {{"allowed_tools": '
            '[name, ...]} (null: all), {"pinned": true} or {"archived": true}, or several of them.',
        )
    changes: dict[str, Any] = {}
    for name in ("pinned", "archived"):
        if name in body:
            changes[name] = _flag(name, body[name])
    if "title" in body:
        changes["title"] = _title(body["title"])
    if "allowed_tools" in body:
        changes["allowed_tools"] = allowed_tools(body)
    return changes


def _flag(name: str, given: Any) -> bool:
    if not isinstance(given, bool):
        raise InvalidRequest("invalid_body", f"{name} has to be true or false.")
    return given


def _title(title: Any) -> str:
    if not isinstance(title, str) or not 1 <= len(title.strip()) <= MAX_TITLE_CHARS:
        raise InvalidRequest(
            "invalid_title", f'Send {{"title": "..."}} of 1 to {MAX_TITLE_CHARS} characters.'
        )
    try:
        title.encode()
    except UnicodeEncodeError:
        raise InvalidRequest("invalid_title", "The title is not valid Unicode.") from None
    return " ".join(title.split())
