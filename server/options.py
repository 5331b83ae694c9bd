"""The settings as a person reads them: grouped, with their types and defaults, for `--help all` and
for docs/settings.md."""

import textwrap
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from turnstream.server.storage.location import PostgresUrl
from turnstream.server.system_prompt import DEFAULT_SYSTEM_PROMPT

GROUPS: Mapping[str, Sequence[str]] = {
    "Server": (
        *("host", "port", "allowed_hosts", "allowed_origins", "log_format", "debug", "extensions"),
        *("drain_seconds", "ping_seconds", "header_seconds", "body_seconds", "keep_alive_seconds"),
        "max_connections",
    ),
    "Page": ("page", "path_prefix"),
    "Graph": (
        *("graph", "context", "client_context", "client_state", "app_context"),
        *("hidden_nodes", "removed_messages", "undeclared_results", "substeps"),
        *("max_substeps_bytes", "system_prompt"),
    ),
    "Models": (
        *("model", "models", "title_model", "openai_api_key", "openai_base_url", "image_models"),
        *("reasoning", "think_tags", "omitted_options", "max_history_tokens"),
        "offline_word_seconds",
    ),
    "Tools": (
        *("mcp", "remote_tools", "components", "approval_seconds", "tool_timeout_seconds"),
        *("max_tool_seconds", "max_identical_calls", "max_result_chars", "max_result_bytes"),
    ),
    "Storage": (
        *("database", "database_connections", "redis", "lease_seconds", "busy_seconds"),
        *("undo_seconds", "thread_retention_days"),
    ),
    "Users": (
        *("auth", "policy", "jwt_issuer", "jwt_audience", "jwt_id_claim", "jwt_roles_claim"),
        *("user_header", "groups_header", "trusted_proxies", "session_seconds"),
        *("max_failed_logins", "audit_days"),
    ),
    "Runs and streams": (
        *("max_steps", "max_run_seconds", "max_run_bytes", "max_message_bytes", "max_state_bytes"),
        *("unread_seconds", "run_retention_seconds", "max_retained_bytes", "max_live_runs"),
        *("max_queued_requests", "max_open_streams", "max_new_threads"),
    ),
    "Requests": (
        *("max_message_chars", "max_images", "max_image_bytes", "max_thread_bytes"),
        *("max_body_bytes", "max_body_values", "max_bodies_bytes", "max_responses_bytes"),
    ),
    "Optional features": (
        *("metrics_port", "metrics_host", "traces", "feedback", "feedback_forward", "openapi"),
        *("search", "search_substeps", "versions", "access_log"),
    ),
}
"""The settings of this package; those of other extensions follow, a group of their own."""
SECRETS = ("openai_api_key",)
"""Settings that have no option: every user of a machine can read its command lines."""
_VALUES = {
    **dict.fromkeys(("host", "metrics_host"), "ADDRESS"),
    **dict.fromkeys(("port", "metrics_port"), "PORT"),
    **dict.fromkeys(("redis", "jwt_issuer", "openai_base_url"), "URL"),
    **dict.fromkeys(("model", "title_model"), "MODEL"),
    "graph": "GRAPH",
    "database": "FILE|URL",
}


