"""The graphs by setting, as their authors have them.

Each is a compiled graph, a StateGraph, or a factory: a function, sync or async, that returns one of
these or a context manager of it (`turnstream.graphs.factories`); ours is
`build(model, catalogue, checkpointer=, limits=, system_prompt=)`.
"""

import logging
import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from turnstream.graphs.approval_rules import refuse_gated_tools, ungated
from turnstream.graphs.attached import AttachedGraph, RunFactory, attach
from turnstream.graphs.client_fields import Fields, table_of
from turnstream.graphs.client_state import (
    MAX_STATE_BYTES,
    ClientState,
    check_names,
    state_keys,
    ui_keys,
)
from turnstream.graphs.context import GraphContext
from turnstream.graphs.factories import (
    AUTH_USER,
    RESERVED,
    Factory,
    FactoryCall,
    graph_of,
    takes,
)
from turnstream.graphs.faults import GraphError
from turnstream.graphs.limits import Limits
from turnstream.graphs.own_storage import announce_own_storage
from turnstream.graphs.project_file import CONFIGS
from turnstream.graphs.result_view import ResultView, Undeclared, declared_results, own_result
from turnstream.graphs.sources import BUILT_IN, GraphSource, Refused, apart, find, named, once
from turnstream.graphs.user_modules import import_file, user_imports
from turnstream.tools.catalogue import Catalogue

__all__ = ["BUILT_IN", "Build", "LoadedGraph", "load", "open_graphs"]

Build = Callable[..., Pregel[Any, Any, Any, Any]]


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoadedGraph:
    """A graph that the setting names, or what makes one."""

    source: GraphSource
    found: Any
    client_fields: Fields
    """The fields of its tools' results that its module declares."""


def load(setting: str, refused: Refused | None = None) -> tuple[LoadedGraph, ...]:
    """Import the graphs that the setting names, the default first.

    Raises GraphError; with `refused`, not for one of several.
    """
    sources = find(setting, refused)
    for source in sources:
        for name, value in source.environment.items():
            os.environ.setdefault(name, value)
    folders = once(*(folder for source in sources for folder in source.folders))
    with (
        named(setting, folders),
        # Together: what two graphs import of the user's is one module for both.
        user_imports(folders),
        # A module may call asyncio.run, which a thread with a loop cannot.
        ThreadPoolExecutor(1, "graph") as thread,
    ):
        found = []
        for source in sources:
            with apart(source.name, refused, is_asked=source.is_asked):
                found.append(_loaded(source, thread))
        _require_one(found, refused)
        return tuple(found)


@asynccontextmanager
async def open_graphs(
    loaded: Sequence[LoadedGraph],
    checkpointer: BaseCheckpointSaver[Any],
    store: BaseStore | None,
    context: Mapping[str, Any],
    model: Any,
    catalogue: Catalogue,
    *,
    limits: Limits,
    undeclared_results: Undeclared = "hide",
    client_state: Sequence[str] = (),
    max_state_bytes: int = MAX_STATE_BYTES,
    user: Any = None,
    client_context: Sequence[str] = (),
    refused: Refused | None = None,
    **more: Any,
) -> AsyncIterator[Mapping[str, AttachedGraph]]:
    """Make the graphs, by name, and attach them to the checkpointer and the store. Of several,
    each gets the fields of `context` that it declares.

    `client_state` names what clients see of their states, each value of up to `max_state_bytes`.
    `model`, `catalogue`, `limits` and `more` are what a factory of our own kind is given beside
    that, and `user` what others are given at the start; one that is not ours gets the tools that
    need no approval. Clients may set the fields `client_context`. Raises GraphError; with
    `refused`, not for one of several.
    """
    server = _Server(
        checkpointer,
        store,
        (model, catalogue),
        {"checkpointer": checkpointer, "limits": limits, **more},
        FactoryCall({"configurable": {AUTH_USER: user}}, user, store),
    )
    opened: dict[str, AttachedGraph] = {}
    is_alone = len(loaded) + len(refused or {}) == 1
    async with AsyncExitStack() as stack:
        for one in loaded:
            source = one.source
            with (
                apart(source.name, refused, is_asked=source.is_asked),
                named(source.setting, source.folders),
                user_imports(source.folders),
            ):
                graph, factory = await _made(one, server, stack)
                results = _results(one, graph, undeclared_results, limits)
                declared = GraphContext(graph.context_schema, {}).names
                own = {k: v for k, v in context.items() if k in declared or is_alone}
                configurable = _configurable(source, own)
                fields = {k: v for k, v in configurable.items() if k in declared} | own
                attached = attach(graph, checkpointer, fields, store, results, client_context)
                _check_names(attached, catalogue)
                _warn_of_input(source.name, attached, client_context)
                opened[source.name] = replace(
                    attached,
                    description=source.description,
                    configurable=configurable,
                    client_state=_client_state(attached, client_state, max_state_bytes),
                    factory=RunFactory(factory, checkpointer, store) if factory else None,
                    folders=source.folders,
                    is_built_in=source.setting == BUILT_IN,
                )
        _require_one(opened, refused)
        _check_used(context, opened.values())
        kept = {key for one in opened.values() for key in state_keys(one.graph)}
        check_names(client_state, kept)
        yield opened


