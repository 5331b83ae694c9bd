"""A langgraph.json: the configuration file of a project for LangGraph's own server.

Its keys: https://docs.langchain.com/langgraph-platform/cli#configuration-file
"""

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from dotenv import dotenv_values
from pydantic import BaseModel, ConfigDict, PositiveFloat, PositiveInt, TypeAdapter, ValidationError

from turnstream.graphs.faults import GraphError

logger = logging.getLogger(__name__)

HONOURED = (
    *("$schema", "graphs", "graphs.*.path", "graphs.*.description", "dependencies", "env"),
    *("auth", "auth.path", "http", "http.app", "http.enable_custom_route_auth", "http.cors"),
    *(f"http.cors.allow_{name}" for name in ("origins", "origin_regex", "methods", "headers")),
    *("http.cors.allow_credentials", "http.cors.expose_headers", "http.cors.max_age"),
    *("http.configurable_headers", "http.configurable_headers.includes"),
    "http.configurable_headers.excludes",
    *("store", "store.index", "store.index.dims", "store.index.embed", "store.index.fields"),
    *("checkpointer", "checkpointer.ttl", "checkpointer.ttl.default_ttl", "checkpointer.serde"),
)
OF_IMAGES = (
    *("python_version", "node_version", "api_version", "base_image", "image_distro"),
    *("pip_config_file", "pip_installer", "dockerfile_lines", "keep_pkg_tools", "source"),
    *("docker_compose_file", "_INTERNAL_docker_tag"),
)
"""They are for the container images that LangGraph's command builds."""
ABSENT = {
    "auth.disable_studio_auth": "Studio is given no exception",
    **dict.fromkeys(
        [f"http.disable_{name}" for name in ("store", "mcp", "a2a", "ui", "webhooks")],
        "this server does not have that part",
    ),
    "http.logging_headers": "no header is logged",
    "checkpointer.serde.pickle_fallback": "threads are never pickled",
}
"""Keys that are kept to by a server that does not have what they switch off."""
UNSUPPORTED = {
    "auth.openapi": "GET /openapi.json describes this server's own methods",
    "auth.cache": "the function is called for each request",
    "http.mount_prefix": "a proxy in front of the server can add one",
    "store.ttl": "items are kept until the graph deletes them",
    "checkpointer.path": "threads are in TURNSTREAM_DATABASE",
    "checkpointer.ttl.sweep_interval_minutes": "old threads are looked for once an hour",
    "checkpointer.ttl.sweep_limit": "all old threads are deleted",
    "checkpointer.serde.allowed_json_modules": "no object is read by its module's name",
    "webhooks": "no webhook is sent",
    "ui": "components are those of the page",
}
"""Keys that have no effect, with advice. A key that no table has has no effect either."""
PROTECTING = (
    *("encryption", "checkpointer.serde.allowed_msgpack_modules"),
    *(f"http.disable_{name}" for name in ("assistants", "threads", "runs", "meta")),
)
"""They protect a project, and this server does not implement them."""
VALUES = {
    "http.middleware_order": "middleware_first",
    "checkpointer.ttl.strategy": "delete",
}
"""The values that this server implements of keys that have several."""
WITHHELD = (
    "http.configurable_headers of %(file)s includes %(names)s, which no graph is given: LangGraph "
    "stores such values with the thread. A graph knows its user by langgraph_auth_user"
)
ANY_ORIGIN = (
    "http.cors.allow_origins of %(file)s has *: pages of any web site can call this server through "
    "the browser of one of its users"
)
_OBJECTS = (
    *("auth", "http", "http.cors", "http.configurable_headers", "store", "store.index"),
    *("checkpointer", "checkpointer.ttl", "checkpointer.serde"),
)
_NEVER_PASSED = (
    *("x-api-key", "x-tenant-id", "x-service-key"),
    # LangGraph keeps configurable values with each checkpoint.
    *("authorization", "proxy-authorization", "cookie"),
)
CONFIGS = "LANGGRAPH_CONFIG"
"""The variable that LangGraph's server reads too."""
_OWN_VARIABLES = "TURNSTREAM_"


