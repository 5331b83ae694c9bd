"""What a langgraph.json sets of the server: its `auth`, above all."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from turnstream.graphs.faults import GraphError
from turnstream.graphs.project_file import ProjectFile, project_file

MODEL_ACCESS = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
"""Variables of the server's own models, which its `env` may hold."""


def with_project(values: Mapping[str, Any]) -> dict[str, Any]:
    """Add what a langgraph.json sets to the values of settings: its own function, the time that
    threads are kept, and OpenAI's variables of its `env`.

    Raises ValueError if the settings name other methods without its function: otherwise a project
    that relies on its file would be served without authentication.
    """
    project = _project(values.get("graph"))
    if project is None:
        return {**values}
    with _as_value_error():
        own, days = project.auth, project.retention_days
    access = {
        name.lower(): value
        for name, value in project.environment.items()
        if name in MODEL_ACCESS and value
    }
    kept = {} if days is None else {"thread_retention_days": days}
    added = {**kept, **{n: v for n, v in access.items() if n.upper() not in values}, **values}
    if own is None:
        return added
    given: Sequence[str] = values.get("auth", (own,))
    if _place(own) not in map(_place, given):
        raise ValueError(
            f"TURNSTREAM_AUTH is {', '.join(given)!r}, and {project.place} has an auth of its own, "
            f"{own!r}: name that one too, leave TURNSTREAM_AUTH out, or take auth out of the file"
        )
    return {**added, "auth": given}


def file_with_auth(graph: str, method: str) -> str | None:
    """Name the langgraph.json whose auth is this method. Raises ValueError."""
    project = _project(graph)
    with _as_value_error():
        own = project.auth if project else None
    return project.place if project and own and _place(own) == _place(method) else None


def _project(graph: Any) -> ProjectFile | None:
    try:
        return project_file(graph) if isinstance(graph, str) else None
    except (OSError, ValueError):
        return None  # The graphs of the file cannot be loaded: the graph setting reports it.


@contextmanager
def _as_value_error() -> Iterator[None]:
    try:
        yield
    except GraphError as error:
        raise ValueError(str(error)) from None


def project_folders(graph: str) -> Sequence[Path]:
    """Folders of a project's modules, in the order of search."""
    project = project_file(graph)
    return project.folders if project else ()


def _place(method: str) -> str:
    module, _, name = method.rpartition(":")
    return f"{Path(module).resolve()}:{name}" if module.endswith(".py") else method
