"""The resources of graphs: the models and LangGraph's store, as the settings say."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from langchain_core.language_models import BaseChatModel
from langgraph.store.base import BaseStore

from turnstream.graphs.loading import BUILT_IN
from turnstream.graphs.model_options import ModelOptions, Reasoning
from turnstream.graphs.models import open_models as open_named
from turnstream.server.settings import Settings
from turnstream.server.storage.opened import Storage


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
    return open_named(settings.model_names, _options(settings, settings.reasoning))


@asynccontextmanager
async def open_model(settings: Settings, name: str) -> AsyncIterator[BaseChatModel]:
    """Open a model of its own for an extension; it does not reason. Raises ModelSetupError."""
    async with open_named((name,), _options(settings, "off")) as models:
        yield models[name]


def _options(settings: Settings, reasoning: Reasoning) -> ModelOptions:
    return ModelOptions(
        image_models=settings.image_patterns,
        openai_api_key=settings.openai_api_key,
        openai_base_url=settings.openai_base_url,
        reasoning=reasoning,
        omitted=settings.omitted_options,
        think_tags=settings.think_tags,
        max_message_bytes=settings.max_message_bytes,
        word_seconds=settings.offline_word_seconds,
    )
