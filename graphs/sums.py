"""What the chunks of a message add up to, each part of it in one go."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.base import merge_content

Content = str | list[str | dict[str, Any]]


def joined(contents: Sequence[Content]) -> Content:
    """Text is joined; providers' blocks are merged by LangChain's rule, half by half, since each
    merge copies both sides."""
    texts = [content for content in contents if isinstance(content, str)]
    if len(texts) == len(contents):
        return "".join(texts)
    if len(contents) == 1:
        return contents[0]
    half = len(contents) // 2
    return merge_content(joined(contents[:half]), joined(contents[half:]))


def add_metadata(metadata: dict[str, Any], message: AIMessage) -> None:
    """Of each key what was said last."""
    given = message.response_metadata
    metadata |= {key: value for key, value in given.items() if value is not None}
