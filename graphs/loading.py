"""The graph by setting, as its author has it.

`module:name`, `path/to/file.py:name` or `path/to/langgraph.json` (with `#name` if it has several),
where the name is a compiled graph, a StateGraph, or a factory: a function, sync or async, that
returns one of these or an async context manager of it. A factory is called with nothing, with a
config, or as ours is: `build(model, catalogue, checkpointer=, limits=, system_prompt=)`. What a
langgraph.json holds: https://docs.langchain.com/langgraph-platform/cli#configuration-file
"""

import inspect
import json
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from graphs.attached import AttachedGraph, attach
from graphs.client_fields import Fields, table_of
from graphs.faults import GraphError
from graphs.limits import Limits
from graphs.result_view import Undeclared, declared_results, own_result
from graphs.user_modules import import_file, place_of, user_imports

BUILT_IN = "graphs.chat:build"
MAX_FAULT_CHARS = 500

Build = Callable[..., Pregel[Any, Any, Any, Any]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GraphSource:
    """Where a graph is."""

    setting: str
    module: str | Path
    name: str
    folders: tuple[Path, ...] = ()
    """Where its modules are looked for, first to last."""
    environment: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class LoadedGraph:
    """What the setting names: a graph, or what makes one."""

    source: GraphSource
    found: Any
    client_fields: Fields
    """What its module declares of its tools' results."""


def load(setting: str) -> LoadedGraph:
    """Import what the setting names. Raises GraphError."""
    with _named(setting, (Path.cwd(),)):
        source = _source(setting)
    for name, value in (source.environment or {}).items():
        os.environ.setdefault(name, value)
    with (
        _named(setting, source.folders),
        user_imports(source.folders),
        # A module may call asyncio.run, which a thread with a loop cannot.
        ThreadPoolExecutor(1, "graph") as thread,
    ):
        return thread.submit(_found, source).result()


@asynccontextmanager
async def open_graph(
    loaded: LoadedGraph,
    checkpointer: BaseCheckpointSaver[Any],
    context: Mapping[str, Any],
    *ours: Any,
    limits: Limits,
    undeclared_results: Undeclared = "hide",
    **more: Any,
) -> AsyncIterator[AttachedGraph]:
    """Make the graph, and attach it to the checkpointer. `ours`, `limits` and `more` are what a
    factory of our own kind is given beside that. Raises GraphError."""
    source = loaded.source
    async with AsyncExitStack() as stack:
        with _named(source.setting, source.folders), user_imports(source.folders):
            given = {"checkpointer": checkpointer, "limits": limits, **more}
            graph = await _made(loaded.found, ours, given, stack)
            if graph.checkpointer and graph.checkpointer is not checkpointer:
                kind = type(graph.checkpointer).__name__
                logger.warning(
                    "the graph's own checkpointer (%(kind)s) is replaced by the server's",
                    {"kind": kind},
                )
            attached = attach(
                graph,
                checkpointer,
                context,
                # The built-in graph cuts what clients see before it is stored.
                own_result
                if source.setting == BUILT_IN
                else declared_results(
                    graph, loaded.client_fields, undeclared_results, limits.max_result_bytes
                ),
            )
        yield attached


def _source(setting: str) -> GraphSource:
    place, _, name = setting.partition("#")
    if place.endswith(".json"):
        return _configured(setting, Path(place).resolve(), name)
    # The built-in one is ours, whatever the user's folder has.
    return _placed(setting, setting, () if setting == BUILT_IN else (Path.cwd(),))


def _placed(
    setting: str, place: str, folders: tuple[Path, ...], base: Path = Path()
) -> GraphSource:
    module, colon, name = place.rpartition(":")
    if not (colon and module and name):
        raise GraphError(
            "name it as module:name, file.py:name or langgraph.json; the built-in one is "
            f"{BUILT_IN}"
        )
    if not module.endswith(".py"):
        return GraphSource(setting, module, name, folders)
    file = (base / module).resolve()
    if not file.is_file():
        raise GraphError(f"there is no file {file}")
    root = file.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    beside = () if any(map(file.is_relative_to, folders)) and base != Path() else (root,)
    return GraphSource(setting, file, name, _once(*beside, *folders))


def _configured(setting: str, file: Path, name: str) -> GraphSource:
    """Of a langgraph.json: its graph of this name, or its only one."""
    config = json.loads(file.read_text(encoding="utf-8"))
    graphs = config.get("graphs") or {}
    if not name and len(graphs) == 1:
        (name,) = graphs
    if name not in graphs:
        known = ", ".join(f"{setting.partition('#')[0]}#{known}" for known in graphs) or "none"
        raise GraphError(f"its graphs are: {known}")
    entry = graphs[name]
    place = entry["path"] if isinstance(entry, dict) else entry
    base = file.parent
    local = [base / d for d in config.get("dependencies") or ["."] if (base / d).is_dir()]
    folders = _once(*(p.resolve() for d in local for p in (d, d / "src") if p.is_dir()), base)
    placed = _placed(setting, place, folders, base)
    environment = _environment(config.get("env") or {}, base)
    return GraphSource(setting, placed.module, placed.name, placed.folders, environment)


def _environment(env: Any, base: Path) -> dict[str, str]:
    """`env` is a file of variables, or an object."""
    values = dotenv_values(base / env) if isinstance(env, str) else env
    return {name: str(value) for name, value in values.items() if value is not None}


def _once(*folders: Path) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(folders))


