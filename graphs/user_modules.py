"""Imports the modules of a graph that is not ours."""

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

_HERE = Path(__file__).parent
_CLONE = _HERE.parent
OURS = frozenset(("server", "graphs", "tools", "static"))


class FoldersHidden(MetaPathFinder):
    """Keeps our folders from being found by their bare names where a clone is searched: a user's
    package of such a name is found instead, or none."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is not None or fullname not in OURS or not (_CLONE / ".package").is_dir():
            return None
        elsewhere = [place for place in sys.path if Path(place).resolve() != _CLONE]
        found = PathFinder.find_spec(fullname, elsewhere)
        if found is None:
            said = f"No module named {fullname!r}; ours is 'turnstream.{fullname}'"
            raise ModuleNotFoundError(said, name=fullname)
        return found


FOLDERS_HIDDEN = FoldersHidden()


@contextmanager
def user_imports(folders: Sequence[Path]) -> Iterator[None]:
    """Within, modules are looked for in these folders first; behind it, in these folders last."""
    if FOLDERS_HIDDEN not in sys.meta_path:
        sys.meta_path.insert(0, FOLDERS_HIDDEN)
    places = [str(folder) for folder in folders]
    sys.path[:0] = places
    importlib.invalidate_caches()
    try:
        yield
    finally:
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
    """Return the place in the user's files where an error arose, the innermost one: `agent.py, line
    3`."""
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
            if inside and not file.is_relative_to(_HERE):
                return f"{file.relative_to(folder)}, line {line}"
    return ""


def _file_of(module: Any) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if isinstance(file, str) and file.endswith(".py") else None
