"""Messages one by one: role, keys, content. Each rule trusts those before it in the table."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.support.endpoint.refusal import (
    Body,
    Refusal,
    empty_array,
    mismatch,
    missing,
    mistyped,
    too_long,
    unknown_keys,
    unsupported,
    wrong_type,
)

KEYS: dict[str, tuple[str, ...]] = {
    "system": ("role", "content", "name"),
    "developer": ("role", "content", "name"),
    "user": ("role", "content", "name"),
    "assistant": ("role", "content", "name", "tool_calls"),
    "tool": ("role", "content", "tool_call_id"),
}
"""The keys of a message by its role. The deprecated role `function` is not taken."""

PART_KEYS: dict[str, tuple[str, ...]] = {
    "text": ("type", "text"),
    "refusal": ("type", "refusal"),
    "image_url": ("type", "image_url"),
    "input_audio": ("type", "input_audio"),
    "file": ("type", "file"),
}

PARTS: dict[str, tuple[str, ...]] = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
}
"""The parts that a role's content may have."""

CALL_ID_LENGTH = 40
NAME = re.compile(r"[^\s<|\\/>]{1,64}")
IMAGE = re.compile(r"https?://\S+|data:image/[\w.+-]+;base64,[A-Za-z0-9+/]+=*")


def messages(body: Body) -> Iterator[tuple[str, Body]]:
    """Each message with its place in the body."""
    for index, message in enumerate(body["messages"]):
        yield f"messages[{index}]", message


def messages_are_objects(body: Body) -> Iterator[Refusal]:
    yield from mistyped(body, "messages", "", "an array")
    if not body["messages"]:
        yield empty_array("messages")
    for where, message in messages(body):
        if not isinstance(message, dict):
            yield wrong_type(where, "an object", message)


def roles_are_known(body: Body) -> Iterator[Refusal]:
    for where, message in messages(body):
        yield from mistyped(message, "role", where, "a string")
        if message["role"] not in KEYS:
            yield unsupported(f"{where}.role", message["role"], KEYS)


def keys_are_known(body: Body) -> Iterator[Refusal]:
    for where, message in messages(body):
        yield from unknown_keys(message, where, KEYS[message["role"]])


def names_are_words(body: Body) -> Iterator[Refusal]:
    for where, message in messages(body):
        if "name" in message:
            yield from mistyped(message, "name", where, "a string")
            yield from mismatch(f"{where}.name", message["name"], NAME)


def content_is_there(body: Body) -> Iterator[Refusal]:
    """Only an assistant message that calls tools may do without.

    An assistant message with empty text and no calls is refused too: OpenAI lets it pass, several
    compatible servers do not.
    """
    for where, message in messages(body):
        content = message.get("content")
        if message["role"] == "assistant":
            if not content and "tool_calls" not in message and not isinstance(content, list):
                yield Refusal(
                    f"Invalid '{where}': an assistant message must have content or tool_calls, "
                    f"but got {content!r}.",
                    f"{where}.content",
                    code="invalid_value",
                )
        elif "content" not in message:
            yield missing(f"{where}.content")
        elif content is None:
            yield wrong_type(f"{where}.content", "a string or an array", None)


def content_is_text_or_parts(body: Body) -> Iterator[Refusal]:
    for where, message in messages(body):
        content = message.get("content")
        if not isinstance(content, str | list | None):
            yield wrong_type(f"{where}.content", "a string or an array", content)
        elif content == []:
            yield empty_array(f"{where}.content")
        elif isinstance(content, list):
            for index, part in enumerate(content):
                yield from _part(part, f"{where}.content[{index}]", message["role"])


def _part(part: Any, where: str, role: str) -> Iterator[Refusal]:
    if not isinstance(part, dict):
        yield wrong_type(where, "an object", part)
    yield from mistyped(part, "type", where, "a string")
    kind = part["type"]
    if kind not in PARTS[role]:
        yield unsupported(f"{where}.type", kind, PARTS[role])
    yield from unknown_keys(part, where, PART_KEYS[kind])
    yield from PART_RULES[kind](part, where)


def _text(part: Body, where: str) -> Iterator[Refusal]:
    yield from mistyped(part, part["type"], where, "a string")


def _object(part: Body, where: str) -> Iterator[Refusal]:
    yield from mistyped(part, part["type"], where, "an object")


def _image(part: Body, where: str) -> Iterator[Refusal]:
    yield from mistyped(part, "image_url", where, "an object")
    image, where = part["image_url"], f"{where}.image_url"
    yield from unknown_keys(image, where, ("url", "detail"))
    yield from mistyped(image, "url", where, "a string")
    if not IMAGE.fullmatch(image["url"]):
        yield Refusal(
            f"Invalid '{where}.url': expected an http(s) URL, or base64 in an image data URL, "
            f"but got {image['url'][:60]!r}.",
            f"{where}.url",
            code="invalid_image_url",
        )


PART_RULES: dict[str, Callable[[Body, str], Iterator[Refusal]]] = {
    "text": _text,
    "refusal": _text,
    "image_url": _image,
    "input_audio": _object,
    "file": _object,
}


def results_name_their_call(body: Body) -> Iterator[Refusal]:
    for where, message in messages(body):
        if message["role"] == "tool":
            yield from mistyped(message, "tool_call_id", where, "a string")
            yield from too_long(f"{where}.tool_call_id", message["tool_call_id"], CALL_ID_LENGTH)
