"""What a trusted reverse proxy says of a request: the client's address, and whether it used TLS."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from server.users.proxies import networks, unmapped

PEER = "peer"
"""In a scope: the address of whoever opened the connection, which may be the proxy's."""


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """ASGI middleware: `client` and `scheme` are those of `X-Forwarded-For` and
    `X-Forwarded-Proto`, if a trusted proxy sent them."""

    app: ASGIApp
    trusted: Sequence[str]
    _forwarded: ASGIApp = field(init=False)

    def __post_init__(self) -> None:
        networks_as_text = [str(network) for network in networks(self.trusted)]
        forwarded = ProxyHeadersMiddleware(self.app, trusted_hosts=networks_as_text)  # type: ignore[arg-type]
        object.__setattr__(self, "_forwarded", forwarded)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if client:
            scope["client"] = client = (unmapped(client[0]), client[1])
        scope[PEER] = client[0] if client else ""
        await self._forwarded(scope, receive, send)
