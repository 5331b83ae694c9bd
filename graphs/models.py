"""The chat model by settings: ChatOpenAI for any OpenAI-compatible server, or the offline one."""

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from graphs.limits import MAX_MESSAGE_BYTES
from graphs.model_wire import ModelClients, model_clients
from graphs.offline import OfflineChatModel
from graphs.openai_model import BoundedChatOpenAI

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
    name: str,
    *,
    api_key: str | None,
    base_url: str | None,
    word_seconds: float,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    clients: ModelClients | None = None,
) -> BaseChatModel:
    """The model of a resolved name: `offline`, or what the OpenAI-compatible server calls it.

    `clients` are the caller's to close; without them the model has its own as long as it lives.
    """
    if name == OFFLINE:
        return OfflineChatModel(word_seconds=word_seconds)
    clients = clients or model_clients(max_message_bytes)
    return BoundedChatOpenAI(
        model=name,
        max_message_bytes=max_message_bytes,
        http_client=clients.sync,
        http_async_client=clients.asynchronous,
        # A server of one's own wants no key; the client wants a string.
        api_key=SecretStr(api_key or "none"),
        base_url=base_url,
        stream_usage=True,
        # Its watchdog uses asyncio.wait_for, which on Python 3.11 can swallow a cancel.
        stream_chunk_timeout=0,
        use_responses_api=False,
    )
