"""The rights that the roles of a policy give to a caller.

A role's limits hold for each of its callers. Of several roles the most generous decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Protocol

from turnstream.graphs.rights import NOT_ALLOWED, Decision, Refusal
from turnstream.server.callers.rights import CountedLimit, LimitExceeded, Rights, WindowLimit
from turnstream.server.extensions.users.policy_file import Role
from turnstream.server.extensions.users.rules import Rule

REMEMBERED_NAMES = 4096
"""Every model call asks about every tool of the catalogue."""


class Counters(Protocol):
    """Counts what callers do in windows of time; see `Quotas`."""

    async def take(self, owner: str, limit: WindowLimit, value: int) -> None: ...

    async def check(self, owner: str, limit: WindowLimit, value: int) -> None: ...

    async def charge(self, owner: str, limit: WindowLimit, value: int, cost: int) -> None: ...

    async def take_call(self, owner: str, choices: Sequence[Mapping[str, int]]) -> None: ...


@dataclass(frozen=True, slots=True)
class RoleRights(Rights):
    """The rights of one principal with some roles of the policy, at least one."""

    roles: tuple[Role, ...]
    rule: Rule | None = None
    counters: Counters | None = None
    remembered: dict[str, Decision] = field(default_factory=dict, compare=False, repr=False)
    """The decisions of the roles on tools, by name."""

    @property
    def restricts_tools(self) -> bool:
        return True

    @property
    def restricts_models(self) -> bool:
        return True

    @property
    def approves(self) -> bool:
        return any(role.approves for role in self.roles)

    @property
    def counts_tokens(self) -> bool:
        return self.counters is not None and self.limit("tokens_per_day") is not None

    def decide_by_role(self, name: str) -> Decision:
        known = self.remembered.get(name)
        if known is None:
            known = self._decided(name)
            if len(self.remembered) < REMEMBERED_NAMES:
                self.remembered[name] = known
        return known

    def _decided(self, name: str) -> Decision:
        allowing = self._allowing(name)
        if not allowing:
            return "deny"
        if any(matches(name, role.approval_waived) for role in allowing):
            return "waived"
        asks = all(matches(name, (*r.approval, *r.approval_by_others)) for r in allowing)
        return "approval" if asks else "allow"

    def may_use_model(self, name: str) -> bool:
        return any(matches(name, role.models) for role in self.roles)

    def may_approve_own(self, name: str) -> bool:
        allowing = self._allowing(name)
        return not allowing or not all(matches(name, r.approval_by_others) for r in allowing)

    def may_approve(self, name: str) -> bool:
        return any(matches(name, role.approves) for role in self.roles)

    async def refusal(self, name: str, args: Mapping[str, Any]) -> Refusal | None:
        if not await self.allows(name, args):
            return NOT_ALLOWED
        try:
            await self.take_call(name)
        except LimitExceeded as error:
            sentence = f"The user's limit {error.limit}, {error.value}, is used up for now."
            return Refusal("limit_exceeded", sentence)
        return None

    async def allows(self, name: str, args: Mapping[str, Any]) -> bool:
        return self.rule is None or await self.rule.allows(self.principal, name, args)

    def allows_now(self, name: str, args: Mapping[str, Any]) -> bool:
        if self.rule and not self.rule.allows_now(self.principal, name, args):
            return False
        return not self._counted(name)

    async def take_call(self, name: str) -> None:
        """Count a call. Raises LimitExceeded if no role that allows the tool has room for it."""
        choices = self._counted(name)
        if self.counters and choices:
            await self.counters.take_call(self.principal.owner, choices)

    def _counted(self, name: str) -> list[dict[str, int]]:
        """The limits of a tool's calls, by glob, of each role that allows it; none if one of them
        has no limit."""
        choices = [call_limits(role, name) for role in self._allowing(name)]
        return choices if all(choices) else []

    def limit(self, name: CountedLimit | WindowLimit) -> int | None:
        """The largest of the roles' limits; None: unlimited."""
        values: list[int | None] = [getattr(role.limits, name) for role in self.roles]
        known = [value for value in values if value is not None]
        return max(known) if known and len(known) == len(values) else None

    async def take(self, name: WindowLimit) -> None:
        most = self.limit(name)
        if self.counters and most is not None:
            await self.counters.take(self.principal.owner, name, most)

    async def check_tokens(self) -> None:
        most = self.limit("tokens_per_day")
        if self.counters and most is not None:
            await self.counters.check(self.principal.owner, "tokens_per_day", most)

    async def charge_tokens(self, tokens: int) -> None:
        most = self.limit("tokens_per_day")
        if self.counters and most is not None and tokens:
            await self.counters.charge(self.principal.owner, "tokens_per_day", most, tokens)

    def _allowing(self, name: str) -> list[Role]:
        return [role for role in self.roles if matches(name, role.tools)]


@lru_cache(REMEMBERED_NAMES)
def matches(name: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def call_limits(role: Role, name: str) -> dict[str, int]:
    """The limits that a call of a tool counts towards, by glob."""
    limits = role.limits.tool_calls_per_day
    return {glob: most for glob, most in limits.items() if fnmatchcase(name, glob)}
