"""The content of a user's message: text and images, as the bodies of several formats have them."""

import re
from binascii import a2b_base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema
from pydantic import GetCoreSchemaHandler as Handler
from pydantic import GetJsonSchemaHandler as JsonHandler
from pydantic_core import CoreSchema, core_schema

from turnstream.server.formats import fields
from turnstream.server.formats.fields import BodyLimits, Fault, Fields, Text, shown
from turnstream.server.turns.requests import ImageContent, TextContent, UserContent, UserMessage
from turnstream.tools.image_header import Kind, image_header

Content = tuple[UserContent, ...]

MAX_ALT_CHARS = 1000
"""Bound of the words that say what an image shows."""

_IMAGE_DATA = re.compile(rf"data:image/({'|'.join(get_args(Kind))});base64,", re.IGNORECASE)
"""The kinds that models take: another, once it is stored, fails every later turn of the thread. So
does an image of another kind than it says."""
_MAX_URL_CHARS = 8192
_HEAD_BYTES = 64
"""The beginning of an image: enough to tell its kind."""
_HOW_TO_SEND = (
    "send an http(s) URL, or a PNG, JPEG, GIF or WebP image as a data: URL like "
    "'data:image/png;base64,...'"
)


def fitting(content: Iterable[UserContent], limits: BodyLimits) -> Content:
    """Return the content without blank text, which some models refuse. Raises Fault
    `empty_message`, `message_too_long`, `too_many_images` or `images_too_large`."""
    items = [*content]
    images = [item for item in items if isinstance(item, ImageContent)]
    chars = sum(len(item.text) for item in items if isinstance(item, TextContent))
    present = [item for item in items if isinstance(item, ImageContent) or item.text.strip()]
    if chars > limits.max_message_chars:
        raise Fault(
            "message_too_long", f"has {chars} characters: send at most {limits.max_message_chars}."
        )
    if images:
        _check_images(images, limits)
    if not present:
        raise Fault("empty_message", "is empty: send text or an image.")
    return tuple(present)


def _check_images(images: Sequence[ImageContent], limits: BodyLimits) -> None:
    if len(images) > limits.max_images:
        raise Fault(
            "too_many_images",
            f"has {len(images)} images: send at most {limits.max_images}, or raise "
            "TURNSTREAM_MAX_IMAGES.",
        )
    size = sum(len(image.url) for image in images)
    if size > limits.max_image_bytes:
        raise Fault(
            "images_too_large",
            f"has images of {size} bytes: send at most {limits.max_image_bytes}, or raise "
            "TURNSTREAM_MAX_IMAGE_BYTES.",
        )


def one_message(messages: Sequence[Content], limits: BodyLimits) -> UserMessage:
    """Join the content of messages, which fits the limits of one: a text that follows another's
    text is a new paragraph. Raises InvalidRequest."""
    if len(messages) == 1:
        return UserMessage(messages[0])
    together: list[UserContent] = []
    for content in messages:
        match together, content:
            case [*_, TextContent(before)], [TextContent(after), *rest]:
                together[-1:] = [TextContent(f"{before}\n\n{after}"), *rest]
            case _:
                together.extend(content)
    with fields.at("The messages together"):
        return UserMessage(fitting(together, limits))


def check_image_url(url: str) -> str:
    """Raises Fault."""
    declared = _IMAGE_DATA.match(url)
    if declared:
        _check_data(url[declared.end() :], declared[1].lower())
    elif not _is_web_url(url):
        raise Fault("invalid_image", f"is {shown(url)}: {_HOW_TO_SEND}.")
    return url


def _check_data(text: str, declared: str) -> None:
    try:
        data = a2b_base64(text, strict_mode=True)
    except ValueError:
        data = b""
    if not data:
        how = "not valid base64 (RFC 4648, section 4, with padding)" if text else "empty"
        raise Fault("invalid_image", f"is {how}: {_HOW_TO_SEND}.")
    header = image_header(data[:_HEAD_BYTES])
    kind = header.kind if header else None
    if kind != declared:
        found = f"those of image/{kind}" if kind else "not those of a PNG, JPEG, GIF or WebP image"
        raise Fault(
            "invalid_image",
            f"is declared as image/{declared}, but its bytes are {found}: {_HOW_TO_SEND}.",
        )


def _is_web_url(url: str) -> bool:
    if len(url) > _MAX_URL_CHARS or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def _short(alt: str) -> str:
    words = alt.strip()
    if len(words) > MAX_ALT_CHARS:
        raise Fault("value_too_long", f"has {len(words)} characters: send at most {MAX_ALT_CHARS}.")
    return words


def _name_in(metadata: Any) -> str | None:
    """The name of a part's image in its metadata, which may be anything."""
    if not isinstance(metadata, dict):
        return None
    names = (metadata.get(key) for key in ("alt", "name", "filename"))
    return next((name for name in names if isinstance(name, str)), None)


