"""The file of MCP servers.

    {"mcpServers": {
        "files": {"command": "uvx", "args": ["some-server"], "env": {"KEY": "${KEY}"}},
        "search": {"url": "https://...", "headers": {"Authorization": "Bearer ${TOKEN}"},
                   "turnstream": {"optional": true}}}}

`${VAR}` and `${VAR:-default}` are taken from the environment, in every string of a server.
`turnstream` has what is ours; other keys of other programs are passed over.
"""

import json
import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    ValidationError,
    field_validator,
    model_validator,
)

from turnstream.tools.contract import CatalogueError
from turnstream.tools.mcp.forwarding import check_text

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}$]*))?\}")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
Name = Annotated[str, Field(min_length=1)]


class ToolOptions(BaseModel):
    """The options of tools whose names match a glob; what is None another glob says, or the
    default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    allowed: bool | None = None
    """False: there is no such tool here."""
    client_fields: tuple[str, ...] | None = None
    """The fields of a result that clients see; `*`: all; nothing, if nothing is said."""
    approval: bool | None = None
    """True if a person must approve each call; if nothing is said, those of tools which the server
    calls destructive."""
    timeout_seconds: PositiveFloat | None = None
    error_texts: bool | None = None
    """True if model and clients may read what the server says of a call that failed."""


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    optional: bool = False
    """True: the server starts without it."""
    timeout_seconds: PositiveFloat | None = None
    """Seconds of a call of its tools that have no limit of their own."""
    error_texts: bool = False
    """The same."""
    stderr: bool = False
    """True: what a command writes to its standard error goes to ours."""
    elicitation_seconds: NonNegativeFloat = 600
    """Seconds that a question which it asks in a call waits for the user; 0: it may not ask."""
    forward: Mapping[Name, Name] = Field(default_factory=dict)
    """Headers that tell the server who calls: see `forwarding.py`."""
    tools: Mapping[Name, ToolOptions] = Field(default_factory=dict)

    def of(self, tool: str) -> ToolOptions:
        """Return what the globs that match say together; the later one counts."""
        said: dict[str, Any] = {
            "timeout_seconds": self.timeout_seconds,
            "error_texts": self.error_texts,
        }
        for glob, options in self.tools.items():
            if fnmatchcase(tool, glob):
                said |= options.model_dump(exclude_none=True)
        return ToolOptions(**said)

    @field_validator("forward")
    @classmethod
    def _check_forward(cls, forward: Mapping[str, str]) -> Mapping[str, str]:
        for header, text in forward.items():
            check_text(header, text)
        return forward


class Server(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = Field(default_factory=dict)
    type: str | None = None
    disabled: bool = False
    turnstream: Options = Options()

    @model_validator(mode="after")
    def _check(self) -> "Server":
        if bool(self.command) == bool(self.url):
            raise ValueError("give it a command, or a url")
        if self.type not in (None, "stdio", "http", "streamable-http", "streamableHttp"):
            raise ValueError(f"{self.type!r} is not served: use stdio or streamable HTTP")
        if self.command and self.turnstream.forward:
            raise ValueError("forward needs a url: a command gets no headers")
        if self.url and not _is_address(self.url):
            raise ValueError("url is no address: write it as http://host/path or https://host/path")
        forwarded = {header.lower() for header in self.turnstream.forward}
        for header in self.headers:
            if header.lower() in forwarded:
                raise ValueError(f"{header!r} is in headers and in forward: leave out one of them")
        return self

    @field_validator("headers")
    @classmethod
    def _check_headers(cls, headers: Mapping[str, str]) -> Mapping[str, str]:
        """The HTTP client would repeat a faulty value, which may be a secret, in its error."""
        for header, value in headers.items():
            if not _HEADER_NAME.fullmatch(header):
                raise ValueError(f"{header[:60]!r} is not the name of a header")
            if not (value.isascii() and value.isprintable() and value == value.strip()):
                raise ValueError(
                    f"the value of {header} holds what no header may hold: remove line breaks, "
                    "spaces at its ends and what is not ASCII"
                )
        return headers


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of the port, or of an IPv6 address
        return False


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore")

    mcpServers: Mapping[Name, Server]  # noqa: N815  the ecosystem's word


def read_servers(path: Path, environment: Mapping[str, str] = os.environ) -> Mapping[str, Server]:
    """By name, without those that are disabled. Raises CatalogueError, in one line."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _fault(path, f"it cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise _fault(path, f"it is not valid JSON: {error}") from None
    try:
        file = _File.model_validate(_expanded(content, environment, path, ()))
    except ValidationError as error:
        # Not its input, which may be a secret.
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        sentence = first.get("ctx", {}).get("error") or first["msg"]  # ours, or pydantic's
        raise _fault(path, f"{place}: {sentence}") from None
    return {name: server for name, server in file.mcpServers.items() if not server.disabled}


def _expanded(
    value: Any, environment: Mapping[str, str], path: Path, place: tuple[str, ...]
) -> Any:
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: _variable(found, environment, path, place), value)
    if isinstance(value, list):
        return [_expanded(item, environment, path, place) for item in value]
    if isinstance(value, dict):
        return {
            key: _expanded(item, environment, path, (*place, key)) for key, item in value.items()
        }
    return value


def _variable(
    found: re.Match[str], environment: Mapping[str, str], path: Path, place: tuple[str, ...]
) -> str:
    name, default = found.group(1), found.group(2)
    value = environment.get(name) or default or environment.get(name)
    if value is None:
        raise _fault(path, f"{'.'.join(place)} names ${{{name}}}, which is not set")
    return value


def _fault(path: Path, what: str) -> CatalogueError:
    return CatalogueError(f"TURNSTREAM_MCP: {path.name}: {what}")
