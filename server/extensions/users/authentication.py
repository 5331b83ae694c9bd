"""The caller of a request, recognised by the methods that are switched on.

    Authorization: Bearer   an API key, else a JWT, else the user's own function
    a session's cookie      what POST /login gave
    neither                 headers of a trusted proxy, else the user's own function

Credentials that are given and not good are refused: nobody becomes somebody else by sending less.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from turnstream.server.callers.principal import Principal
from turnstream.server.extensions.users.faults import Unauthenticated
from turnstream.server.extensions.users.keys import ApiKeys
from turnstream.server.extensions.users.proxies import ProxyHeaders
from turnstream.server.extensions.users.sessions import Sessions


class TokenVerifier(Protocol):
    async def verify(self, token: str) -> Principal: ...


class AuthFunction(Protocol):
    async def authenticate(self, values: Mapping[str, Any]) -> Principal: ...


@dataclass(frozen=True, slots=True)
class Credentials:
    """The parts of a request that tell its caller."""

    peer: str
    """The address of whoever opened the connection: of the proxy, if there is one."""
    headers: Mapping[str, str]
    """Their names in lowercase."""
    repeated: Collection[str] = ()
    """Names of headers that came more than once."""
    cookie: str | None = None
    """The session's."""
    request: Callable[[], Mapping[str, Any]] = dict
    """Gives what the user's own function may take: nobody else needs it."""


@dataclass(frozen=True)
class Authentication:
    """The methods that are switched on; `sessions` are there for all of them but a proxy alone."""

    sessions: Sessions
    keys: ApiKeys | None = None
    tokens: TokenVerifier | None = None
    proxy: ProxyHeaders | None = None
    function: AuthFunction | None = None

    @property
    def takes_logins(self) -> bool:
        """True if a person can log in here; with a proxy alone it is the proxy who logs them in."""
        return bool(self.keys or self.tokens or self.function)

    async def authenticate(self, credentials: Credentials) -> Principal:
        """Raises Unauthenticated, AuthenticationUnavailable, StorageUnavailable."""
        self._check_unambiguous(credentials.repeated)
        authorization = credentials.headers.get("authorization")
        if authorization is not None:
            return await self._by_authorization(authorization, credentials)
        if credentials.cookie is not None:
            return await self.sessions.authenticate(credentials.cookie)
        if self.proxy:
            principal = self.proxy.authenticate(credentials.peer, credentials.headers)
            if principal:
                return principal
        if self.function:
            return await self.function.authenticate(credentials.request())
        raise Unauthenticated("no credentials")

    def _check_unambiguous(self, repeated: Collection[str]) -> None:
        """A proxy that adds its header to the client's own leaves it open which of them counts."""
        single = {"authorization"}
        if self.proxy:
            single |= {self.proxy.user_header, self.proxy.groups_header}
        doubtful = single.intersection(repeated)
        if doubtful:
            raise Unauthenticated(f"more than one header {' and '.join(sorted(doubtful))}")

    def remember_nobody(self) -> None:
        """Look up all API keys and sessions anew: they may be gone from the store."""
        self.sessions.forget_all()
        if self.keys:
            self.keys.forget_all()

    async def _by_authorization(self, authorization: str, credentials: Credentials) -> Principal:
        scheme, _, credential = authorization.partition(" ")
        if scheme.lower() == "bearer":
            credential = credential.strip()
            if self.keys and self.keys.takes(credential):
                return await self.keys.authenticate(credential)
            if self.tokens and credential.count(".") == 2:
                return await self.tokens.verify(credential)
        if self.function:
            return await self.function.authenticate(credentials.request())
        raise Unauthenticated("no method takes this Authorization header")