def _found(source: GraphSource) -> LoadedGraph:
    by_path = isinstance(source.module, Path)
    module: Any = (
        import_file(source.module, source.folders)
        if isinstance(source.module, Path)
        else import_module(source.module)
    )
    value = module
    for part in source.name.split("."):
        if not hasattr(value, part):
            where = source.module.name if by_path else source.module  # type: ignore[union-attr]
            raise GraphError(f"{where} has no {source.name!r}")
        value = getattr(value, part)
    if not (isinstance(value, Pregel | StateGraph) or callable(value)):
        raise GraphError(
            f"that is a {type(value).__name__}; name a compiled graph, a StateGraph or a function "
            "that makes one"
        )
    return LoadedGraph(source, value, table_of(module))


async def _made(
    found: Any, ours: Sequence[Any], given: Mapping[str, Any], stack: AsyncExitStack
) -> Any:
    made = found
    if not isinstance(found, Pregel | StateGraph):
        made = _called(found, ours, given)
        if inspect.isawaitable(made):
            made = await made
        if not isinstance(made, Pregel | StateGraph) and hasattr(made, "__aenter__"):
            made = await stack.enter_async_context(made)
    if isinstance(made, StateGraph):
        made = made.compile()
    if not isinstance(made, Pregel):
        raise GraphError(f"it made a {type(made).__name__}; return a graph")
    return made


def _called(factory: Any, ours: Sequence[Any], given: Mapping[str, Any]) -> Any:
    signature = inspect.signature(factory)
    config: dict[str, Any] = {"configurable": {}}
    if _takes(signature, *ours, **given):
        return factory(*ours, **given)
    if "config" in signature.parameters and _takes(signature, config=config):
        return factory(config=config)
    if _takes(signature):
        return factory()
    if _takes(signature, config):
        return factory(config)
    raise GraphError(
        f"it wants {signature}; a factory is called with nothing, with a config, or with model, "
        f"catalogue, {', '.join(f'{name}=' for name in given)}"
    )


def _takes(signature: inspect.Signature, *args: Any, **named: Any) -> bool:
    try:
        signature.bind(*args, **named)
    except TypeError:
        return False
    return True


@contextmanager
def _named(setting: str, folders: Sequence[Path]) -> Iterator[None]:
    """Whatever is raised within becomes one line with the setting and the place."""
    try:
        yield
    except GraphError as error:
        raise GraphError(f"TURNSTREAM_GRAPH cannot be {setting!r}: {error}.") from error.__cause__
    except (Exception, SystemExit) as error:
        words = " ".join(str(error).split())[:MAX_FAULT_CHARS].rstrip(".")
        place = place_of(error, folders)
        fault = f"{type(error).__name__}: {words}{f' ({place})' if place else ''}"
        raise GraphError(f"TURNSTREAM_GRAPH cannot be {setting!r}: {fault}.") from error
