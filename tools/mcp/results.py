"""The answer of a server, as the result of one of our tools: for the model, and for the client.

The structured content is the result; without it the text is, as `{"text"}`. What is neither stands
beside it, `{"images": [{"mime_type", "data"}], "audio": [...], "resources": [{"uri", "mime_type"?,
"name"?, "text" or "blob"?}]}` with data in base64. The model gets the texts of resources, and of
other data a note, `{"attachments": ["an image, image/png, 1234 characters of base64"]}`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.tools import ToolException
from mcp.types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from turnstream.tools import strict_json
from turnstream.tools.contract import ALL_FIELDS, MAX_RESULT_CHARS, MAX_RESULT_VALUES
from turnstream.tools.json_size import is_larger

HIDDEN = {"hidden": True}
"""The client's view of a result of which no field is declared."""


def texts(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def content_and_view(result: CallToolResult, fields: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The text for the model, and those fields of the result that the client may see.

    Raises ToolException if it is too large, ValueError if it is not JSON.
    """
    said = _said(result)
    media = _media(result)
    if is_larger([said, media], MAX_RESULT_CHARS, MAX_RESULT_VALUES):
        raise ToolException(
            f"The result is larger than {MAX_RESULT_CHARS} characters or {MAX_RESULT_VALUES} "
            "values. Ask for less."
        )
    content = strict_json.write_spaced({**_told(result), **said})
    if not fields:
        return content, {**HIDDEN}
    whole = {**media, **said}
    visible = whole if ALL_FIELDS in fields else {k: whole[k] for k in fields if k in whole}
    return content, strict_json.copy(visible)


def _said(result: CallToolResult) -> Mapping[str, Any]:
    structured = result.structured_content
    if isinstance(structured, dict):
        return structured
    if structured is not None:
        return {"result": structured}
    text = texts(result)
    return {"text": text} if text or not result.content else {}


def _media(result: CallToolResult) -> dict[str, Any]:
    """Return the content that is no text, as it is."""
    images, audio, resources = [], [], []
    for block in result.content:
        match block:
            case ImageContent():
                images.append({"mime_type": block.mime_type, "data": block.data})
            case AudioContent():
                audio.append({"mime_type": block.mime_type, "data": block.data})
            case EmbeddedResource() | ResourceLink():
                resources.append(_resource(block))
    found = {"images": images, "audio": audio, "resources": resources}
    return {key: value for key, value in found.items() if value}


def _resource(block: EmbeddedResource | ResourceLink) -> dict[str, Any]:
    if isinstance(block, ResourceLink):
        names = {"uri": block.uri, "mime_type": block.mime_type, "name": block.name}
    else:
        held = block.resource
        names = {"uri": held.uri, "mime_type": held.mime_type}
        if isinstance(held, TextResourceContents):
            names["text"] = held.text
        else:
            names["blob"] = held.blob
    return {key: value for key, value in names.items() if value is not None}


def _told(result: CallToolResult) -> dict[str, Any]:
    """Return the content that is no text, as the model is told of it."""
    notes = []
    resources = []
    for block in result.content:
        match block:
            case ImageContent() | AudioContent():
                kind = "an image" if isinstance(block, ImageContent) else "audio"
                notes.append(_note(kind, block.mime_type, block.data))
            case ResourceLink() | EmbeddedResource():
                resource = _resource(block)
                blob = resource.pop("blob", None)
                if blob is not None:
                    resource["note"] = _note("data", None, blob)
                resources.append(resource)
    told = {"attachments": notes, "resources": resources}
    return {key: value for key, value in told.items() if value}


def _note(kind: str, mime_type: str | None, data: str) -> str:
    named = ", ".join(filter(None, (kind, mime_type)))
    return f"{named}, {len(data)} characters of base64"