def _configurable(source: GraphSource, context: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the configurable values of a graph, without those that its context has. Raises
    GraphError."""
    reserved = [name for name in source.configurable if name.startswith(RESERVED)]
    if reserved:
        raise GraphError(f"{CONFIGS} sets {', '.join(reserved)}, which LangGraph sets itself")
    return {name: value for name, value in source.configurable.items() if name not in context}


def _warn_of_input(name: str, graph: AttachedGraph, client_context: Sequence[str]) -> None:
    """Say of a graph that takes no messages what its clients may send instead, if that is
    nothing."""
    names = sorted(graph.input_names)
    if names and not graph.takes_messages and graph.input_names.isdisjoint(client_context):
        logger.warning(
            "graph %(name)s takes no messages, and clients may set nothing of its input; "
            "let them: TURNSTREAM_CLIENT_CONTEXT=%(names)s",
            {"name": name, "names": ",".join(names)},
        )


@dataclass(frozen=True, slots=True)
class _Server:
    """The parts of the server that graphs are made with."""

    checkpointer: BaseCheckpointSaver[Any]
    store: BaseStore | None
    ours: tuple[Any, Catalogue]
    given: Mapping[str, Any]
    """By name, to a factory of our own kind."""
    start: FactoryCall


def _client_state(graph: AttachedGraph, names: Sequence[str], max_bytes: int) -> ClientState:
    """Return what clients see of a graph's state: the keys of these names that it has, and those
    of components that it draws."""
    known, drawn = state_keys(graph.graph), ui_keys(graph.graph)
    shown = dict.fromkeys([*(name for name in names if name in known), *drawn])
    return ClientState((*shown,), max_bytes, frozenset(drawn))


def _require_one(found: Collection[Any], refused: Refused | None) -> None:
    if refused:
        error = next(iter(refused.values()))
        if not found:
            raise error


def _results(
    loaded: LoadedGraph, graph: Pregel[Any, Any], undeclared: Undeclared, limits: Limits
) -> ResultView:
    # The built-in graph cuts what clients see before it is stored.
    if loaded.source.setting == BUILT_IN:
        return own_result
    refuse_gated_tools(graph)
    return declared_results(graph, loaded.client_fields, undeclared, limits.max_result_bytes)


def _check_names(graph: AttachedGraph, catalogue: Catalogue) -> None:
    """Raises GraphError for a UI tool that has the name of one of the server's."""
    taken = graph.ui_tools.keys() & catalogue.ui_by_name.keys()
    if taken:
        raise GraphError(
            f"its UI tool {min(taken)!r} has the name of one of the server's; give it another"
        )


def _check_used(context: Mapping[str, Any], graphs: Collection[AttachedGraph]) -> None:
    """A single graph has checked its context itself."""
    unused = set(context).difference(*(graph.context.names for graph in graphs))
    if unused and len(graphs) > 1:
        raise GraphError(
            f"TURNSTREAM_CONTEXT has {', '.join(map(repr, sorted(unused)))}, which the context of "
            "no graph declares; leave it out."
        )


def _loaded(source: GraphSource, thread: ThreadPoolExecutor) -> LoadedGraph:
    with named(source.setting, source.folders):
        return thread.submit(_found, source).result()


def _found(source: GraphSource) -> LoadedGraph:
    by_path = isinstance(source.module, Path)
    module: Any = (
        import_file(source.module, source.folders)
        if isinstance(source.module, Path)
        else import_module(source.module)
    )
    value = module
    for part in source.attribute.split("."):
        if not hasattr(value, part):
            where = source.module.name if by_path else source.module  # type: ignore[union-attr]
            raise GraphError(f"{where} has no {source.attribute!r}{_meant(value, part)}")
        value = getattr(value, part)
    if not (isinstance(value, Pregel | StateGraph) or callable(value)):
        raise GraphError(
            f"that is a {type(value).__name__}; name a compiled graph, a StateGraph or a function "
            "that makes one"
        )
    return LoadedGraph(source, value, table_of(module))


def _meant(module: Any, name: str) -> str:
    """Name the graph, or the factory of a similar name, that a module has."""
    own = {key: value for key, value in vars(module).items() if not key.startswith("_")}
    graphs = [key for key, value in own.items() if isinstance(value, Pregel | StateGraph)]
    near = get_close_matches(name, own, n=1)
    if near or not graphs:
        return f"; is {near[0]} meant?" if near else ""
    return f"; it has {', '.join(graphs)}"


async def _made(
    loaded: LoadedGraph, server: _Server, stack: AsyncExitStack
) -> tuple[Pregel[Any, Any], Factory | None]:
    """The graph as it is at the start, and the factory that makes it anew for each run."""
    graph, factory = await _called(loaded, server, stack)
    announce_own_storage(loaded.source.name, graph, server.checkpointer, server.store)
    return graph, factory


async def _called(
    loaded: LoadedGraph, server: _Server, stack: AsyncExitStack
) -> tuple[Pregel[Any, Any], Factory | None]:
    made, (model, catalogue) = loaded.found, server.ours
    if isinstance(made, Pregel | StateGraph):
        return await graph_of(made, stack), None
    if takes(made, model, catalogue, **server.given):
        if loaded.source.setting != BUILT_IN:
            catalogue = ungated(catalogue)
        return await graph_of(made(model, catalogue, **server.given), stack), None
    factory = Factory.of(made, server.given)
    if not factory.is_per_run:
        return await factory(server.start, stack), None
    async with AsyncExitStack() as for_start:  # Each run opens its own.
        return await factory(server.start, for_start), factory
