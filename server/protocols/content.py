"""The content of a user's message: text and images, as three kinds of bodies write them."""

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from turnstream.server.protocols.fields import (
    MAX_ALT_CHARS,
    BodyLimits,
    mapping,
    sequence,
    shown,
    string,
)
from turnstream.server.turns.requests import (
    ImageContent,
    InvalidRequest,
    TextContent,
    UserContent,
    UserMessage,
)
from turnstream.tools.image_header import image_header

PartReader = Callable[[Mapping[str, Any], str], UserContent]

_IMAGE_DATA = re.compile(r"data:image/(png|jpeg|gif|webp);base64,", re.IGNORECASE)
"""The kinds that models take: another, once it is stored, fails every later turn of the thread. So
does an image of another kind than it says."""
_MAX_URL_CHARS = 8192
_HEAD_BYTES = 64
"""Of an image: enough to tell its kind."""
_HOW_TO_SEND = (
    "send an http(s) URL, or a PNG, JPEG, GIF or WebP image as a data: URL like "
    "'data:image/png;base64,...'"
)


def read_parts(
    value: Any, where: str, readers: Mapping[str, PartReader], limits: BodyLimits
) -> tuple[UserContent, ...]:
    """Raises InvalidRequest `empty_message`, `message_too_long`, `too_many_images`,
    `images_too_large`, `unsupported_part`, `invalid_image` or `invalid_text`."""
    content = [
        _read_part(part, f"{where}[{index}]", readers)
        for index, part in enumerate(sequence(value, where))
    ]
    return checked(content, where, limits)


def checked(content: list[UserContent], where: str, limits: BodyLimits) -> tuple[UserContent, ...]:
    """The content without blank text, which some models refuse."""
    chars = sum(len(item.text) for item in content if isinstance(item, TextContent))
    if chars > limits.max_message_chars:
        raise InvalidRequest(
            "message_too_long",
            f"{where} has {chars} characters: send at most {limits.max_message_chars}.",
        )
    _check_images([item for item in content if isinstance(item, ImageContent)], where, limits)
    present = tuple(
        item for item in content if not (isinstance(item, TextContent) and not item.text.strip())
    )
    if not present:
        raise InvalidRequest("empty_message", f"{where} is empty: send text or an image.")
    return present


def joined(
    messages: Sequence[Sequence[UserContent]], where: str, limits: BodyLimits
) -> UserMessage:
    """Several messages as one: a text that follows another's text is a new paragraph."""
    together: list[UserContent] = []
    for content in messages:
        match together, content:
            case [*_, TextContent(before)], [TextContent(after), *rest]:
                together[-1:] = [TextContent(f"{before}\n\n{after}"), *rest]
            case _:
                together.extend(content)
    return UserMessage(checked(together, where, limits))


def _check_images(images: list[ImageContent], where: str, limits: BodyLimits) -> None:
    if len(images) > limits.max_images:
        raise InvalidRequest(
            "too_many_images",
            f"{where} has {len(images)} images: send at most {limits.max_images}, or raise "
            "TURNSTREAM_MAX_IMAGES.",
        )
    size = sum(len(image.url) for image in images)
    if size > limits.max_image_bytes:
        raise InvalidRequest(
            "images_too_large",
            f"The images of {where} have {size} bytes: send at most {limits.max_image_bytes}, or "
            "raise TURNSTREAM_MAX_IMAGE_BYTES.",
        )


def text_part(part: Mapping[str, Any], where: str) -> UserContent:
    return TextContent(string(part.get("text"), f"{where}.text"))


def image_part(part: Mapping[str, Any], where: str) -> UserContent:
    """`alt` says what it shows; of assistant-ui's parts it is `filename`."""
    named = "filename" if part.get("alt") is None else "alt"
    return image(part.get("image"), f"{where}.image", part.get(named), f"{where}.{named}")


def image(url: Any, where: str, alt: Any = None, alt_where: str = "") -> ImageContent:
    """An image, and what it shows: `alt` is None, or text."""
    words = None if alt is None else string(alt, alt_where).strip()
    if words and len(words) > MAX_ALT_CHARS:
        raise InvalidRequest(
            "value_too_long",
            f"{alt_where} has {len(words)} characters: send at most {MAX_ALT_CHARS}.",
        )
    return ImageContent(image_url(url, where), words or None)


def named_in(metadata: Any) -> Any:
    """What the metadata of a part says of it, if it is an object."""
    if not isinstance(metadata, dict):
        return None
    names = (metadata.get(key) for key in ("alt", "name", "filename"))
    return next((name for name in names if isinstance(name, str)), None)


PARTS: Mapping[str, PartReader] = {"text": text_part, "image": image_part}


def image_url(value: Any, where: str) -> str:
    url = string(value, where)
    declared = _IMAGE_DATA.match(url)
    if declared:
        _check_data(url[declared.end() :], declared[1].lower(), where)
    elif not _is_web_url(url):
        raise InvalidRequest("invalid_image", f"{where} is {shown(url)}: {_HOW_TO_SEND}.")
    return url


def _check_data(text: str, declared: str, where: str) -> None:
    data = _decoded(text)
    if not data:
        how = "not valid base64 (RFC 4648, section 4, with padding)" if text else "empty"
        raise InvalidRequest("invalid_image", f"The data of {where} is {how}: {_HOW_TO_SEND}.")
    header = image_header(data[:_HEAD_BYTES])
    kind = header.kind if header else None
    if kind != declared:
        found = f"those of image/{kind}" if kind else "not those of a PNG, JPEG, GIF or WebP image"
        raise InvalidRequest(
            "invalid_image",
            f"{where} is declared as image/{declared}, but its bytes are {found}: {_HOW_TO_SEND}.",
        )


def unsupported(kind: str, where: str, supported: Iterable[str]) -> InvalidRequest:
    return InvalidRequest(
        "unsupported_part",
        f"{where} is of the type {shown(kind)}: send parts of the types {', '.join(supported)}.",
    )


def _read_part(part: Any, where: str, readers: Mapping[str, PartReader]) -> UserContent:
    fields = mapping(part, where)
    kind = string(fields.get("type"), f"{where}.type")
    if kind not in readers:
        raise unsupported(kind, where, readers)
    return readers[kind](fields, where)


def _decoded(text: str) -> bytes | None:
    try:
        return a2b_base64(text, strict_mode=True)
    except (Base64Error, ValueError):
        return None


def _is_web_url(url: str) -> bool:
    if len(url) > _MAX_URL_CHARS or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False