class Section(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


_Any = TypeVar("_Any", bound=Section)


class Cors(Section):
    """`http.cors`. None: as the server has it."""

    allow_origins: list[str] = []
    allow_origin_regex: str | None = None
    allow_methods: list[str] | None = None
    allow_headers: list[str] | None = None
    allow_credentials: bool = False
    expose_headers: list[str] = []
    max_age: int = 600


class _Config(BaseModel):
    """The values that `LANGGRAPH_CONFIG` gives each run of one graph."""

    model_config = ConfigDict(extra="forbid", strict=True)

    configurable: dict[str, Any] = {}


_CONFIGS = TypeAdapter(dict[str, _Config])


class ConfigurableHeaders(Section):
    """`http.configurable_headers`: patterns of the headers that a run's graph is given."""

    includes: list[str] | None = None
    excludes: list[str] | None = None

    def passes(self, name: str) -> bool:
        """Return True for the lower-case name of a header that the graph is given."""
        excluded = [*(self.excludes or ()), *_NEVER_PASSED]
        return _matches(name, self.includes or ()) and not _matches(name, excluded)


class StoreIndex(Section):
    """`store.index`: the vector index of LangGraph's store."""

    dims: PositiveInt
    embed: str
    fields: list[str] | None = None


class _ThreadTtl(Section):
    default_ttl: PositiveFloat | None = None


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
    def configurable(self) -> Mapping[str, Mapping[str, Any]]:
        """The configurable values that runs have without their callers', by the names of the
        graphs. Raises GraphError."""
        text = {**self.environment, **os.environ}.get(CONFIGS) or "{}"
        try:
            configs = _CONFIGS.validate_json(text)
        except ValidationError:
            raise GraphError(
                f'{CONFIGS} is not of the form {{"graph": {{"configurable": {{...}}}}}}, or has '
                "more than configurable values"
            ) from None
        return {name: config.configurable for name, config in configs.items()}

    @property
    def auth(self) -> str | None:
        """The function that recognises callers, as TURNSTREAM_AUTH names it. Raises GraphError."""
        given = self.config.get("auth")
        if given is None:
            return None
        path = self.object_place(given.get("path") if isinstance(given, dict) else None)
        if path is None:
            raise GraphError(
                f"the auth of {self.place} names no function: give it a path such as "
                '"./auth.py:auth", or leave auth out'
            )
        return path

    @property
    def app(self) -> str | None:
        """The application of the project's own routes and middleware. Raises GraphError."""
        given = self._value("http.app")
        place = self.object_place(given)
        if given is not None and place is None:
            raise GraphError(
                f"the http.app of {self.place} names no application: write a path such as "
                '"./app.py:app"'
            )
        return place

    @property
    def authenticates_routes(self) -> bool:
        """True if callers of the project's own routes have to be recognised too."""
        return self._value("http.enable_custom_route_auth") is True

    @property
    def cors(self) -> Cors | None:
        """Raises GraphError."""
        return self._section("http.cors", Cors)

    @property
    def configurable_headers(self) -> ConfigurableHeaders | None:
        """Raises GraphError."""
        return self._section("http.configurable_headers", ConfigurableHeaders)

    @property
    def store_index(self) -> StoreIndex | None:
        """Raises GraphError."""
        return self._section("store.index", StoreIndex)

    @property
    def retention_days(self) -> float | None:
        """The days without a run after which a thread is deleted. Raises GraphError."""
        ttl = self._section("checkpointer.ttl", _ThreadTtl)
        is_deleted = self._value("checkpointer.ttl.strategy") in (None, "delete")
        return ttl.default_ttl / 1440 if ttl and ttl.default_ttl and is_deleted else None

    def object_place(self, path: Any) -> str | None:
        """Return a path of the file, as a setting names it. None: it is no path of an object."""
        module, colon, name = path.rpartition(":") if isinstance(path, str) else ("", "", "")
        if not (module and colon and name):
            return None
        return f"{(self.base / module).resolve()}:{name}" if module.endswith(".py") else path

    def check(self) -> None:
        """Log the keys that have no effect.

        Raises GraphError for security options that this server does not implement, and for a value
        that it cannot read.
        """
        set_keys = dict(self._keys())
        refused = [key for key in PROTECTING if set_keys.get(key)]
        if set_keys.get("http.middleware_order") == "auth_first":
            refused.append("http.middleware_order (auth_first)")
        if refused:
            raise GraphError(
                f"it sets {', '.join(refused)}, which this server does not support; remove it if "
                "the project is safe without it"
            )
        _ = self.app, self.cors, self.configurable_headers, self.store_index, self.retention_days
        if self.cors and "*" in self.cors.allow_origins:
            logger.warning(ANY_ORIGIN, {"file": self.place})
        headers = self.configurable_headers
        withheld = {one.lower() for one in (headers and headers.includes) or ()} & {*_NEVER_PASSED}
        if withheld:
            named = {"file": self.place, "names": ", ".join(sorted(withheld))}
            logger.warning(WITHHELD, named)
        of_images = [key for key in set_keys if key in OF_IMAGES]
        if of_images:
            named = {"keys": ", ".join(of_images), "file": self.place}
            logger.info("%(file)s: %(keys)s: for container images, without effect here", named)
        for key, value in set_keys.items():
            self._announce(key, value)
        env = self.config.get("env")
        if isinstance(env, str) and not (self.base / env).is_file():
            named = {"file": self.place, "env": env}
            logger.warning("the env of %(file)s names %(env)s, which is no file", named)
        own = [name for name in self.environment if name.startswith(_OWN_VARIABLES)]
        if own:
            logger.warning(
                "the env of %(file)s has %(names)s, which have no effect there: the server's own "
                "settings are read from its environment and command line",
                {"file": self.place, "names": ", ".join(own)},
            )

    def _announce(self, key: str, value: Any) -> None:
        if _general(key) in HONOURED or key in (*OF_IMAGES, *PROTECTING):
            return
        if key in ABSENT:
            named = {"key": key, "file": self.place, "reason": ABSENT[key]}
            logger.info("the key %(key)s of %(file)s changes nothing: %(reason)s", named)
            return
        if VALUES.get(key) == value:
            return
        instead = UNSUPPORTED.get(key) or _meant(key)
        if key in VALUES:
            instead = f"{value!r:.40} is not supported, {VALUES[key]} is"
        logger.warning(
            "the key %(key)s of %(file)s has no effect%(instead)s",
            {"key": key, "file": self.place, "instead": f": {instead}" if instead else ""},
        )

    def _section(self, key: str, kind: type[_Any]) -> _Any | None:
        value = self._value(key)
        try:
            return None if value is None else kind.model_validate(value)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            place = ".".join(map(str, (key, *fault["loc"])))
            raise GraphError(f"{place} of {self.place}: {fault['msg']}") from None

    def _value(self, key: str) -> Any:
        value: Any = self.config
        for name in key.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def _keys(self, above: str = "", within: Any = None) -> Iterator[tuple[str, Any]]:
        """The keys that are set, with those within the objects that this server reads."""
        for name, value in (self.config if within is None else within).items():
            key = f"{above}{name}"
            if value is None:
                continue
            if (key in _OBJECTS or above == "graphs.") and isinstance(value, dict):
                yield from self._keys(f"{key}.", value)
            elif key == "graphs" and isinstance(value, dict):
                described = {one: given for one, given in value.items() if isinstance(given, dict)}
                yield from self._keys("graphs.", described)
            elif value is not False:
                yield key, value


def project_file(setting: str) -> ProjectFile | None:
    """Read the langgraph.json that a setting names; None: it names a graph. Raises as `read`."""
    place = setting.partition("#")[0]
    return ProjectFile.read(place) if place.endswith(".json") else None


def _general(key: str) -> str:
    """The key with `*` for the name of a graph."""
    if not key.startswith("graphs."):
        return key
    return f"graphs.*.{key.rpartition('.')[2]}"


def _meant(key: str) -> str:
    known = (*HONOURED, *ABSENT, *UNSUPPORTED, *PROTECTING, *VALUES, *OF_IMAGES)
    near = get_close_matches(key, known, n=1, cutoff=0.7)
    return f"is {near[0]} meant?" if near else ""


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern.lower()) for pattern in patterns)
