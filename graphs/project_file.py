"""A langgraph.json: the file in which a project of LangGraph's own server says what is served.

Its keys: https://docs.langchain.com/langgraph-platform/cli#configuration-file
"""

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from graphs.faults import GraphError

logger = logging.getLogger(__name__)

_READ = ("$schema", "graphs", "dependencies", "env", "auth", "store", "http", "encryption")
_OF_IMAGES = (
    *("python_version", "node_version", "api_version", "base_image", "image_distro"),
    *("pip_config_file", "pip_installer", "dockerfile_lines", "keep_pkg_tools"),
    *("docker_compose_file", "_INTERNAL_docker_tag"),
)
"""Of the container images that LangGraph's command builds; nothing of a server that runs."""
_AUTH = ("path", "disable_studio_auth")
"""The second is so in any case: there is no way past the function."""
_SWITCHED_OFF = ("assistants", "threads", "runs", "meta")
"""`http.disable_*` of what this server has and does not switch off."""
_NOT_THERE = ("store", "mcp", "a2a", "ui", "webhooks")
"""`http.disable_*` of what this server does not have."""
_INSTEAD = {
    "http.cors": "TURNSTREAM_ALLOWED_ORIGINS names the origins that may call",
    "http.app": "its routes are not served, and its middleware guards nothing",
    "store": "the server's has no index and keeps its items for good",
    "checkpointer": "threads are in TURNSTREAM_DATABASE, TURNSTREAM_THREAD_RETENTION_DAYS deletes "
    "old ones",
}


@dataclass(frozen=True, slots=True)
class ProjectFile:
    place: str
    """As the setting names it."""
    config: Mapping[str, Any]

    @classmethod
    def read(cls, place: str) -> "ProjectFile":
        """Raises OSError, and ValueError for what is no JSON object."""
        config = json.loads(Path(place).read_text(encoding="utf-8"))
        if not isinstance(config, dict):
            raise ValueError("it is not a JSON object")
        return cls(place, config)

    @property
    def base(self) -> Path:
        return Path(self.place).resolve().parent

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where its modules are looked for, first to last."""
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

    def check(self) -> None:
        """Name in the log what has no effect. Raises GraphError for what protects the project and
        is not done here."""
        unprotected = [*self._unprotected()]
        if unprotected:
            raise GraphError(
                f"it has {', '.join(unprotected)}, which this server does not do; leave that out "
                "if the project is safe without it"
            )
        for key in self._without_effect():
            instead = _INSTEAD.get(key)
            logger.warning(
                "the key %(key)s of %(file)s has no effect%(instead)s",
                {"key": key, "file": self.place, "instead": f": {instead}" if instead else ""},
            )

    def _unprotected(self) -> Iterator[str]:
        http = _object(self.config, "http")
        if self.config.get("encryption"):
            yield "encryption"
        yield from (f"http.disable_{it}" for it in _SWITCHED_OFF if http.get(f"disable_{it}"))

    def _without_effect(self) -> Iterator[str]:
        known = {*_READ, *_OF_IMAGES} - {"store"}
        yield from (key for key, value in self.config.items() if key not in known and value)
        auth, http = _object(self.config, "auth"), _object(self.config, "http")
        yield from (f"auth.{key}" for key, value in auth.items() if key not in _AUTH and value)
        said = {f"disable_{name}" for name in (*_SWITCHED_OFF, *_NOT_THERE)}
        yield from (f"http.{key}" for key, value in http.items() if key not in said and value)


def project_file(setting: str) -> ProjectFile | None:
    """The langgraph.json that a setting names; None: it names a graph alone. Raises as `read`."""
    place = setting.partition("#")[0]
    return ProjectFile.read(place) if place.endswith(".json") else None


def _object(config: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = config.get(key)
    return value if isinstance(value, dict) else {}
