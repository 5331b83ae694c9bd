"""Images, files and sources that a model gives with its text: LangChain's standard blocks of a
message's content, and what servers of OpenAI's wire send beside it.

    {"type": "image" | "file" | "audio" | "video", "url" or "base64" and "mime_type", ...}
    {"type": "image_url", "image_url": {"url"}}
    {"type": "text", "text", "annotations": [{"type": "citation", "url", "title"?, "id"?}]}

    OpenAI, OpenRouter  of a delta: `annotations`: [{"url_citation": {"url", "title"}}]
    OpenRouter          of a delta: `images`: [{"image_url": {"url"}}]
    Perplexity          of a chunk: `citations`: [url], `search_results`: [{"url", "title"}]

The latter are in a message's `additional_kwargs`, which no request sends back.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage

from turnstream.graphs.chunk_shape import Chunk
from turnstream.graphs.parts import content_blocks
from turnstream.tools.strict_json import clean_text

MAX_PARTS = 100
MAX_SENT_CHARS = 8_000_000
"""Characters of what one message has beside its content; what is beyond them is left out."""
_SOURCES = ("annotations", "search_results", "citations")
"""Keys beside a message's content; those with titles come first."""
_SENT = frozenset(("images", *_SOURCES))
_FILES = {"image": "image/*", "file": "", "audio": "audio/*", "video": "video/*"}
"""The media types of blocks that do not say theirs."""
_SCHEMES = ("https://", "http://")


class MadeFile(NamedTuple):
    url: str
    """`data:`, `https:` or `http:`."""
    media_type: str
    name: str | None = None


class MadeSource(NamedTuple):
    id: str
    url: str
    title: str | None = None


class SentParts:
    """Collects what a server sends beside the text of one message, chunk by chunk."""

    def __init__(self) -> None:
        self._made: dict[str, MadeFile | MadeSource] = {}
        """By its address."""
        self._room = MAX_SENT_CHARS

    def add(self, made: Iterable[MadeFile | MadeSource]) -> None:
        for one in made:
            if one.url not in self._made and len(self._made) < MAX_PARTS:
                size = sum(len(text or "") for text in one)
                if size <= self._room:
                    self._room -= size
                    self._made[one.url] = one

    @property
    def extras(self) -> dict[str, Any]:
        """The fields of the message, as `made_parts` reads them."""
        made = self._made.values()
        files = [{"image_url": {"url": one.url}} for one in made if isinstance(one, MadeFile)]
        sources = [
            {"type": "citation", "url": one.url, **({"title": one.title} if one.title else {})}
            for one in made
            if isinstance(one, MadeSource)
        ]
        return {key: given for key, given in (("annotations", sources), ("images", files)) if given}


def sent_parts(chunk: Chunk) -> list[MadeFile | MadeSource]:
    """Return what a chunk brings beside its text; `chunk` is as `turnstream.graphs.chunk_shape`
    has read it."""
    deltas = [choice["delta"] for choice in chunk.get("choices", ())]
    if not any(_SENT & one.keys() for one in (chunk, *deltas)):
        return []
    return [*chain.from_iterable(_parts(_beside(one), "") for one in (*deltas, chunk))]


def kept_beside(extras: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields beside a message's content that `made_parts` reads."""
    return {key: extras[key] for key in extras.keys() & _SENT}


def made_parts(message: AIMessage) -> list[MadeFile | MadeSource]:
    """Return what the model of a message has made beside its words, in order; what no client could
    open is left out."""
    blocks = () if isinstance(message.content, str) else content_blocks(message)
    extras = message.additional_kwargs
    if not blocks and not extras:
        return []
    return [*_parts(chain(blocks, _beside(extras)), message.id or "")][:MAX_PARTS]


def _beside(extras: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the fields beside a message's content as blocks."""
    for key in _SOURCES:
        if key in extras:
            yield {"annotations": extras[key]}
    images = extras.get("images")
    for image in images if isinstance(images, list) else ():
        if isinstance(image, Mapping):
            yield {"type": "image_url", "image_url": image.get("image_url")}


def _parts(blocks: Iterable[Mapping[str, Any]], id: str) -> Iterator[MadeFile | MadeSource]:
    known = set[str]()
    for block in blocks:
        given = block.get("value") if block.get("type") == "non_standard" else block
        if not isinstance(given, Mapping):
            continue
        if (file := _file(given)) is not None:
            yield file
        annotations = given.get("annotations")
        for one in annotations if isinstance(annotations, list) else ():
            url, title = _cited(one)
            if isinstance(url, str) and url.startswith(_SCHEMES) and url not in known:
                known.add(url)
                yield MadeSource(f"{id}.source-{len(known)}", clean_text(url), _text(title))


def _cited(annotation: Any) -> tuple[Any, Any]:
    """Return the address and the title of a cited page."""
    match annotation:
        case {"url_citation": {"url": url, **others}} | {"url": url, **others}:
            return url, others.get("title")
    return annotation, None


def _file(block: Mapping[str, Any]) -> MadeFile | None:
    match block:
        case {"type": "image_url", "image_url": str(url) | {"url": str(url)}}:
            kind, given = "image", url
        case {"type": "image" | "file" | "audio" | "video" as kind, "url": str(given)}:
            pass
        case {"type": "image" | "file" | "audio" | "video" as kind, "base64": str(data)}:
            media_type = _text(block.get("mime_type")) or "application/octet-stream"
            given = f"data:{media_type};base64,{data}"
        case _:
            return None
    if not given.startswith(("data:", *_SCHEMES)):
        return None
    media_type = _text(block.get("mime_type")) or _type_in(given) or _FILES[kind]
    name = _text(block.get("filename")) or _text(block.get("name"))
    return MadeFile(clean_text(given), media_type or "application/octet-stream", name)


def _type_in(url: str) -> str:
    scheme, _, rest = url.partition(":")
    return rest.partition(",")[0].partition(";")[0] if scheme == "data" else ""


def _text(value: Any) -> str | None:
    return clean_text(value) if isinstance(value, str) and value else None
