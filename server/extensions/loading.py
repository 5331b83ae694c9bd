"""Find, check and load extensions: ours, those of installed packages, and those that the settings
name."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

from pydantic_settings import BaseSettings, CliApp, NoDecode, SettingsConfigDict

from turnstream.graphs.user_modules import own_object
from turnstream.server.extensions.base import EXTENSION_API, Extension, ExtensionError
from turnstream.server.extensions.built_in import BUILT_IN, ServerSettings
from turnstream.server.extensions.recording import the_one
from turnstream.server.settings import OFF, Settings
from turnstream.server.storage.extension_tables import ExtensionTables
from turnstream.server.storage.opened import Files, StorageEngine
from turnstream.server.storage.search import Search
from turnstream.server.storage.tables import metadata

COMMANDS = ("dev", "doctor", "new")
"""First arguments that are commands of the server's own."""
ADMINISTRATION = ("threads", "extensions", "migrate")
"""First arguments that are commands of `turnstream.server.commands`; extensions add others."""
ANY_FUNCTION = "module:function"
RESERVED_TABLES = frozenset(metadata.tables) | {
    *("checkpoints", "writes", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations"),
    *("store", "store_migrations", "store_vectors", "vector_migrations", "turnstream_schema"),
}
"""Tables of the server and of LangGraph."""
GROUP = "turnstream.extensions"
"""The group of the entry points by which installed packages register extensions."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")

ExtensionType = type[Extension]


def declared(names: Sequence[str] = ()) -> tuple[ExtensionType, ...]:
    """Return our extensions, those of installed packages, and those of `names`: `module:class` or
    `file.py:class`. Raises ExtensionError."""
    named = (_checked(name, _loaded(name)) for name in names)
    found: tuple[ExtensionType, ...] = (*BUILT_IN, *_installed(), *named)
    found = tuple(dict.fromkeys(found))  # the setting may name an installed one
    tables = [table for each in found if each.tables for table in each.tables.tables]
    for kind, taken in (
        ("name", [each.name for each in found]),
        (
            "command",
            [
                *(*COMMANDS, *ADMINISTRATION),
                *(name for each in found for name in (*each.commands, *each.administration)),
            ],
        ),
        ("method of TURNSTREAM_AUTH", [OFF, *(name for each in found for name in each.methods)]),
        ("table", [*RESERVED_TABLES, *tables]),
    ):
        (doubled, count), *_ = Counter(taken).most_common(1)
        if count > 1:
            raise ExtensionError(
                f"the {kind} {doubled!r} of an extension is taken by another one or by the server: "
                "rename it, or leave one out"
            )
    return found


def settings_with(extensions: Iterable[ExtensionType]) -> type[ServerSettings]:
    """Return the class of settings with the section of each extension. Raises ExtensionError."""
    bases: list[type] = [ServerSettings]
    for each in extensions:
        if each.settings and each not in BUILT_IN:
            _check_section(each.name, each.settings, bases)
            bases.append(each.settings)
    if len(bases) == 1:
        return ServerSettings
    described = {
        "__doc__": ServerSettings.__doc__,
        "__module__": __name__,
        "model_config": ServerSettings.model_config,
    }
    return type("ServerSettings", tuple(bases), described)


def _check_section(name: str, section: type[BaseSettings], others: Iterable[type]) -> None:
    fields = section.model_fields
    for field in fields:
        if not (field == name or field.startswith(f"{name}_")):
            raise ExtensionError(
                f"the extension {name!r} has a setting {field!r}; its settings begin with {name}_"
            )
    # A validator of the same name would replace the other one.
    own = {*fields, *(each for each in vars(section) if not each.startswith(("__", "model_")))}
    for other in others:
        taken = own & {*dir(other), *getattr(other, "model_fields", ())} - {*dir(BaseSettings)}
        if taken:
            raise ExtensionError(
                f"the settings of the extension {name!r} have {min(taken)!r}, which is a name of "
                f"others: begin it with {name}_"
            )


def check_methods(extensions: Sequence[ExtensionType], settings: Settings) -> None:
    """Raises ExtensionError for a method in TURNSTREAM_AUTH by which no extension recognises
    callers."""
    methods = [name for each in _known_to(settings, extensions) for name in each.methods]
    for method in settings.auth:
        if method != OFF and not _is_among(methods, method):
            names = ", ".join((OFF, *(name for name in methods if name != ANY_FUNCTION)))
            function = f" and no {ANY_FUNCTION}" if ANY_FUNCTION in methods else ""
            raise ExtensionError(f"TURNSTREAM_AUTH: {method!r} is none of {names}{function}")


def switched_on(extensions: Sequence[ExtensionType], settings: Settings) -> tuple[Extension, ...]:
    """Make the extensions that the settings switch on. Raises ExtensionError."""
    return tuple(each(settings) for each in to_be_on(extensions, settings))


def to_be_on(extensions: Sequence[ExtensionType], settings: Settings) -> list[ExtensionType]:
    """Return the extensions that the settings switch on."""
    return [
        each
        for each in _known_to(settings, extensions)
        if each.is_on(settings)
        and (not each.methods or any(_is_among(each.methods, name) for name in settings.auth))
    ]


def _known_to(settings: Settings, extensions: Sequence[ExtensionType]) -> Sequence[ExtensionType]:
    """Return the extensions whose sections the settings have."""
    return [each for each in extensions if isinstance(settings, each.settings or Settings)]


def _is_among(methods: Sequence[str], method: str) -> bool:
    return method in methods or (ANY_FUNCTION in methods and ":" in method)


def search_of(extensions: Sequence[Extension]) -> Callable[[str], Search] | None:
    """Return what parses a search over the list of threads. None: no extension does. Raises
    ExtensionError if several do."""
    searching = the_one(extensions, Extension.search, "search the list of threads")
    return searching.search if searching else None


def engine_of(extensions: Iterable[ExtensionType], settings: Settings) -> StorageEngine:
    """Return what opens the database that the settings name: an extension's, also one of ours that
    is left out of these, or that of files. Raises ExtensionError if none does."""
    there_are = _known_to(settings, (*extensions, *BUILT_IN))
    engines: list[StorageEngine] = [
        engine for each in there_are if (engine := each.engine(settings))
    ]
    if not engines and not isinstance(settings.database, Path):
        raise ExtensionError(
            f"{settings.database} is opened by an extension whose settings these have not: make "
            "them with turnstream.server.extensions.built_in.ServerSettings"
        )
    return engines[0] if engines else Files()


def tables_of(extensions: Sequence[Extension | ExtensionType]) -> list[ExtensionTables]:
    return [
        ExtensionTables(each.name, each.tables, each.version, each.migrate)
        for each in extensions
        if each.tables
    ]


class ExtensionNames(BaseSettings):
    """The one setting that must be known before the others."""

    model_config = SettingsConfigDict(
        env_prefix="TURNSTREAM_",
        env_ignore_empty=True,
        extra="ignore",
        cli_ignore_unknown_args=True,
        cli_kebab_case=True,
        cli_avoid_json=True,
    )
    extensions: Annotated[str, NoDecode] = ""


def named(options: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the extensions that the environment or the command line names."""
    given = [each for each in options if each not in ("-h", "--help")]
    names = CliApp.run(ExtensionNames, cli_args=given).extensions
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _installed() -> list[ExtensionType]:
    return [_checked(point.value, _imported(point)) for point in entry_points(group=GROUP)]


def _imported(point: Any) -> object:
    try:
        return point.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ExtensionError(
            f"the extension {point.value} of an installed package cannot be loaded ({reason}): "
            "update the package, or remove it"
        ) from error


def _loaded(name: str) -> object:
    try:
        return own_object(name, [Path.cwd()])
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ExtensionError(
            f"TURNSTREAM_EXTENSIONS: {name} cannot be loaded ({reason})"
        ) from error


def _checked(place: str, found: object) -> ExtensionType:
    if not isinstance(found, type) or not issubclass(found, Extension):
        raise ExtensionError(
            f"the extension {place} is not a class that extends "
            "turnstream.server.extensions.base.Extension"
        )
    api, name = getattr(found, "api", None), getattr(found, "name", None)
    if api != EXTENSION_API:
        raise ExtensionError(
            f"the extension {place} is made for version {api!r} of the door, and this server has "
            f"version {EXTENSION_API}: update the one or the other"
        )
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ExtensionError(
            f"the extension {place} has the name {name!r}; it needs one of lower-case letters, "
            "digits and underscores"
        )
    if found.recognise is not Extension.recognise and not found.methods:
        raise ExtensionError(
            f"the extension {place} recognises callers, and has no methods of TURNSTREAM_AUTH that "
            "switch it on"
        )
    for table in found.tables.tables if found.tables else ():
        if not (table == name or table.startswith(f"{name}_")):
            raise ExtensionError(
                f"the extension {place} has a table {table!r}; its tables begin with {name}_"
            )
    return found
