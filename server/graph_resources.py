"""The resources of graphs: the models and LangGraph's store, as the settings say."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.store.base import BaseStore, IndexConfig
from langgraph.store.base.embed import ensure_embeddings

from turnstream.graphs.faults import GraphError
from turnstream.graphs.loading import BUILT_IN
from turnstream.graphs.model_options import ModelOptions, Reasoning
from turnstream.graphs.models import open_models as open_named
from turnstream.graphs.project_file import ProjectFile, StoreIndex
from turnstream.graphs.sources import named
from turnstream.graphs.user_modules import own_object
from turnstream.server.settings import Settings
from turnstream.server.storage.opened import Storage


@asynccontextmanager
async def open_graph_store(
    settings: Settings, storage: Storage, project: ProjectFile | None = None
) -> AsyncIterator[BaseStore | None]:
    """The built-in graph has no use for one. Raises GraphError for an index that it cannot have."""
    if settings.graph == BUILT_IN:
        yield None
        return
    index = project.store_index if project else None
    if project is None or index is None:
        async with storage.open_graph_store(None) as store:
            yield store
        return
    if not isinstance(settings.database, Path):
        raise GraphError(
            f"the store.index of {project.place} needs threads in a SQLite file, and "
            "TURNSTREAM_DATABASE is a Postgres database: take store.index out of the file, or give "
            "a graph a store of its own for what it searches"
        )
    embed = _embedding(project, index)
    fields = index.fields or ["$"]
    vectors: IndexConfig = {"dims": index.dims, "embed": embed, "fields": fields}
    async with storage.open_graph_store(vectors) as store:
        yield store


def _embedding(project: ProjectFile, index: StoreIndex) -> Any:
    """Return the project's own function or object, or what LangChain makes of `provider:model`."""
    with named(project.place, project.folders):
        module = index.embed.rpartition(":")[0]
        is_path = module.endswith(".py") or "/" in module
        try:
            if not is_path:
                return ensure_embeddings(index.embed)
            place = project.object_place(index.embed)
            return ensure_embeddings(own_object(str(place), project.folders))  # type: ignore[arg-type]
        except (ImportError, AttributeError, ValueError, OSError) as error:
            words = " ".join(str(error).split())
            raise GraphError(
                f"its store.index.embed cannot be {index.embed!r}: {words}; name a function such "
                "as './embed.py:embed', or 'provider:model' of an installed LangChain package"
            ) from error


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
