"""The policy's file: what it may say, and one sentence with the line of what is wrong with it."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, StringConstraints, ValidationError

from turnstream.server.extensions.users.faults import AuthSetupError

LimitName = Literal[
    "requests_per_minute",
    "live_runs",
    "open_streams",
    "new_threads_per_day",
    "tokens_per_day",
    "tool_calls_per_day",
]

_Glob = Annotated[str, StringConstraints(min_length=1)]
_WORD = re.compile(r'"([^"]*)"|\'([^\']*)\'|([A-Za-z0-9_-]+)')


_EXPECTED = {
    "tuple_type": "should be a list",
    "string_type": "should be a string",
    "string_too_short": "should not be empty",
    "int_type": "should be a whole number",
    "int_from_float": "should be a whole number",
    "greater_than": "should be greater than 0",
    "mapping_type": "should be a table",
    "dict_type": "should be a table",
    "model_type": "should be a table",
    "model_attributes_type": "should be a table",
}
"""By pydantic's name of a fault."""


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


class PolicyFile(_Section):
    default_role: str | None = None
    rule: str | None = Field(None, pattern=r"^[\w.]+:[\w.]+$")
    roles: Mapping[str, Role]


def read_policy(path: Path) -> PolicyFile:
    """Raises PolicyError."""
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except OSError as error:
        raise PolicyError(
            f"TURNSTREAM_POLICY: {path} cannot be read: {error.strerror or error}"
        ) from None
    except UnicodeDecodeError:
        raise PolicyError(f"{path.name}: the file is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{path.name}: {error}") from None
    try:
        policy = PolicyFile.model_validate(content)
    except ValidationError as error:
        faults = [_explained(fault) for fault in error.errors(include_url=False)]
        first = min(faults, key=lambda fault: line_of(text, fault[0]))
        raise _fault(path, text, *first) from None
    if policy.default_role is not None and policy.default_role not in policy.roles:
        what = f"there is no role {policy.default_role!r}{_near(policy.default_role, policy.roles)}"
        raise _fault(path, text, ("default_role",), what)
    return policy


def _fault(path: Path, text: str, place: Sequence[str | int], what: str) -> PolicyError:
    named = ".".join(str(step) for step in place if isinstance(step, str))
    return PolicyError(f"{path.name}, line {line_of(text, place)}: {named}: {what}")


def _explained(fault: Any) -> tuple[Sequence[str | int], str]:
    """The place of a fault that pydantic found, and what is wrong there."""
    place = [step for step in fault["loc"] if step != "[key]"]
    match fault["type"]:
        case "extra_forbidden":
            known = _keys_of(place[:-1])
            return place, f"unknown key{_near(str(place[-1]), known)}"
        case "missing":
            return place, "missing; add a table such as [roles.user]"
        case "string_pattern_mismatch":
            return place, f"{fault['input']!r} does not name a function as module:function"
    expected = _EXPECTED.get(fault["type"]) or str(fault["msg"])
    return place, f"{expected}, not {_shown(fault['input'])}"


def _keys_of(section: Sequence[str | int]) -> Sequence[str]:
    """The keys that a section may have: the file's, a role's or its limits'."""
    kinds: tuple[type[BaseModel], ...] = (PolicyFile, PolicyFile, Role, RoleLimits)
    return [*kinds[min(len(section), 3)].model_fields]


def _near(word: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    near = get_close_matches(word, known, 1)
    listed = ", ".join(known) or "none"
    return f"; did you mean {near[0]!r}?" if near else f"; there are: {listed}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def line_of(text: str, place: Sequence[str | int]) -> int:
    """The line of a key, from 1; that of the nearest table or key around it if it has none."""
    path = [str(step) for step in place if isinstance(step, str)]
    table: list[str] = []
    best = (0, 1)
    for number, line in enumerate(text.splitlines(), start=1):
        key, equals, _ = line.strip().partition("=")
        if key.startswith("["):
            found = table = _words(key.strip("[] "))
        elif equals and not key.startswith("#"):
            found = [*table, *_words(key)]
        else:
            continue
        shared = _shared(found, path)
        if shared > best[0]:
            best = (shared, number)
    return best[1]


def _words(dotted: str) -> list[str]:
    return [a or b or c for a, b, c in _WORD.findall(dotted)]


def _shared(found: Sequence[str], path: Sequence[str]) -> int:
    """Return the number of steps that two paths have in common from the first."""
    count = 0
    for one, other in zip(found, path, strict=False):
        if one != other:
            break
        count += 1
    return count
