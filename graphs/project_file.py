"""A langgraph.json: the configuration file of a project for LangGraph's own server.

Its keys: https://docs.langchain.com/langgraph-platform/cli#configuration-file
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from turnstream.graphs.faults import GraphError

logger = logging.getLogger(__name__)

_FOLLOWED = (
    *("$schema", "graphs", "dependencies", "env", "auth.path"),
    # There is no exception for Studio.
    "auth.disable_studio_auth",
    # They switch off a part that this server does not have.
    *(f"http.disable_{name}" for name in ("store", "mcp", "a2a", "ui", "webhooks")),
    # They are for the container images that LangGraph's command builds.
    *("python_version", "node_version", "api_version", "base_image", "image_distro"),
    *("pip_config_file", "pip_installer", "dockerfile_lines", "keep_pkg_tools"),
    *("docker_compose_file", "_INTERNAL_docker_tag"),
)
_REFUSED = (
    "encryption",
    *(f"http.disable_{name}" for name in ("assistants", "threads", "runs", "meta")),
)
"""They protect a project, and this server does not implement them."""
_INSTEAD = {
    "http.cors": "TURNSTREAM_ALLOWED_ORIGINS names the origins that may call",
    "http.app": "its routes are not served, and its middleware guards nothing",
    "store": "the server's has no index and keeps its items for good",
    "checkpointer": "threads are in TURNSTREAM_DATABASE, TURNSTREAM_THREAD_RETENTION_DAYS deletes "
    "old ones",
}
"""Advice on keys that have no effect. A key that no table has has no effect either."""


@dataclass(frozen=True, slots=True)
class ProjectFile:
    place: str
    """As the setting names it."""
    config: Mapping[str, Any]

    @classmethod
    def read(cls, place: str) -> "ProjectFile":
        """Raises OSError, or ValueError if the file is not a JSON object."""
        config = json.loads(Path(place).read_text(encoding="utf-8"))
        if not isinstance(config, dict):
            raise ValueError("it is not a JSON object")
        return cls(place, config)

    @property
    def base(self) -> Path:
        return Path(self.place).resolve().parent

    @property
    def folders(self) -> tuple[Path, ...]:
        """Folders of the project's modules, in the order of search."""
        named = self.config.get("dependencies") or ["."]
        local = [self.base / name for name in named if (self.base / name).is_dir()]
        found = (path.resolve() for folder in local for path in (folder, folder / "src"))
        return tuple(dict.fromkeys([*(path for path in found if path.is_dir()), self.base]))

    @property
    def environment(self) -> dict[str, str]:
        """`env` is a file of variables, or an object."""
        env = self.config.get("env") or {}
        values = dotenv_values(self.base / env) if isinstance(env, str) else env
        return {name: str(value) for name, value in values.items() if value is not None}

    @property
    def auth(self) -> str | None:
        """The function that recognises callers, as TURNSTREAM_AUTH names it. Raises GraphError."""
        given = self.config.get("auth")
        if given is None:
            return None
        path = given.get("path") if isinstance(given, dict) else None
        module, colon, name = path.rpartition(":") if isinstance(path, str) else ("", "", "")
        if not (module and colon and name):
            raise GraphError(
                f"the auth of {self.place} names no function: give it a path such as "
                '"./auth.py:auth", or leave auth out'
            )
        return f"{(self.base / module).resolve()}:{name}" if module.endswith(".py") else path

    @property
    def has_app(self) -> bool:
        """The project has routes and middleware of its own."""
        return "http.app" in self._keys

    def check(self) -> None:
        """Log the keys that have no effect.

        Raises GraphError for security options that this server does not implement.
        """
        refused = [key for key in _REFUSED if key in self._keys]
        if refused:
            raise GraphError(
                f"it sets {', '.join(refused)}, which this server does not support; remove it if "
                "the project is safe without it"
            )
        for key in self._keys:
            if key in _FOLLOWED:
                continue
            instead = _INSTEAD.get(key)
            logger.warning(
                "the key %(key)s of %(file)s has no effect%(instead)s",
                {"key": key, "file": self.place, "instead": f": {instead}" if instead else ""},
            )

    @property
    def _keys(self) -> Sequence[str]:
        """The keys that are set, with those within `auth` and `http`."""
        keys: list[str] = []
        for key, value in self.config.items():
            if key in ("auth", "http") and isinstance(value, dict):
                keys += (f"{key}.{inner}" for inner, given in value.items() if given)
            elif value:
                keys.append(key)
        return keys


def project_file(setting: str) -> ProjectFile | None:
    """Read the langgraph.json that a setting names; None: it names a graph. Raises as `read`."""
    place = setting.partition("#")[0]
    return ProjectFile.read(place) if place.endswith(".json") else None
