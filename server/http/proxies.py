"""Reverse proxies: headers in which a trusted one names the client's address, its scheme and the
path below which we are served; and such a path that a proxy leaves in addresses."""

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from turnstream.server.callers.addresses import Network, is_within, networks, unmapped
from turnstream.server.settings import PREFIX

PEER = "peer"
"""In a scope: the address of whoever opened the connection, which may be the proxy's."""
_below: ContextVar[str] = ContextVar("_below", default="")


def outer_address(path: str) -> str:
    """Return the address of a path of ours as the caller of this request has it, for a body."""
    return _below.get() + path


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """ASGI middleware: `client` and `scheme` are those of `X-Forwarded-For` and
    `X-Forwarded-Proto`, and addresses in answers are below `X-Forwarded-Prefix`, if a trusted proxy
    sent them. Addresses below `prefix` are served as if it were not there; without that header,
    each address in an answer is below it, since a proxy may remove it from requests."""

    app: ASGIApp
    trusted: Sequence[str]
    prefix: str = ""
    _forwarded: ASGIApp = field(init=False)
    _networks: Sequence[Network] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_networks", networks(self.trusted))
        networks_as_text = [str(network) for network in self._networks]
        forwarded = ProxyHeadersMiddleware(self.app, trusted_hosts=networks_as_text)  # type: ignore[arg-type]
        object.__setattr__(self, "_forwarded", forwarded)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if client:
            scope["client"] = client = (unmapped(client[0]), client[1])
        scope[PEER] = client[0] if client else ""
        prefix = self._below(scope) if scope["type"] == "http" else ""
        if prefix and scope["path"] == "":
            # The page's addresses are relative: without the slash they would miss the prefix.
            query = scope["query_string"].decode("latin-1")
            redirect = RedirectResponse(f"{prefix}/?{query}" if query else f"{prefix}/", 308)
            await redirect(scope, receive, send)
            return
        # LangGraph's clients put their own prefix before the path.
        if prefix and scope["path"].startswith("/langgraph/"):
            prefix = ""
        _below.set(prefix)
        await self._forwarded(scope, receive, _prefixed(send, prefix) if prefix else send)

    def _below(self, scope: Scope) -> str:
        """The path below which the caller sees us; it is removed from the address."""
        return self._removed(scope) or self._named(scope) or self.prefix

    def _removed(self, scope: Scope) -> str:
        """Remove the prefix from an address below it, and return it."""
        path = scope["path"]
        if not self.prefix or (path != self.prefix and not path.startswith(f"{self.prefix}/")):
            return ""
        scope["path"] = path.removeprefix(self.prefix)
        if raw := scope.get("raw_path"):
            scope["raw_path"] = raw.removeprefix(self.prefix.encode())
        return self.prefix

    def _named(self, scope: Scope) -> str:
        """The path below which a trusted proxy serves us: its X-Forwarded-Prefix."""
        prefix = Headers(scope=scope).get("x-forwarded-prefix", "").rstrip("/")
        is_path = PREFIX.fullmatch(prefix) is not None
        return prefix if is_path and is_within(scope[PEER], self._networks) else ""


def _prefixed(send: Send, prefix: str) -> Send:
    """Put the prefix before the path of a Location."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if "location" in headers:
                place = urlsplit(headers["location"])
                headers["location"] = place._replace(path=prefix + place.path).geturl()
        await send(message)

    return sent
