"""The chat model by settings: ChatOpenAI for any OpenAI-compatible server, or the offline one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langchain_core.language_models import BaseChatModel

from graphs.limits import MAX_MESSAGE_BYTES
from graphs.offline import OfflineChatModel

DEFAULT_MODEL = "gpt-4.1-mini"
OFFLINE = "offline"


class ModelUnavailable(Exception):
    """The model's stream broke off before its message was whole."""


def is_empty_stream(error: ValueError) -> bool:
    """Whether a model's stream ended before its first chunk.

    LangChain has no type of its own for that: read in langchain-core 1.7.2,
    `BaseChatModel.astream`.
    """
    return str(error) == "No generation chunks were returned"


@asynccontextmanager
async def open_chat_model(
    name: str,
    *,
    api_key: str | None,
    base_url: str | None,
    word_seconds: float,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
) -> AsyncIterator[BaseChatModel]:
    """The model of a resolved name: `offline`, or what the OpenAI-compatible server calls it."""
    if name == OFFLINE:
        yield OfflineChatModel(word_seconds=word_seconds)
        return
    # Here, since the client's library takes longer to import than all the rest together.
    from graphs.openai_model import open_openai_model

    async with open_openai_model(name, api_key, base_url, max_message_bytes) as model:
        yield model
