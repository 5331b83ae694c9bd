"""What graphs are given by the server: the model and LangGraph's store, as the settings say."""

from contextlib import AbstractAsyncContextManager, nullcontext

from langchain_core.language_models import BaseChatModel
from langgraph.store.base import BaseStore

from graphs.loading import BUILT_IN
from graphs.models import open_chat_model as open_named
from server.settings import Settings
from server.storage.checkpointer import SqliteCheckpointer


def open_graph_store(
    settings: Settings, checkpointer: SqliteCheckpointer
) -> AbstractAsyncContextManager[BaseStore | None]:
    """The built-in graph has no use for one."""
    if settings.graph == BUILT_IN:
        return nullcontext()
    from server.storage.graph_store import open_graph_store

    busy_ms = round(settings.busy_seconds * 1000)
    return open_graph_store(settings.database, busy_ms, checkpointer.file.require)


def open_chat_model(settings: Settings) -> AbstractAsyncContextManager[BaseChatModel]:
    return open_named(
        settings.model_name,
        api_key=settings.openai_api_key,
        base_url=settings.openai_base_url,
        word_seconds=settings.offline_word_seconds,
        max_message_bytes=settings.max_message_bytes,
    )
