"""JWTs of an OpenID Connect issuer, as `Authorization: Bearer` has them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from turnstream.server.callers.principal import MAX_ID_CHARS, Principal
from turnstream.server.extensions.users.faults import (
    AuthenticationUnavailable,
    AuthSetupError,
    KeyNotAskedFor,
    Unauthenticated,
)

try:
    from joserfc.errors import ClaimError
    from joserfc.jwt import JWTClaimsRegistry
except ModuleNotFoundError:
    raise AuthSetupError(
        "TURNSTREAM_AUTH: jwt needs a package that is not installed: pip install joserfc "
        "(turnstream's extra 'jwt')"
    ) from None

import httpx

from turnstream.server.extensions.users.issuer import Issuer, KeyTimes
from turnstream.server.extensions.users.public_keys import SignedToken, read_token

LATEST = 253_402_300_799
"""The end of the year 9999: no date is later."""


@dataclass(frozen=True, slots=True)
class TokenSettings:
    """Names of claims: dots go into nested objects, as in `realm_access.roles`."""

    issuer: str
    audience: str
    id_claim: str = "sub"
    roles_claim: str = "roles"
    name_claim: str = "name"
    leeway_seconds: int = 30
    """By how much our clock and the issuer's may differ."""
    key_times: KeyTimes = field(default_factory=KeyTimes)


@asynccontextmanager
async def open_token_verifier(settings: TokenSettings) -> AsyncIterator["TokenVerifier"]:
    """Raises AuthSetupError."""
    async with httpx.AsyncClient(timeout=settings.key_times.timeout_seconds) as http:
        issuer = Issuer(settings.issuer, settings.key_times, http)
        try:
            yield TokenVerifier(settings, issuer)
        finally:
            await issuer.close()


class TokenVerifier:
    def __init__(self, settings: TokenSettings, issuer: Issuer) -> None:
        self._settings = settings
        self._issuer = issuer
        self._claims = JWTClaimsRegistry(
            leeway=settings.leeway_seconds,
            iss={"essential": True, "value": settings.issuer},
            aud={"essential": True, "value": settings.audience},
            exp={"essential": True},
        )

    async def verify(self, token: str) -> Principal:
        """Raises Unauthenticated, and AuthenticationUnavailable if the issuer cannot be asked for a
        key that may be its own. No message has anything of the token."""
        signed = read_token(token)
        # First, so that an expired or a foreign token never has the issuer asked for keys.
        self._check_claims(signed.claims)
        await self._check_signature(signed)
        return replace(self._principal(signed.claims), token=token)

    def _check_claims(self, claims: Mapping[str, Any]) -> None:
        try:
            self._claims.validate(dict(claims))
        except ClaimError as error:
            raise Unauthenticated(f"the token's claims: {error.error} {error.claim}") from None

    async def _check_signature(self, token: SignedToken) -> None:
        keys = await self._issuer.keys()
        if keys.verify(token):
            return
        # A key that is newer than those may have signed it, even under the same id.
        newer, is_asked = await self._issuer.newer_keys(keys)
        if newer and newer.verify(token):
            return
        if not (newer or keys).fitting(token):
            if self._issuer.failure:
                raise AuthenticationUnavailable(self._issuer.failure)
            if token.kid is not None and not is_asked:
                raise KeyNotAskedFor("the token's key is not known, and was not asked for yet")
        raise Unauthenticated("no key of the issuer has signed the token")

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        settings = self._settings
        id = _claim(claims, settings.id_claim)
        if not isinstance(id, str):
            raise Unauthenticated(f"the token has no text as its claim {settings.id_claim}")
        if settings.id_claim == "email" and claims.get("email_verified") is False:
            raise Unauthenticated("the token's email address is not verified")
        name = _claim(claims, settings.name_claim)
        try:
            return Principal(
                id,
                _roles(_claim(claims, settings.roles_claim)),
                name[:MAX_ID_CHARS] if name and isinstance(name, str) else id,
                "token",
                expires_at=float(min(claims["exp"] + settings.leeway_seconds, LATEST)),
            )
        except ValueError as error:
            raise Unauthenticated(str(error)) from None


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """None if there is no such claim."""
    if name in claims:  # The name itself may have dots: https://example.com/roles
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _roles(value: Any) -> tuple[str, ...]:
    """Parse the roles of a list, or of a text with spaces between them, as `scope` has it."""
    if isinstance(value, str):
        return tuple(value.split())
    return tuple(role for role in value if isinstance(role, str)) if isinstance(value, list) else ()
