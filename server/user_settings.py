"""The settings of who may call: a part of `turnstream.server.settings`."""

from pathlib import Path
from typing import Annotated

from pydantic import (
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode

from turnstream.server.extensions.users.proxies import networks

OFF = "off"
NAMED = ("keys", "jwt", "header")
"""The methods that have a name; any other is a function of the user's own, module:function."""


class UserSettings(BaseSettings):
    auth: Annotated[tuple[str, ...], NoDecode] = Field(
        (OFF,),
        description="how callers are recognised, comma-separated: 'keys', 'jwt', 'header', "
        "module:function; 'off': there is one user and no login",
    )
    jwt_issuer: str = Field("", description="URL of the OpenID Connect issuer of tokens")
    jwt_audience: str = Field("", description="audience that tokens must be for")
    jwt_id_claim: str = Field("sub", min_length=1, description="claim that is a caller's id")
    jwt_roles_claim: str = Field(
        "roles",
        min_length=1,
        description="claim that lists a caller's roles; dots go inwards: realm_access.roles",
    )
    user_header: str = Field(
        "X-Forwarded-User", min_length=1, description="header in which a proxy names the caller"
    )
    groups_header: str = Field(
        "X-Forwarded-Groups",
        min_length=1,
        description="header of the caller's groups, which are roles",
    )
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = Field(
        ("127.0.0.1", "::1"),
        description="addresses and networks of proxies whose headers are believed, comma-separated",
    )
    session_seconds: PositiveFloat = Field(
        43_200.0, description="seconds that a login in the browser lasts"
    )
    approval_seconds: NonNegativeFloat = Field(
        0.0,
        le=3_153_600_000,  # a hundred years: the times are shown as dates
        description="seconds that a call waits for an approval; 0: until it is decided",
    )

    policy: Path | None = Field(
        None, description="TOML file of the rights of roles; unset: callers may do everything"
    )
    max_failed_logins: PositiveInt = Field(
        20, description="failed logins a minute of one client's address"
    )

    @property
    def authenticates(self) -> bool:
        return self.auth != (OFF,)

    @property
    def _names_proxies(self) -> bool:
        """The default is for addresses and TLS, not for who somebody is."""
        return "trusted_proxies" in self.model_fields_set and bool(self.trusted_proxies)

    @model_validator(mode="after")
    def _check_auth(self) -> "UserSettings":
        if not self.auth:
            raise ValueError(
                f"TURNSTREAM_AUTH: name a method: {', '.join((OFF, *NAMED))} or module:function"
            )
        if OFF in self.auth and self.authenticates:
            raise ValueError("TURNSTREAM_AUTH: 'off' goes with no other method")
        for method in self.auth:
            if method not in (OFF, *NAMED) and ":" not in method:
                raise ValueError(
                    f"TURNSTREAM_AUTH: {method!r} is none of off, {', '.join(NAMED)} and no "
                    "module:function"
                )
        if "jwt" in self.auth and not (self.jwt_issuer and self.jwt_audience):
            raise ValueError(
                "TURNSTREAM_AUTH: jwt needs TURNSTREAM_JWT_ISSUER and TURNSTREAM_JWT_AUDIENCE"
            )
        if "header" in self.auth and not self._names_proxies:
            raise ValueError(
                "TURNSTREAM_AUTH: header needs TURNSTREAM_TRUSTED_PROXIES, the addresses of the "
                "proxies that log people in: anybody else can send such a header"
            )
        if self.policy and not self.authenticates:
            raise ValueError(
                "TURNSTREAM_POLICY: its roles are of callers who are known; set TURNSTREAM_AUTH"
            )
        try:
            networks(self.trusted_proxies)
        except ValueError as error:
            raise ValueError(
                f"TURNSTREAM_TRUSTED_PROXIES: {error}; give addresses or networks such as "
                "10.0.0.0/8"
            ) from None
        return self
