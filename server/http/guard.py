"""The guard: Host is checked always, Origin on all that changes something and on every stream.

A page of another site can post to a server on the user's own machine; these two headers are what
tells it apart. CORS alone does not: it only keeps the page from reading the answer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from turnstream.server.callers.addresses import unmapped
from turnstream.server.http.problems import Problem, problem

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")

DOUBTFUL_LENGTH = Problem(
    400,
    "malformed_request",
    "A request with Transfer-Encoding is HTTP/1.1, and has no Content-Length.",
    headers={"Connection": "close"},
)
FORWARDED = (
    *("forwarded", "x-forwarded", "x-real-ip", "x-original-", "x-client-ip", "true-client-ip"),
    *("via", "cf-", "fly-", "tailscale-", "ngrok-", "x-envoy-", "x-azure-", "x-amz"),
)
"""Beginnings of headers that proxies and tunnels send."""
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
FROM_ELSEWHERE = problem("development_only")
OPEN_TO_ALL = problem("authentication_not_set")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
PROBED = ("/health", "/health/live", "/health/ready")
"""Addresses that answer to any host and to none: a probe knows a server by its IP address, and may
send no Host. A browser always sends one."""
FOREIGN_HOST = "foreign_host"
"""In a request's scope if it was sent to a host that is not named: a page of another site may read
the answer, under a name of its own that leads here."""


@dataclass(frozen=True, slots=True)
class Guard:
    """ASGI middleware: refuses foreign hosts and origins with a 403 that names the setting, and a
    body of doubtful length with a 400."""

    app: ASGIApp
    allowed_hosts: Sequence[str]
    allowed_origins: Sequence[str]
    """`*`: any."""
    origin_pattern: re.Pattern[str]
    """A pattern of further allowed origins."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(Request(scope))
        if refusal:
            await refusal.response()(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _refusal(self, request: Request) -> Problem | None:
        if _has_doubtful_length(request):
            return DOUBTFUL_LENGTH
        host = request.headers.get("host", "")
        is_foreign = not is_allowed_host(host, self.allowed_hosts)
        request.scope[FOREIGN_HOST] = is_foreign
        if is_foreign and not _is_probe(request, host):
            return Problem(
                403,
                "host_not_allowed",
                f"Requests to the host {host[:100]!r} are not served. "
                "Add its name to TURNSTREAM_ALLOWED_HOSTS.",
            )
        origin = request.headers.get("origin")
        if origin is None or not _guarded(request) or self._is_ours(origin, request):
            return None
        return Problem(
            403,
            "origin_not_allowed",
            f"Pages of {origin[:100]!r} may not call this server. "
            "Add the origin to TURNSTREAM_ALLOWED_ORIGINS.",
        )

    def _is_ours(self, origin: str, request: HTTPConnection) -> bool:
        own = f"{request.url.scheme}://{request.headers.get('host', '')}"
        return origin == own or (origin != "null" and self._is_allowed(origin))

    def _is_allowed(self, origin: str) -> bool:
        allowed = self.allowed_origins
        return origin in allowed or "*" in allowed or bool(self.origin_pattern.fullmatch(origin))


@dataclass(frozen=True, slots=True)
class LoopbackOnly:
    """ASGI middleware: refuses what was sent to another address than loopback."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        server = scope.get("server") if scope["type"] == "http" else None
        # A Unix socket has no port. A probe learns nothing but whether the server works.
        is_tcp = server and server[1] is not None
        if server and is_tcp and scope["path"] not in PROBED[1:] and not _is_loopback(server[0]):
            await OPEN_TO_ALL.response()(scope, receive, send)
        else:
            await self.app(scope, receive, send)


@dataclass(frozen=True, slots=True)
class DeveloperOnly:
    """ASGI middleware: refuses what does not come from this machine, or may not: a tunnel or a
    proxy reaches loopback too, and says in a header for whom it asks."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not _is_from_here(Request(scope)):
            await FROM_ELSEWHERE.response()(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def _is_from_here(request: Request) -> bool:
    server, client = request.scope.get("server"), request.scope.get("client")
    addresses = [each[0] for each in (server, client) if each]
    origin = request.headers.get("origin")
    return (
        all(map(_is_loopback, addresses))
        and not any(name.startswith(FORWARDED) for name in request.headers)
        and (origin is None or is_allowed_host(urlsplit(origin).netloc, LOOPBACK_NAMES))
    )


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(unmapped(address)).is_loopback
    except ValueError:
        return address == "localhost"


def _has_doubtful_length(request: Request) -> bool:
    """True if a server or proxy may ignore the Transfer-Encoding (RFC 9112, 6.1)."""
    is_old = request.scope.get("http_version") == "1.0"
    return "transfer-encoding" in request.headers and (
        is_old or "content-length" in request.headers
    )


def _is_probe(request: Request, host: str) -> bool:
    return request.scope["path"] in PROBED and (not host or bool(_hostname(host)))


def _guarded(request: Request) -> bool:
    return request.method not in SAFE_METHODS or request.url.path.endswith("/stream")


def is_allowed_host(host: str, allowed: Sequence[str]) -> bool:
    """Return True if a pattern of `allowed` matches a Host header."""
    return any(_matches(_hostname(host), name) for name in allowed)


def _hostname(host: str) -> str:
    """A Host header without its port; an IPv6 address keeps its brackets. Empty if it is none."""
    found = _HOST.fullmatch(host)
    return found[1].lower() if found else ""


def _matches(hostname: str, allowed: str) -> bool:
    """`*` stands for anything; a bracket for itself, as in `[::1]`."""
    return fnmatchcase(hostname, allowed.lower().replace("[", "[[]"))
