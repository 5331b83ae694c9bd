"""The policy: the roles of its file become the rights of a principal."""

import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from turnstream.graphs.rights import Decision
from turnstream.server.callers.principal import Principal
from turnstream.server.callers.rights import Forbidden, Rights
from turnstream.server.extensions.base import Served
from turnstream.server.extensions.users.policy_file import (
    PolicyError,
    PolicyFile,
    Role,
    read_policy,
)
from turnstream.server.extensions.users.rights import Counters, RoleRights, call_limits, matches
from turnstream.server.extensions.users.rules import Rule, load_rule

if TYPE_CHECKING:
    from limits.aio.storage import Storage

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Policy:
    """Gives rights; without a file everything is allowed to everybody."""

    file: PolicyFile | None = None
    rule: Rule | None = None
    counters: Counters | None = None
    _decisions: dict[frozenset[str], dict[str, Decision]] = field(
        default_factory=dict, compare=False, repr=False
    )
    """The decisions of sets of roles on tools, by name."""

    def rights(self, principal: Principal) -> Rights:
        """Raises Forbidden."""
        if self.file is None or principal.method == "off":
            return Rights(principal)
        known = [name for name in dict.fromkeys(principal.roles) if name in self.file.roles]
        if not known and self.file.default_role is not None:
            known = [self.file.default_role]
        if not known:
            raise Forbidden(f"{principal.id!r} has no role of the policy")
        roles = tuple(self.file.roles[name] for name in known)
        remembered = self._decisions.setdefault(frozenset(known), {})
        return RoleRights(principal, roles, self.rule, self.counters, remembered)

    def check(self, served: Served) -> None:
        """Raises PolicyError for what cannot be enforced in a graph that is not ours, which runs
        its tools by itself: a call of them can be denied, but neither waited for nor counted."""
        for name, tools in served.tools_of_graphs.items():
            if self.file:
                self._check(self.file, name, tools)
        self._warn_of_unmatched(served.tools, served.models)

    def _check(self, file: PolicyFile, graph: str, tools: Collection[str]) -> None:
        if self.rule and self.rule.is_async:
            raise PolicyError(
                f"TURNSTREAM_POLICY: the rule {self.rule.name} is async, and cannot be awaited "
                f"where the graph {graph!r} runs its tools; make it a plain function"
            )
        for name, role in file.roles.items():
            for tool in sorted(tool for tool in tools if matches(tool, role.tools)):
                for key in ("approval", "approval_by_others"):
                    if matches(tool, getattr(role, key)):
                        raise _unenforceable(name, key, tool, graph)
                if call_limits(role, tool):
                    raise _unenforceable(name, "limits.tool_calls_per_day", tool, graph)

    def _warn_of_unmatched(self, tools: Collection[str], models: Collection[str]) -> None:
        """Warn of globs that match nothing: a misspelt one under `approval` lets calls run that
        somebody should approve."""
        for name, role in self.file.roles.items() if self.file else ():
            for key, globs, known in _globs(role, tools, models):
                for glob in globs:
                    if glob != "*" and not any(fnmatchcase(one, glob) for one in known):
                        near = get_close_matches(glob.strip("*"), known, 1)
                        logger.warning(
                            "TURNSTREAM_POLICY: roles.%(place)s: %(glob)r matches nothing%(near)s",
                            {
                                "place": f"{name}.{key}",
                                "glob": glob,
                                "near": f"; did you mean {near[0]!r}?" if near else "",
                            },
                        )

    def counted_together(self, shared: "Storage | None") -> "Policy":
        """The same, with what callers use up counted over all workers."""
        if self.counters is None or shared is None:
            return self
        from turnstream.server.extensions.users.quotas import Quotas

        return replace(self, counters=Quotas(shared=shared))


def _globs(
    role: Role, tools: Collection[str], models: Collection[str]
) -> Iterator[tuple[str, Collection[str], Collection[str]]]:
    """The keys of a role that have globs: the key, its globs, the names that they may match."""
    for key in ("tools", "approval", "approval_by_others", "approval_waived", "approves"):
        yield key, getattr(role, key), tools
    yield "models", role.models, models
    yield "limits.tool_calls_per_day", role.limits.tool_calls_per_day, tools


def _unenforceable(role: str, key: str, tool: str, graph: str) -> PolicyError:
    return PolicyError(
        f"TURNSTREAM_POLICY: roles.{role}.{key} covers {tool!r}, which the graph {graph!r} runs by "
        f"itself: that can only be denied. Leave it out of roles.{role}.{key}, or of "
        f"roles.{role}.tools"
    )


def open_policy(path: Path) -> Policy:
    """The policy of a file. Raises PolicyError."""
    file = read_policy(path)
    counters: Counters | None = None
    if any(role.limits.are_windows for role in file.roles.values()):
        # Here, since not every policy needs the library.
        from turnstream.server.extensions.users.quotas import Quotas

        counters = Quotas()
    return Policy(file, load_rule(file.rule) if file.rule else None, counters)
