"""What a tool of an MCP server answers: structured content, or text; images and resources."""

from collections.abc import Iterator
from typing import Any

from mcp_types import CallToolResult

from tools import strict_json


def result_of(answer: CallToolResult) -> dict[str, Any]:
    """`{...structured content}` or `{"text"}`, with `images` (`[{"mime_type", "data"}]`) and
    `resources` (`[{"uri", ...}]`) where there are any."""
    blocks = [block.model_dump(exclude_none=True, mode="json") for block in answer.content]
    text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    structured = answer.structured_content
    said = dict(structured) if isinstance(structured, dict) else {"text": text}
    images = [_media(b) for b in blocks if b["type"] in ("image", "audio")]
    resources = [_resource(block) for block in blocks if "resource" in block["type"]]
    return {
        **said,
        **({"images": images} if images else {}),
        **({"resources": resources} if resources else {}),
    }


def for_model(result: dict[str, Any]) -> str:
    """The result as JSON, with a word in the place of what is no text."""
    return strict_json.write_spaced(dict(_readable(result)))


def _readable(result: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in result.items():
        if key == "images":
            yield key, [{**image, "data": "[shown to the user]"} for image in value]
        elif key == "resources":
            yield key, [_without_blob(resource) for resource in value]
        else:
            yield key, value


def _without_blob(resource: dict[str, Any]) -> dict[str, Any]:
    return {**resource, "blob": "[shown to the user]"} if "blob" in resource else resource


def _media(block: dict[str, Any]) -> dict[str, Any]:
    return {"mime_type": block.get("mime_type"), "data": block.get("data")}


def _resource(block: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = block.get("resource") or block
    kept = ("uri", "name", "title", "mime_type", "text", "blob")
    return {key: content[key] for key in kept if key in content}
