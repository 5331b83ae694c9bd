"""The rights of one caller: the tools they may call, and how much of everything.

The core lets a caller do everything, but for the tools to which a request or a thread is narrowed.
An extension gives fewer rights (`turnstream.server.extensions.base.Extension.rights`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from turnstream.graphs.rights import NEEDS_APPROVAL, NOT_ALLOWED, Decision, Refusal
from turnstream.server.callers.principal import Principal

CountedLimit = Literal["live_runs", "open_streams"]
WindowLimit = Literal["requests_per_minute", "new_threads_per_day", "tokens_per_day"]


class Forbidden(Exception):
    """The caller may do nothing here; the message is for the log."""


class LimitExceeded(Exception):
    """A caller has used up a limit of theirs; `retry_after` is in seconds."""

    def __init__(self, limit: str, value: int, retry_after: float = 5) -> None:
        super().__init__(f"{limit} is {value}")
        self.limit = limit
        self.value = value
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of one principal, who may do everything. A subclass restricts them; it leaves
    `narrowed`, `decide`, `refusal_now` and `check_count` as they are."""

    principal: Principal
    narrowings: tuple[frozenset[str], ...] = field(default=(), kw_only=True)
    """Names of tools, to which a request or a thread has narrowed the rights."""

    def narrowed(self, names: Sequence[str] | None) -> Self:
        if names is None:
            return self
        return replace(self, narrowings=(*self.narrowings, frozenset(names)))

    def decide(self, name: str) -> Decision:
        """See `turnstream.graphs.rights.ToolRights`."""
        if any(name not in names for names in self.narrowings):
            return "deny"
        return self.decide_by_role(name)

    def refusal_now(self, name: str, args: Mapping[str, Any]) -> Refusal | None:
        """The same as `refusal`, and by the name, where nothing can be awaited."""
        by_name = self.decide(name)
        if by_name in ("deny", "approval"):
            return NOT_ALLOWED if by_name == "deny" else NEEDS_APPROVAL
        return None if self.allows_now(name, args) else NOT_ALLOWED

    def check_count(self, name: CountedLimit, count: int) -> None:
        """Raises LimitExceeded if so many leave no room for another."""
        most = self.limit(name)
        if most is not None and count >= most:
            raise LimitExceeded(name, most)

    @property
    def restricts_tools(self) -> bool:
        """True if there is a call that they could refuse."""
        return bool(self.narrowings) or type(self) is not Rights

    @property
    def restricts_models(self) -> bool:
        return type(self) is not Rights

    @property
    def approves(self) -> bool:
        """True if they may decide on calls that others have made."""
        return False

    @property
    def counts_tokens(self) -> bool:
        return False

    def decide_by_role(self, name: str) -> Decision:  # noqa: ARG002
        """Decide on a tool by its name alone, whatever the rights are narrowed to."""
        return "allow"

    def may_use_model(self, name: str) -> bool:  # noqa: ARG002
        return True

    def may_approve_own(self, name: str) -> bool:  # noqa: ARG002
        """Check that they may approve calls of a tool that they have made themselves."""
        return True

    def may_approve(self, name: str) -> bool:  # noqa: ARG002
        """Check that they may decide on calls of a tool that others have made."""
        return False

    async def refusal(self, name: str, args: Mapping[str, Any]) -> Refusal | None:
        """See `turnstream.graphs.rights.ToolRights`."""

    async def allows(self, name: str, args: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """Check a call by its arguments, without counting it."""
        return True

    def allows_now(self, name: str, args: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """Check a call by its arguments where nothing can be awaited: one that would have to be
        counted is not allowed."""
        return True

    async def take_call(self, name: str) -> None:
        """Count a call of a tool. Raises LimitExceeded."""

    def limit(self, name: CountedLimit | WindowLimit) -> int | None:  # noqa: ARG002
        """Return a limit of the caller. None: there is none."""
        return None

    async def take(self, name: WindowLimit) -> None:
        """Count one. Raises LimitExceeded."""

    async def check_tokens(self) -> None:
        """Raises LimitExceeded if the day's tokens are used up."""

    async def charge_tokens(self, tokens: int) -> None:
        """Count tokens that were used, also beyond the limit."""
