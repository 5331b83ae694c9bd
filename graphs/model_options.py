"""Options that a model is opened with, whoever provides it."""

import logging
from dataclasses import dataclass
from typing import Literal

from langchain_core.language_models import BaseChatModel

from turnstream.graphs.limits import MAX_MESSAGE_BYTES

Reasoning = Literal["off", "on", "low", "medium", "high"]
"""`off`: the model is not asked for it, and none is shown; `on`: as much as the model likes."""

ThinkTags = Literal["reasoning", "text"]
"""The kind of part that `<think>` at the beginning of a text begins."""
Omittable = Literal["stream_options", "reasoning_effort"]
"""Options of a request that a compatible server may refuse; a turn works without them."""

logger = logging.getLogger(__name__)


class ModelSetupError(Exception):
    """A model cannot be opened as the settings name it; the message is one line for the person who
    starts the server."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The providers' packages read keys and addresses of their own from the environment; those of
    OpenAI are settings of ours too."""

    openai_api_key: str | None = None
    openai_base_url: str | None = None
    reasoning: Reasoning = "off"
    max_message_bytes: int = MAX_MESSAGE_BYTES
    image_models: tuple[str, ...] | None = None
    """Patterns of the names of models that take images; None: as LangChain knows it of each."""
    word_seconds: float = 0.02
    """The pace of the offline model."""
    omitted: tuple[Omittable, ...] = ()
    """Options that a request to OpenAI's wire goes without from the first one on."""
    think_tags: ThinkTags = "reasoning"


def possible_reasoning(model: BaseChatModel, name: str, wanted: Reasoning) -> Reasoning:
    """`off`, with a warning, if LangChain's profile of the model says that it cannot reason."""
    if wanted != "off" and (model.profile or {}).get("reasoning_output") is False:
        cannot_reason(name, wanted)
        return "off"
    return wanted


def cannot_reason(name: str, wanted: Reasoning) -> None:
    logger.warning(
        "TURNSTREAM_REASONING is %(wanted)s, which %(model)s cannot do: it is not asked to reason",
        {"wanted": wanted, "model": name},
    )
