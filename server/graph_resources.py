"""What graphs are given by the server: the models and LangGraph's store, as the settings say."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext

from langchain_core.language_models import BaseChatModel
from langgraph.store.base import BaseStore

from graphs.loading import BUILT_IN
from graphs.model_options import ModelOptions
from graphs.models import open_models as open_named
from server.settings import Settings
from server.storage.opened import Storage


def open_graph_store(
    settings: Settings, storage: Storage
) -> AbstractAsyncContextManager[BaseStore | None]:
    """The built-in graph has no use for one."""
    if settings.graph == BUILT_IN:
        return nullcontext()
    return storage.open_graph_store()


def open_models(
    settings: Settings,
) -> AbstractAsyncContextManager[Mapping[str, BaseChatModel]]:
    """The models by name, the default first. Raises ModelSetupError."""
    options = ModelOptions(
        image_models=settings.image_patterns,
        openai_api_key=settings.openai_api_key,
        openai_base_url=settings.openai_base_url,
        reasoning=settings.reasoning,
        max_message_bytes=settings.max_message_bytes,
        word_seconds=settings.offline_word_seconds,
    )
    return open_named(settings.model_names, options)