@dataclass(frozen=True, slots=True)
class Option:
    """One setting."""

    name: str
    field: FieldInfo

    @property
    def variable(self) -> str:
        name = self.name.upper()
        return name if name.startswith("OPENAI_") else f"TURNSTREAM_{name}"

    @property
    def option(self) -> str:
        """The option with its value: `--max-steps N`."""
        name = self.name.replace("_", "-")
        if _kind(self.field.annotation) is bool:
            return f"--[no-]{name}"
        return f"--{name} {self.value}"

    @property
    def value(self) -> str:
        """A placeholder for the value."""
        kind = _kind(self.field.annotation)
        if self.name in _VALUES:
            return _VALUES[self.name]
        if get_origin(kind) is Literal:
            return "{" + ",".join(get_args(kind)) + "}"
        if kind in (int, float):
            unit = self.name.rpartition("_")[2].upper()
            return unit if unit in ("SECONDS", "BYTES", "DAYS", "CHARS", "TOKENS") else "N"
        return {tuple: "LIST", dict: "JSON", Path: "FILE"}.get(get_origin(kind) or kind, "TEXT")

    @property
    def type(self) -> str:
        """The type with its bounds: `int, 0 to 65535`."""
        if self.name == "database":
            return "path or URL"
        annotation = self.field.annotation
        metadata = (*self.field.metadata, *_metadata(annotation))
        return _type(annotation) + _bounds(metadata, _kind(annotation))

    @property
    def default(self) -> str:
        """The default as an environment variable has it; empty for none."""
        value = self.field.get_default(call_default_factory=True)
        if value == DEFAULT_SYSTEM_PROMPT:
            return "built in"
        if value is None or value in ((), ""):
            return ""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, tuple):
            return ",".join(value)
        return f"{value:.10g}" if isinstance(value, int | float) else str(value)

    @property
    def meaning(self) -> str:
        return self.field.description or ""


def grouped(kind: type[BaseSettings]) -> Iterator[tuple[str, list[Option]]]:
    """Yield each group of settings with its title."""
    fields = dict(kind.model_fields)
    for title, names in GROUPS.items():
        yield title, [Option(name, fields.pop(name)) for name in names if name in fields]
    if fields:
        yield "Extensions", [Option(name, field) for name, field in fields.items()]


def full_help(kind: type[BaseSettings]) -> str:
    """Return the text of `--help all`."""
    lines = [
        "usage: turnstream [GRAPH] [OPTION ...]",
        "",
        "Every option, with its type and default. Each is an environment variable too:",
        "--max-steps is TURNSTREAM_MAX_STEPS. The last of an option holds, and an option before",
        "its variable. A LIST is comma-separated.",
    ]
    for title, options in grouped(kind):
        lines += ["", f"{title}:"]
        for each in options:
            lines += _entry(each)
    return "\n".join(lines) + "\n"


def _entry(option: Option) -> list[str]:
    head = f"environment only: {option.variable}" if option.name in SECRETS else option.option
    default = f"default: {option.default}" if option.default else "no default"
    text = f"{option.meaning} ({option.type}; {default})"
    return [
        f"  {head}",
        *textwrap.wrap(text, 88, initial_indent=" " * 6, subsequent_indent=" " * 6),
    ]


def _kind(annotation: Any) -> Any:
    """Return the annotation without `Annotated` and without `| None`."""
    if get_origin(annotation) is Annotated:
        return _kind(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [each for each in get_args(annotation) if each is not type(None)]
        if len(kinds) == 1:
            return _kind(kinds[0])
    return annotation


def _type(annotation: Any) -> str:
    kind = _kind(annotation)
    if get_origin(kind) is Literal:
        return " or ".join(get_args(kind))
    if get_origin(kind) is tuple:
        return f"list of {_type(get_args(kind)[0])}"
    if get_origin(kind) is dict:
        return "JSON object"
    names = {bool: "true or false", Path: "path", SecretStr: "str", PostgresUrl: "URL"}
    return names.get(kind, getattr(kind, "__name__", "str"))


def _bounds(metadata: Iterable[Any], kind: Any) -> str:
    words = {"ge": "", "gt": "", "le": ""}
    for each in metadata:
        words.update({name: f"{getattr(each, name):g}" for name in words if hasattr(each, name)})
    if words["gt"]:
        low = "1 or more" if kind is int and words["gt"] == "0" else f"above {words['gt']}"
        return f", {low}" + (f", at most {words['le']}" if words["le"] else "")
    if words["ge"]:
        return f", {words['ge']} to {words['le']}" if words["le"] else f", {words['ge']} or more"
    return ""


def _metadata(annotation: Any) -> Iterator[Any]:
    """Yield the metadata of the annotation and of the types in it."""
    if get_origin(annotation) is Annotated:
        yield from get_args(annotation)[1:]
    if get_origin(annotation) in (Annotated, Union, types.UnionType):
        for each in get_args(annotation):
            yield from _metadata(each)
