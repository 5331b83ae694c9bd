"""Questions that a tool's server asks a person in the middle of a call, and the answers they take.

{"type": "elicitation", "mode": "form", "server", "tool", "tool_call_id", "message",
 "requested_schema"}
{"type": "elicitation", "mode": "url", "server", "tool", "tool_call_id", "message", "url"}

{"action": "accept", "content"?} | {"action": "decline"} | {"action": "cancel"}
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from turnstream.tools.json_size import is_larger
from turnstream.tools.schemas import SchemaFault, ToolSchema, accept, misfit

TYPE = "elicitation"
ACCEPT: Final = "accept"
DECLINE: Final = "decline"
CANCEL: Final = "cancel"
MAX_FIELDS = 40
MAX_CHARS, MAX_VALUES = 20_000, 2_000
"""Characters and values of a message and its schema together."""
MAX_URL_CHARS = 4_000
_PLAIN = ("string", "number", "integer", "boolean")
_CANCELLED = {"cancelled": True}
"""An interrupt that a client of AG-UI cancels."""


class CannotBeAsked(Exception):
    """A question that no client is shown; the message says why, for whoever runs the server."""


def form(message: str, schema: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The question of a form, and the schema of its answer. Raises CannotBeAsked."""
    if is_larger([message, schema], MAX_CHARS, MAX_VALUES):
        raise CannotBeAsked(f"it has more than {MAX_CHARS} characters or {MAX_VALUES} values")
    try:
        accept(schema)
    except SchemaFault as error:
        raise CannotBeAsked(f"its schema cannot be used: {error}") from None
    fields = schema.get("properties", {})
    if len(fields) > MAX_FIELDS:
        raise CannotBeAsked(f"it has more than {MAX_FIELDS} fields")
    for name, field in fields.items():
        if not _is_field(field):
            raise CannotBeAsked(f"its field {name[:60]!r} is neither plain nor a choice")
    asked = {"type": TYPE, "mode": "form", "message": message, "requested_schema": dict(schema)}
    return asked, _answers({"additionalProperties": False, **schema})


def address(message: str, url: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The question whether somebody has opened an address, and the schema of its answer. Raises
    CannotBeAsked."""
    if len(message) > MAX_CHARS or len(url) > MAX_URL_CHARS:
        raise CannotBeAsked(f"it has more than {MAX_CHARS} characters, or {MAX_URL_CHARS} of a url")
    if not _is_web_address(url):
        raise CannotBeAsked("its url is not a plain address of http or https")
    return {"type": TYPE, "mode": "url", "message": message, "url": url}, _answers(None)


def _answers(content: Mapping[str, Any] | None) -> dict[str, Any]:
    """The schema of an answer."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"action": {"type": "string", "enum": [ACCEPT, DECLINE, CANCEL]}},
        "required": ["action"],
        "additionalProperties": False,
    }
    if content is not None:
        schema["properties"]["content"] = content
        schema["if"] = {"properties": {"action": {"const": ACCEPT}}}
        schema["then"] = {"required": ["content"]}
    return schema


def _is_field(field: Any) -> bool:
    match field:
        case {"type": "array", "items": {"type": "string", "enum": [*_]} | {"anyOf": [*_]}}:
            return True
        case {"type": str(kind)}:
            return kind in _PLAIN and "properties" not in field
        case {"enum": [*_]}:
            return True
    return False


def _is_web_address(url: str) -> bool:
    if not (url.isascii() and url.isprintable() and " " not in url):
        return False
    try:
        parts = urlsplit(url)
        has_user = parts.username is not None or parts.password is not None
        return parts.scheme in ("http", "https") and bool(parts.hostname) and not has_user
    except ValueError:
        return False


def is_question(value: Any, schema: Any) -> bool:
    """Tell such a question from other interrupts."""
    return isinstance(value, dict) and value.get("type") == TYPE and isinstance(schema, dict)


def checked(schema: Mapping[str, Any], answer: Any) -> dict[str, Any]:
    """The answer to a question. Raises ValueError with a sentence that says where it does not fit.

    Content of an answer that accepts nothing is dropped."""
    if answer == _CANCELLED:
        return {"action": CANCEL}
    if isinstance(answer, dict) and answer.get("action") in (DECLINE, CANCEL):
        return {"action": answer["action"]}
    problem = misfit(ToolSchema(schema), answer) or _misformat(schema, answer)
    if problem:
        raise ValueError(problem)
    return dict(answer)


def _misformat(schema: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """JSON Schema itself leaves formats unchecked."""
    fields = schema["properties"].get("content", {}).get("properties", {})
    for name, value in answer.get("content", {}).items():
        kind = fields.get(name, {}).get("format")
        is_format = _FORMATS.get(kind) if isinstance(kind, str) else None
        if is_format and isinstance(value, str) and not is_format(value):
            return f"$.content.{name[:60]}: the text is no {kind}."
    return None


def _reads(read: Callable[[str], Any]) -> Callable[[str], bool]:
    def is_read(text: str) -> bool:
        try:
            return bool(read(text))
        except ValueError:
            return False

    return is_read


def _is_email(text: str) -> bool:
    name, at, host = text.rpartition("@")
    return bool(name and at and host) and not any(map(str.isspace, text))


_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date": _reads(date.fromisoformat),
    "date-time": _reads(datetime.fromisoformat),
    "email": _is_email,
    "uri": _reads(lambda text: urlsplit(text).scheme and " " not in text),
}
