"""Imports the modules of a graph that is not ours, whatever they are called.

A folder of a user may have packages that are named as ours are. Ours are then set aside while the
user's code is imported and its factories run; what was imported keeps what it has found.
"""

import ast
import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from graphs.faults import GraphError

OURS = ("server", "graphs", "tools")
_HERE = Path(__file__).parent.parent


@contextmanager
def user_imports(folders: Sequence[Path]) -> Iterator[None]:
    """Within, modules are looked for in these folders first; behind it, in these folders last.

    Raises GraphError for a function that would import a package of a name of ours later: it would
    get ours.
    """
    taken = [name for name in OURS if any(_has(folder, name) for folder in folders)]
    ours = _taken_out(taken)
    places = [str(folder) for folder in folders]
    sys.path[:0] = places
    importlib.invalidate_caches()
    try:
        yield
        for module in list(sys.modules.values()):
            if taken and _is_within(module, folders):
                _check_later_imports(module, taken)
    finally:
        _taken_out(taken)
        sys.modules.update(ours)
        for place in places:
            sys.path.remove(place)
        sys.path.extend(place for place in places if place not in sys.path)


def import_file(file: Path, folders: Sequence[Path]) -> ModuleType:
    """Import a file by the name that it has in the first of the folders that it lies in, so that
    its relative imports work."""
    for folder in folders:
        if file.is_relative_to(folder):
            name = ".".join(file.relative_to(folder).with_suffix("").parts)
            known = sys.modules.get(name)
            if all(part.isidentifier() for part in name.split(".")) and known is None:
                try:
                    module = importlib.import_module(name)
                except ModuleNotFoundError as error:
                    # Another package of the name of a folder, imported before.
                    if not error.name or not f"{name}.".startswith(f"{error.name}."):
                        raise
                    break
                if _file_of(module) == file:
                    return module
            elif known is not None and _file_of(known) == file:
                return known
            break
    return _by_its_path(file)


def own_object(place: str, folders: Sequence[Path] = ()) -> object:
    """Return the object at `module:name` or `path/to/file.py:name`, looked for in the folders and
    from the working directory. A file may import what lies beside it, as a script may.

    Raises whatever importing it raises.
    """
    source, _, name = place.rpartition(":")
    file = Path(source).resolve(strict=True) if source.endswith(".py") else None
    folders = (*folders, Path.cwd(), *([file.parent] if file else ()))
    with user_imports(folders):
        found: object = import_file(file, folders) if file else importlib.import_module(source)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _by_its_path(file: Path) -> ModuleType:
    name = f"turnstream_graph_{file.stem}"
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def place_of(error: BaseException, folders: Sequence[Path]) -> str:
    """Where in the user's files an error arose, the innermost place: `agent.py, line 3`."""
    places = []
    if isinstance(error, SyntaxError) and error.filename:
        places.append((Path(error.filename), error.lineno))
    trace = error.__traceback__
    while trace:
        places.append((Path(trace.tb_frame.f_code.co_filename), trace.tb_lineno))
        trace = trace.tb_next
    for file, line in places[:1] + places[:0:-1]:
        for folder in folders:
            inside = file.is_relative_to(folder) and "site-packages" not in file.parts
            if inside and not file.is_relative_to(_HERE / "graphs"):
                return f"{file.relative_to(folder)}, line {line}"
    return ""


def _has(folder: Path, name: str) -> bool:
    """Whether a folder has a module of this name that is not our own."""
    package = folder / name
    if folder.resolve() == _HERE:
        return False
    return (folder / f"{name}.py").is_file() or any(package.glob("**/*.py"))


def _taken_out(names: Sequence[str]) -> dict[str, ModuleType]:
    if not names:
        return {}
    return {
        name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in names
    }


def _is_within(module: Any, folders: Sequence[Path]) -> bool:
    file = _file_of(module)
    if file is None or "site-packages" in file.parts:
        return False
    return any(file.is_relative_to(folder) for folder in folders)


def _file_of(module: Any) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if isinstance(file, str) and file.endswith(".py") else None


def _check_later_imports(module: ModuleType, taken: Sequence[str]) -> None:
    file = _file_of(module)
    assert file is not None
    for function in ast.walk(ast.parse(file.read_bytes())):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        for node in ast.walk(function):
            for name in _imported(node):
                if name.partition(".")[0] in taken:
                    raise GraphError(
                        f"{file.name}, line {node.lineno}, imports {name!r} inside a function, "  # type: ignore[attr-defined]
                        "when that is the server's own package; import it at the top of the file"
                    )


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level and node.module:
        return [node.module]
    return []
