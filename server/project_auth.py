"""The `auth` of a langgraph.json: the project's own function recognises callers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from turnstream.graphs.faults import GraphError
from turnstream.graphs.project_file import ProjectFile, project_file


def with_project_auth(values: Mapping[str, Any]) -> dict[str, Any]:
    """Add the project's own function to the values of settings.

    Raises ValueError if the settings name other methods without it: otherwise a project that relies
    on its file would be served without authentication. Its own middleware may protect it too.
    """
    project = _project(values.get("graph"))
    if project is None:
        return {**values}
    own = _auth(project)
    if own is None and project.has_app and "auth" not in values:
        raise ValueError(
            f"{project.place} has an http.app, whose middleware does not run here, and no auth: "
            "set TURNSTREAM_AUTH (to off, if the middleware protects nothing), give the file an "
            "auth, or take http.app out of it"
        )
    if own is None:
        return {**values}
    given: Sequence[str] = values.get("auth", (own,))
    if _place(own) not in map(_place, given):
        raise ValueError(
            f"TURNSTREAM_AUTH is {', '.join(given)!r}, and {project.place} has an auth of its own, "
            f"{own!r}: name that one too, leave TURNSTREAM_AUTH out, or take auth out of the file"
        )
    return {**values, "auth": given}


def file_with_auth(graph: str, method: str) -> str | None:
    """Name the langgraph.json whose auth is this method. Raises ValueError."""
    project = _project(graph)
    own = _auth(project) if project else None
    return project.place if project and own and _place(own) == _place(method) else None


def _project(graph: Any) -> ProjectFile | None:
    try:
        return project_file(graph) if isinstance(graph, str) else None
    except (OSError, ValueError):
        return None  # The graphs of the file cannot be loaded: the graph setting reports it.


def _auth(project: ProjectFile) -> str | None:
    try:
        return project.auth
    except GraphError as error:
        raise ValueError(str(error)) from None


def project_folders(graph: str) -> Sequence[Path]:
    """Folders of a project's modules, in the order of search."""
    project = project_file(graph)
    return project.folders if project else ()


def _place(method: str) -> str:
    module, _, name = method.rpartition(":")
    return f"{Path(module).resolve()}:{name}" if module.endswith(".py") else method
