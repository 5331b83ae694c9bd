"""Images, files and sources that a model gives with its text: LangChain's standard blocks of a
message's content.

    {"type": "image" | "file" | "audio" | "video", "url" or "base64" and "mime_type", ...}
    {"type": "image_url", "image_url": {"url"}}
    {"type": "text", "text", "annotations": [{"type": "citation", "url", "title"?, "id"?}]}
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage

from turnstream.graphs.parts import content_blocks
from turnstream.tools.strict_json import clean_text

MAX_PARTS = 100
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


def made_parts(message: AIMessage) -> list[MadeFile | MadeSource]:
    """Return what the model of a message has made beside its words, in order; what no client could
    open is left out."""
    if isinstance(message.content, str):
        return []
    return [*_made(message)][:MAX_PARTS]


def _made(message: AIMessage) -> Iterator[MadeFile | MadeSource]:
    known = set[str]()
    for block in content_blocks(message):
        given = block.get("value") if block.get("type") == "non_standard" else block
        if not isinstance(given, Mapping):
            continue
        if (file := _file(given)) is not None:
            yield file
        annotations = given.get("annotations")
        for one in annotations if isinstance(annotations, list) else ():
            url = one.get("url") if isinstance(one, Mapping) else None
            if isinstance(url, str) and url.startswith(_SCHEMES) and url not in known:
                known.add(url)
                id = f"{message.id or ''}.source-{len(known)}"
                yield MadeSource(id, clean_text(url), _text(one.get("title")))


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
