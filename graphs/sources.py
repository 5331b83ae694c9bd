"""The places of the graphs of the setting.

`module:name`, `path/to/file.py:name`, or `path/to/langgraph.json` with all of its graphs; `#name`
behind it makes one of them the default.
"""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from turnstream.graphs.faults import GraphError
from turnstream.graphs.project_file import CONFIGS, ProjectFile
from turnstream.graphs.user_modules import place_of

BUILT_IN = "turnstream.graphs.chat:build"
FORMER_NAME = "graphs.chat:build"
"""The name of the built-in graph before our packages were parts of `turnstream`."""
MAX_FAULT_CHARS = 500
JAVASCRIPT = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")


@dataclass(frozen=True, slots=True)
class GraphSource:
    """The place of one graph."""

    setting: str
    """The setting that names it alone."""
    name: str
    """Its key in the langgraph.json, else the name of its module."""
    module: str | Path
    attribute: str
    folders: tuple[Path, ...] = ()
    """The folders in which its modules are looked for, first to last."""
    environment: Mapping[str, str] = field(default_factory=dict)
    description: str | None = None
    configurable: Mapping[str, Any] = field(default_factory=dict)
    """The configurable values that its runs have without their callers'."""
    is_asked: bool = True
    """False for one of several that the setting does not name."""


class NamedGraphError(GraphError):
    """One that names its setting."""


Refused = MutableMapping[str, GraphError]
"""Why graphs of a langgraph.json cannot be served, by their names."""


def find(setting: str, refused: Refused | None = None) -> tuple[GraphSource, ...]:
    """The graphs that a setting names, the default first.

    Raises GraphError; with `refused`, not for one of several.
    """
    with named(setting, (Path.cwd(),)):
        place, _, name = setting.partition("#")
        if place.endswith(".json"):
            return _configured(place, name, refused)
        # The built-in one is ours, whatever the user's folder has.
        return (_placed(setting, setting, () if setting == BUILT_IN else (Path.cwd(),)),)


@contextmanager
def apart(name: str, refused: Refused | None, *, is_asked: bool) -> Iterator[None]:
    """Within, a GraphError of one graph is kept in `refused`: the others are served. That of the
    graph that was asked for is raised."""
    try:
        yield
    except GraphError as error:
        if refused is None or is_asked:
            raise
        refused[name] = error


@contextmanager
def named(setting: str, folders: Sequence[Path]) -> Iterator[None]:
    """Whatever is raised within becomes a GraphError of one line, with the setting and the place in
    the folders."""
    try:
        yield
    except NamedGraphError:
        raise
    except GraphError as error:
        raise NamedGraphError(_refusal(setting, str(error))) from error.__cause__
    except (Exception, SystemExit) as error:
        words = " ".join(str(error).split())[:MAX_FAULT_CHARS].rstrip(".")
        place = place_of(error, folders)
        fault = f"{type(error).__name__}: {words}{f' ({place})' if place else ''}"
        raise NamedGraphError(_refusal(setting, fault)) from error


def once(*folders: Path) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(folders))


def _refusal(setting: str, fault: str) -> str:
    if setting == FORMER_NAME:
        fault += f"; the built-in one is {BUILT_IN}"
    end = "" if fault.endswith("?") else "."
    return f"TURNSTREAM_GRAPH cannot be {setting!r}: {fault}{end}"


def _placed(
    setting: str, place: str, folders: tuple[Path, ...], base: Path = Path()
) -> GraphSource:
    module, colon, attribute = place.rpartition(":")
    if not (colon and module and attribute):
        raise GraphError(
            "name it as module:name, file.py:name or langgraph.json; the built-in one is "
            f"{BUILT_IN}"
        )
    if module.endswith(JAVASCRIPT):
        raise GraphError(
            f"{module} is JavaScript or TypeScript, and this server runs Python: name a graph in "
            "Python, or serve this one with LangGraph's own server"
        )
    if not module.endswith(".py"):
        return GraphSource(setting, module.rpartition(".")[2], module, attribute, folders)
    file = (base / module).resolve()
    if not file.is_file():
        near = get_close_matches(file.name, (one.name for one in file.parent.glob("*.py")), n=1)
        raise GraphError(f"there is no file {file}{f'; is {near[0]} meant?' if near else ''}")
    root = file.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    beside = () if any(map(file.is_relative_to, folders)) and base != Path() else (root,)
    return GraphSource(setting, file.stem, file, attribute, once(*beside, *folders))


def _configured(place: str, default: str, refused: Refused | None) -> tuple[GraphSource, ...]:
    """The graphs of a langgraph.json."""
    project = ProjectFile.read(place)
    graphs = project.config.get("graphs") or {}
    if not graphs or (default and default not in graphs):
        known = ", ".join(f"{place}#{name}" for name in graphs) or "none"
        raise GraphError(f"its graphs are: {known}")
    project.check()
    folders, environment = project.folders, project.environment
    configurable, found = project.configurable, list[GraphSource]()
    if unknown := [*configurable.keys() - graphs.keys()]:
        raise GraphError(f"{CONFIGS} names {', '.join(unknown)}, which is none of its graphs")
    for name in sorted(graphs, key=lambda name: name != default):
        is_asked = name == default
        with apart(name, refused, is_asked=is_asked):
            source = _entry(f"{place}#{name}", graphs[name], folders, project.base)
            source = replace(source, environment=environment, is_asked=is_asked)
            found.append(replace(source, configurable=configurable.get(name, {})))
    return tuple(found)


def _entry(setting: str, entry: Any, folders: tuple[Path, ...], base: Path) -> GraphSource:
    with named(setting, folders):
        described = entry if isinstance(entry, dict) else {"path": entry}
        source = _placed(setting, described["path"], folders, base)
        name, description = setting.partition("#")[2], described.get("description")
        return replace(source, name=name, description=description)
