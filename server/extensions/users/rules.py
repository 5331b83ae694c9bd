"""The rule of a policy: a function of the user's own that may deny a call."""

import logging
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from turnstream.graphs.user_modules import own_object
from turnstream.server.callers.principal import Principal
from turnstream.server.extensions.users.policy_file import PolicyError
from turnstream.tools.author_calls import AuthorCalls, is_async

RULE_SECONDS = 10
"""Seconds that a rule may take; a later answer denies."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rule:
    """The user's own function, which may deny a call that the roles allow.

    It gets the principal and `{"name", "args"}`, and answers "allow" or "deny". If it raises,
    answers anything else or takes too long, the call is denied. One that is not async runs in a
    thread.
    """

    name: str
    function: Callable[[Principal, Mapping[str, Any]], Any]
    _ask: AuthorCalls = field(default_factory=AuthorCalls, compare=False, repr=False)

    @property
    def is_async(self) -> bool:
        return is_async(self.function)

    async def allows(self, principal: Principal, name: str, args: Mapping[str, Any]) -> bool:
        asked = partial(self.function, principal, _call(name, args))
        try:
            return self._read(await self._ask(asked, RULE_SECONDS))
        except Exception:  # noqa: BLE001  whatever the user's function raises
            return self._failed()

    def allows_now(self, principal: Principal, name: str, args: Mapping[str, Any]) -> bool:
        """The same for a rule that is not async, in the caller's thread."""
        try:
            return self._read(self.function(principal, _call(name, args)))
        except BaseException:  # noqa: BLE001  whatever the user's function raises
            return self._failed()

    def _read(self, answer: Any) -> bool:
        if answer not in ("allow", "deny"):
            raise TypeError(f"it answered a {type(answer).__name__}, not 'allow' or 'deny'")
        return bool(answer == "allow")

    def _failed(self) -> bool:
        logger.exception("the rule %(rule)s failed; the call is denied", {"rule": self.name})
        return False


def _call(name: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """A copy: what a rule changes is not what runs."""
    return {"name": name, "args": deepcopy(dict(args))}


def load_rule(setting: str) -> Rule:
    """The function that a policy names, module:function. Raises PolicyError."""
    try:
        function: Any = own_object(setting)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise PolicyError(f"TURNSTREAM_POLICY: {setting} cannot be loaded ({reason})") from error
    if not callable(function):
        raise PolicyError(f"TURNSTREAM_POLICY: {setting} is a {type(function).__name__}")
    return Rule(setting, function)
