"""What callers may do: the roles of a policy's file become the rights of a principal."""

from dataclasses import dataclass
from pathlib import Path

from server.users.policy_file import PolicyFile, read_policy
from server.users.principal import Principal
from server.users.rights import Counters, Rights
from server.users.rules import Rule, load_rule


class Forbidden(Exception):
    """The caller has no role that the policy knows, and there is no default one."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Gives rights; without a file everything is allowed to everybody."""

    file: PolicyFile | None = None
    rule: Rule | None = None
    counters: Counters | None = None

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
        return Rights(principal, roles, self.rule, self.counters)


NO_POLICY = Policy()


def open_policy(path: Path | None) -> Policy:
    """The policy of a file. Raises PolicyError."""
    if path is None:
        return NO_POLICY
    file = read_policy(path)
    counters: Counters | None = None
    if any(role.limits.are_windows for role in file.roles.values()):
        # Here, since not every policy needs the library.
        from server.users.quotas import Quotas

        counters = Quotas()
    return Policy(file, load_rule(file.rule) if file.rule else None, counters)
