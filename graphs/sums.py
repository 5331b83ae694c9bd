"""Sums of the chunks of a message, each part of it in one go."""

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
    """Add the metadata of a chunk: of each key the last value counts."""
    given = message.response_metadata
    metadata |= {key: value for key, value in given.items() if value is not None}


class Extras:
    """The fields of chunks beside their content, by key: text that grows, objects that gain
    keys."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._values: dict[str, Any] = {}

    def add(self, message: AIMessage) -> None:
        for key, value in message.additional_kwargs.items():
            if isinstance(value, str):
                self._texts.setdefault(key, []).append(value)
            elif isinstance(value, dict):
                self._values[key] = {**self._values.get(key, {}), **value}
            elif value is not None:
                self._values[key] = value

    @property
    def whole(self) -> dict[str, Any]:
        return self._values | {key: "".join(texts) for key, texts in self._texts.items()}
