"""The extension while it is on: it recognises callers, logs them in, gives them the rights of a
policy, and asks the rules of an `Auth`."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.routing import Route

from turnstream.server.callers.principal import Principal
from turnstream.server.callers.reach import MetadataFilter, Resource
from turnstream.server.callers.rights import Rights
from turnstream.server.extensions.base import Opened, Write
from turnstream.server.extensions.users import UsersExtension
from turnstream.server.extensions.users.credential_store import SqlCredentialStore, forgetting
from turnstream.server.extensions.users.failed_logins import FailedLogins
from turnstream.server.extensions.users.login import login_routes
from turnstream.server.extensions.users.methods import open_authentication, own_function
from turnstream.server.extensions.users.policy import open_policy
from turnstream.server.extensions.users.recognition import (
    SECURITY_SCHEMES,
    Recognition,
    without_cookie,
)

if TYPE_CHECKING:
    from turnstream.server.extensions.users import AllSettings


class Users(UsersExtension):
    def __init__(self, settings: "AllSettings") -> None:
        """Raises AuthSetupError."""
        self._settings = settings
        self._function = own_function(settings)
        self._rules = self._function.rules if self._function else None
        self.has_rules_on = self._rules.resources if self._rules else ()
        self._recognition: Recognition | None = None
        """None: not open yet."""

    @asynccontextmanager
    async def open(self, opened: Opened) -> AsyncIterator[None]:
        credentials = SqlCredentialStore(opened.database)
        async with open_authentication(
            self._settings, credentials, self._function
        ) as authentication:
            failed = FailedLogins(self._settings.max_failed_logins)
            self._recognition = Recognition(authentication, failed)
            yield

    async def recognise(self, request: Request[Any]) -> Principal:
        return await self.recognition.caller(request)

    async def filter(
        self, principal: Principal, resource: Resource, action: str, value: dict[str, Any]
    ) -> MetadataFilter:
        assert self._rules, "`has_rules_on` says whether there are any"
        return await self._rules.filter(principal, resource, action, value)

    def public_routes(self) -> Sequence[Route]:
        return login_routes(lambda: self.recognition)

    def principal_deleted(self, principal: str) -> Sequence[Write]:
        return forgetting(principal)

    def headers_after_deletion(self, request: Request[Any]) -> Mapping[str, str]:
        self.recognition.authentication.remember_nobody()
        return without_cookie(request)

    def security_schemes(self) -> Mapping[str, Mapping[str, Any]]:
        return SECURITY_SCHEMES if self._takes_logins else {}

    @property
    def recognition(self) -> Recognition:
        assert self._recognition, "requests come when the server is open"
        return self._recognition

    @property
    def _takes_logins(self) -> bool:
        return self._settings.auth != ("header",)


class UsersUnderPolicy(Users):
    """Without a policy, another extension may give callers their rights."""

    def __init__(self, settings: "AllSettings") -> None:
        """Raises AuthSetupError."""
        super().__init__(settings)
        assert settings.policy
        self._policy = open_policy(settings.policy)

    @asynccontextmanager
    async def open(self, opened: Opened) -> AsyncIterator[None]:
        self._policy.check(opened.served)
        open_counters = opened.open_counters if self._policy.counters else nullcontext
        async with open_counters() as counters, super().open(opened):
            self._policy = self._policy.counted_together(counters)
            yield

    def rights(self, principal: Principal) -> Rights:
        return self._policy.rights(principal)
