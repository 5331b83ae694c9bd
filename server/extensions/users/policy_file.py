"""The policy's file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PositiveInt, StringConstraints

from turnstream.server.extensions.users.faults import AuthSetupError
from turnstream.server.toml_file import near, read_toml

LimitName = Literal[
    "requests_per_minute",
    "live_runs",
    "open_streams",
    "new_threads_per_day",
    "tokens_per_day",
    "tool_calls_per_day",
]

_Glob = Annotated[str, StringConstraints(min_length=1)]


class PolicyError(AuthSetupError):
    """The policy cannot be used; the message is one line for the person who starts the server."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class RoleLimits(_Section):
    """The limits of each caller; None: no limit. Days begin with the first use."""

    requests_per_minute: PositiveInt | None = None
    live_runs: PositiveInt | None = None
    open_streams: PositiveInt | None = None
    new_threads_per_day: PositiveInt | None = None
    tokens_per_day: PositiveInt | None = None
    tool_calls_per_day: Mapping[_Glob, PositiveInt] = Field(default_factory=dict)
    """By a glob of tool names: the calls of all tools that match it, together."""

    @property
    def are_windows(self) -> bool:
        """True if something is counted for a time."""
        counted = self.model_dump(exclude={"live_runs", "open_streams"})
        return any(counted.values())


class Role(_Section):
    tools: tuple[_Glob, ...] = Field(("*",), strict=False)
    models: tuple[_Glob, ...] = Field(("*",), strict=False)
    """Globs of the names of models, as the settings have them."""
    approval: tuple[_Glob, ...] = Field((), strict=False)
    """Globs of tools whose calls a person must approve, whatever the tool says."""
    approval_by_others: tuple[_Glob, ...] = Field((), strict=False)
    """The same, and not the person whose call it is."""
    approval_waived: tuple[_Glob, ...] = Field((), strict=False)
    """Globs of tools whose calls nobody must approve, whatever the tool says."""
    approves: tuple[_Glob, ...] = Field((), strict=False)
    """Globs of tools whose calls they may decide on for others."""
    limits: RoleLimits = RoleLimits()


def _as_function(rule: str) -> str:
    names = rule.replace(":", ".").split(".")
    if rule.count(":") != 1 or not all(name.isidentifier() for name in names):
        raise ValueError(f"{rule!r} does not name a function as module:function")
    return rule


class PolicyFile(_Section):
    default_role: str | None = None
    rule: Annotated[str, AfterValidator(_as_function)] | None = None
    roles: Mapping[str, Role] = Field(description="add a table such as [roles.user]")


def read_policy(path: Path) -> PolicyFile:
    """Raises PolicyError."""
    file = read_toml(path, PolicyFile, PolicyError, "TURNSTREAM_POLICY")
    policy = file.content
    if policy.default_role is not None and policy.default_role not in policy.roles:
        what = f"there is no role {policy.default_role!r}{near(policy.default_role, policy.roles)}"
        raise PolicyError(file.fault(("default_role",), what))
    return policy
