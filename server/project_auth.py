"""The `auth` of a langgraph.json: the project's own function recognises callers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphs.faults import GraphError
from graphs.project_file import project_file


def with_project_auth(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of settings, with the function of the project that they name, if it has one.

    Raises ValueError if they name other methods: who relies on the file would be open to all.
    """
    own = project_auth(values.get("graph"))
    if own is None:
        return {**values}
    given: Sequence[str] = values.get("auth", (own,))
    if _place(own) not in map(_place, given):
        raise ValueError(
            f"TURNSTREAM_AUTH is {', '.join(given)!r}, and langgraph.json has an auth of its own, "
            f"{own!r}: name that one too, leave TURNSTREAM_AUTH out, or take auth out of the file"
        )
    return {**values, "auth": given}


def project_auth(graph: Any) -> str | None:
    """The function of the langgraph.json that a setting names. Raises ValueError."""
    try:
        project = project_file(graph) if isinstance(graph, str) else None
        return project.auth if project else None
    except GraphError as error:
        raise ValueError(str(error)) from None
    except (OSError, ValueError):
        return None  # The graphs of the file cannot be loaded: that is told with their setting.


def project_folders(graph: str) -> Sequence[Path]:
    """Where the modules of a project are looked for."""
    project = project_file(graph)
    return project.folders if project else ()


def _place(method: str) -> str:
    module, _, name = method.rpartition(":")
    return f"{Path(module).resolve()}:{name}" if module.endswith(".py") else method
