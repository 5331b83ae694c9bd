"""The methods of authentication that the settings switch on; imports no others."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from turnstream.graphs.user_modules import own_object
from turnstream.server.callers.addresses import networks
from turnstream.server.extensions.users import NAMED
from turnstream.server.extensions.users.authentication import (
    Authentication,
    AuthFunction,
    TokenVerifier,
)
from turnstream.server.extensions.users.credentials import CredentialStore
from turnstream.server.extensions.users.faults import AuthSetupError
from turnstream.server.extensions.users.proxies import ProxyHeaders
from turnstream.server.extensions.users.sessions import Sessions
from turnstream.server.project import file_with_auth, project_folders

if TYPE_CHECKING:
    from turnstream.server.extensions.users import AllSettings
    from turnstream.server.extensions.users.own_function import OwnFunction


@asynccontextmanager
async def open_authentication(
    settings: "AllSettings", credentials: CredentialStore, function: AuthFunction | None
) -> AsyncIterator[Authentication]:
    """Raises AuthSetupError."""
    from turnstream.server.extensions.users.keys import ApiKeys

    async with AsyncExitStack() as opened:
        yield Authentication(
            sessions=Sessions(credentials, settings.session_seconds),
            keys=ApiKeys(credentials) if "keys" in settings.auth else None,
            tokens=await _token_verifier(settings, opened) if "jwt" in settings.auth else None,
            proxy=_proxy_headers(settings) if "header" in settings.auth else None,
            function=function,
        )


async def _token_verifier(settings: "AllSettings", opened: AsyncExitStack) -> TokenVerifier:
    from turnstream.server.extensions.users.tokens import TokenSettings, open_token_verifier

    return await opened.enter_async_context(
        open_token_verifier(
            TokenSettings(
                issuer=settings.jwt_issuer,
                audience=settings.jwt_audience,
                id_claim=settings.jwt_id_claim,
                roles_claim=settings.jwt_roles_claim,
            )
        )
    )


def _proxy_headers(settings: "AllSettings") -> ProxyHeaders:
    return ProxyHeaders(
        settings.user_header.lower(),
        settings.groups_header.lower(),
        networks(settings.trusted_proxies),
    )


def own_function(settings: "AllSettings") -> "OwnFunction | None":
    """Load the function of the user's own that recognises callers. None: the settings name none.
    Raises AuthSetupError."""
    names = [method for method in settings.auth if ":" in method and method not in NAMED]
    if not names:
        return None
    if len(names) > 1:
        raise AuthSetupError(f"TURNSTREAM_AUTH: give one function, not {' and '.join(names)}")
    file = file_with_auth(settings.graph, names[0])
    source = f"the auth of {file}" if file else "TURNSTREAM_AUTH"
    try:
        target = own_object(names[0], project_folders(settings.graph))
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise AuthSetupError(f"{source}: {names[0]} cannot be loaded ({reason})") from error
    from turnstream.server.extensions.users.own_function import OwnFunction

    return OwnFunction(names[0], target, source)
