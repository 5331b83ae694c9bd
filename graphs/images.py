"""Images in the user's messages: which models take them, and what the others get."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

from langchain_core.language_models import BaseChatModel, ModelProfile
from langchain_core.messages import AnyMessage, HumanMessage

from turnstream.graphs import stored_user

Block = str | dict[str, Any]

_TAKES = "image_inputs"
"""LangChain's key in a model's profile."""
_UNSEEN = "which you cannot look at"


def takes_images(model: BaseChatModel) -> bool:
    """True also of a model of which it is not known."""
    return (model.profile or {}).get(_TAKES) is not False


def told_of_images(model: BaseChatModel, name: str, patterns: Sequence[str] | None) -> None:
    """Note in a model's profile whether it takes images, as the settings say it of its name; None:
    what LangChain knows holds."""
    if patterns is not None:
        takes = any(fnmatchcase(name, pattern) for pattern in patterns)
        set_takes_images(model, takes=takes)


def set_takes_images(model: BaseChatModel, *, takes: bool) -> None:
    model.profile = cast(ModelProfile, {**(model.profile or {}), _TAKES: takes})


def is_image(block: object) -> bool:
    return isinstance(block, dict) and str(block.get("type")).startswith("image")


def has_image(message: AnyMessage) -> bool:
    return isinstance(message, HumanMessage) and any(map(is_image, message.content))


def with_names(message: HumanMessage) -> HumanMessage:
    """The message with what the user says of each image ahead of it."""
    if not has_image(message) or not any(alt for alt, _ in _named(message) if alt):
        return message
    return message.model_copy(update={"content": [*_with_names(message)]})


def without_images(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages as a model gets them that takes no images: a word is in the place of each. So a
    thread that has some goes on with any model."""
    return [_without(message) if has_image(message) else message for message in messages]


def _without(message: AnyMessage) -> AnyMessage:
    assert isinstance(message, HumanMessage)
    content = [
        {"type": "text", "text": f"[an image{_called(alt)}, {_UNSEEN}]"}
        if is_image(block)
        else block
        for alt, block in _named(message)
    ]
    return message.model_copy(update={"content": content})


def _with_names(message: HumanMessage) -> Iterator[Block]:
    for alt, block in _named(message):
        if alt:
            yield {"type": "text", "text": f"[Image: {alt}]"}
        yield block


def _called(alt: str | None) -> str:
    return f', "{alt}"' if alt else ""


def _named(message: HumanMessage) -> Iterator[tuple[str | None, Block]]:
    """Its blocks, each image with what the user says of it."""
    alts = stored_user.alts(message)
    for block in message.content:
        yield (next(alts) if is_image(block) else None), block