def _an_image(media_type: str) -> str:
    if not media_type.startswith("image/"):
        raise Fault("unsupported_part", f"is {shown(media_type)}: send text, or files of image/*.")
    return media_type


def _any_case(word: str) -> str:
    return "".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in word)


_KINDS = f"{_any_case('image/')}({'|'.join(map(_any_case, get_args(Kind)))})"
_WEB = f"{_any_case('http')}[sS]?://"
_DATA = f"{_any_case('data:')}{_KINDS};{_any_case('base64')},"
IMAGE_URL = {
    "type": "string",
    "pattern": f"^({_WEB}|{_DATA})",
    "description": "An http(s) URL, or a `data:` URL of a PNG, JPEG, GIF or WebP image in base64.",
}
IMAGE_TYPE = {"type": "string", "pattern": f"^{_KINDS}$"}
_ALT = {
    "type": ["string", "null"],
    "maxLength": MAX_ALT_CHARS,
    "description": "What the image shows, or the name of its file.",
}
_NAMED = {"type": "object", "properties": dict.fromkeys(("alt", "name", "filename"), _ALT)}

ImageUrl = Annotated[Text, AfterValidator(check_image_url), WithJsonSchema(IMAGE_URL)]
Alt = Annotated[Annotated[Text, AfterValidator(_short)] | None, WithJsonSchema(_ALT)]
AltOfMetadata = Annotated[
    Alt,
    BeforeValidator(_name_in),
    WithJsonSchema({"anyOf": [_NAMED, {"not": {"type": "object"}}]}),
]
FileType = Annotated[
    Text, AfterValidator(_an_image), WithJsonSchema({"type": "string", "pattern": "^image/"})
]


class TextPart(Fields):
    type: Literal["text"]
    text: Annotated[Text, fields.depends_on_server("text")]

    @property
    def content(self) -> UserContent:
        return TextContent(self.text)


class Image(Fields):
    """A part that is an image; `content` gives it."""


class LinkedImage(Image):
    """An image with a URL; each format has its own keys."""

    url: ImageUrl
    alt: Alt = None

    @property
    def content(self) -> UserContent:
        return ImageContent(self.url, self.alt or None)


class ImagePart(LinkedImage):
    type: Literal["image"]
    url: ImageUrl = Field(alias="image")
    filename: Alt = None
    """In parts of assistant-ui, in the place of `alt`."""

    @property
    def content(self) -> UserContent:
        alt = self.filename if self.alt is None else self.alt
        return ImageContent(self.url, alt or None)


def with_url(part: Any, data: Sequence[str], kinds: Sequence[str]) -> Any:
    """Give an image that holds its data, under one of some keys, a URL. Raises Fault."""
    held = _first(part, data) if isinstance(part, dict) else None
    if held is None:
        return part
    kind = _first(part, kinds)
    for value, key in ((held, data[0]), (kind, kinds[0])):
        if not isinstance(value, str):
            raise Fault("invalid_body", f"has the {key} {shown(value)}: send a string.")
    return {**part, "url": f"data:{kind};base64,{held}"}


def _first(part: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((part[key] for key in keys if part.get(key) is not None), None)


class Said:
    """Metadata of a field: the content of a message. In the body it is a list of parts or, where
    the format has that, one text."""

    def __init__(
        self, *parts: type[Fields], tag: fields.Tag = fields.own_type, text: bool = False
    ) -> None:
        self._parts = parts
        self._choice = Annotated[Union[parts], fields.OneOf("unsupported_part", tag)]  # noqa: UP007
        self._has_text = text

    def __get_pydantic_core_schema__(self, _source: Any, handler: Handler) -> CoreSchema:
        part = handler.generate_schema(self._choice)
        said: CoreSchema = core_schema.list_schema(part, fail_fast=True)
        if self._has_text:
            forms = {"<text>": handler.generate_schema(MessageText), "<parts>": said}
            said = core_schema.tagged_union_schema(forms, _form)
        return core_schema.with_info_after_validator_function(_content, said)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: JsonHandler) -> Any:
        found = handler(schema)
        images = [fields.type_of(part) for part in self._parts if issubclass(part, Image)]
        parts = found["anyOf"][1] if self._has_text else found
        parts |= {"x-served": "content", "images": images}
        return found


def _form(content: Any) -> str:
    return "<text>" if isinstance(content, str) else "<parts>"


def _content(said: Any, info: ValidationInfo[BodyLimits]) -> Content:
    if isinstance(said, str):  # it has been read as a MessageText
        return (TextContent(said),)
    content = (part.content for part in said)
    return fitting((one for one in content if one is not None), info.context)


def _fitting_text(text: str, info: ValidationInfo[BodyLimits]) -> str:
    fitting([TextContent(text)], info.context)
    return text


MessageText = Annotated[
    Text, AfterValidator(_fitting_text), fields.depends_on_server("message text")
]
PARTS = Said(TextPart, ImagePart)
