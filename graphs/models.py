"""The chat model by settings: ChatOpenAI for any OpenAI-compatible server, or the offline one."""

from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

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


def chat_model(
    name: str, *, api_key: str | None, base_url: str | None, word_seconds: float
) -> BaseChatModel:
    """The model of a resolved name: `offline`, or what the OpenAI-compatible server calls it."""
    if name == OFFLINE:
        return OfflineChatModel(word_seconds=word_seconds)
    return ChatOpenAI(
        model=name,
        # A server of one's own wants no key; the client wants a string.
        api_key=SecretStr(api_key or "none"),
        base_url=base_url,
        stream_usage=True,
        # Its watchdog uses asyncio.wait_for, which on Python 3.11 can swallow a cancel.
        stream_chunk_timeout=0,
        use_responses_api=False,
    )
