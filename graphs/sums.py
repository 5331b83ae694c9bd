"""What the chunks of a message add up to, each part of it in one go."""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.messages.base import merge_content

Content = str | list[str | dict[str, Any]]


def content_of(messages: Iterable[AIMessage]) -> Content:
    return joined([message.content for message in messages if message.content != ""])


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


def usage_of(messages: Iterable[AIMessage]) -> UsageMetadata | None:
    counted = [message.usage_metadata for message in messages if message.usage_metadata]
    return reduce(add_usage, counted) if counted else None


def metadata_of(messages: Iterable[AIMessage]) -> dict[str, Any]:
    """What was said last of each key."""
    metadata: dict[str, Any] = {}
    for message in messages:
        add_metadata(metadata, message)
    return metadata


def add_metadata(metadata: dict[str, Any], message: AIMessage) -> None:
    given = message.response_metadata
    metadata |= {key: value for key, value in given.items() if value is not None}
