"""Callers that are recognised, by API keys, JWTs, a proxy or a function of one's own; browser
sessions; and a policy of what callers may do, how often."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import Field, PositiveFloat, PositiveInt, model_validator
from pydantic_settings import BaseSettings

from turnstream.server.extensions.base import EXTENSION_API, Extension
from turnstream.server.extensions.users.tables import metadata

if TYPE_CHECKING:
    from turnstream.server.settings import Settings

NAMED = ("keys", "jwt", "header")
"""The methods that have a name; any other is a function of the user's own, module:function."""


class UserSettings(BaseSettings):
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
    session_seconds: PositiveFloat = Field(
        43_200.0, description="seconds that a login in the browser lasts"
    )
    policy: Path | None = Field(
        None, description="TOML file of the rights of roles; unset: callers may do everything"
    )
    max_failed_logins: PositiveInt = Field(
        20, description="failed logins a minute of one client's address"
    )

    @model_validator(mode="after")
    def _check_users(self) -> "UserSettings":
        settings = cast("AllSettings", self)
        if "jwt" in settings.auth and not (self.jwt_issuer and self.jwt_audience):
            raise ValueError(
                "TURNSTREAM_AUTH: jwt needs TURNSTREAM_JWT_ISSUER and TURNSTREAM_JWT_AUDIENCE"
            )
        if "header" in settings.auth and not settings.names_proxies:
            raise ValueError(
                "TURNSTREAM_AUTH: header needs TURNSTREAM_TRUSTED_PROXIES, the addresses of the "
                "proxies that log people in: anybody else can send such a header"
            )
        if self.policy and not settings.authenticates:
            raise ValueError(
                "TURNSTREAM_POLICY: its roles are of callers who are known; set TURNSTREAM_AUTH"
            )
        if self.policy and not any(name in NAMED or ":" in name for name in settings.auth):
            raise ValueError(
                "TURNSTREAM_POLICY: it is for callers who are recognised by keys, jwt, header or "
                "module:function; name one of these in TURNSTREAM_AUTH too, or have the extension "
                "that recognises callers give them their rights"
            )
        return self


if TYPE_CHECKING:  # A model of so many fields takes time to make.

    class AllSettings(Settings, UserSettings):
        """The settings that the extension reads."""


def _add_keys(groups: Any) -> None:
    from turnstream.server.extensions.users.command import add_to

    add_to(groups)


class UsersExtension(Extension):
    """The declaration; `turnstream.server.extensions.users.serving` has the rest."""

    name = "users"
    api = EXTENSION_API
    order = 900
    """Behind others: it refuses a caller whom it does not know."""
    settings = UserSettings
    tables = metadata
    methods = (*NAMED, "module:function")
    administration: ClassVar[Mapping[str, Callable[[Any], None]]] = {"keys": _add_keys}

    def __new__(cls, settings: "AllSettings") -> "UsersExtension":
        from turnstream.server.extensions.users.serving import Users, UsersUnderPolicy

        return object.__new__(UsersUnderPolicy if settings.policy else Users)
