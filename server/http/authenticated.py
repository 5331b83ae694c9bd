"""The caller on every route that is not public: `scope["principal"]`, or a 401.

A route without this has no principal, and its endpoint fails; it never gets somebody else's.
"""

import logging
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from turnstream.graphs.project_file import ConfigurableHeaders
from turnstream.server.callers.principal import (
    LOCAL,
    AuthenticationUnavailable,
    Principal,
    Unauthenticated,
)
from turnstream.server.extensions.users.authentication import Authentication, Credentials
from turnstream.server.extensions.users.failed_logins import FailedLogins
from turnstream.server.http.guard import SAFE_METHODS
from turnstream.server.http.problems import SOON, Problem, problem
from turnstream.server.http.proxies import PEER

PRINCIPAL = "principal"
COOKIE, SECURE_COOKIE = "turnstream_session", "__Host-turnstream_session"
"""By plain HTTP and by TLS. A browser takes the prefix only of the host itself, by TLS: neither a
neighbouring host nor a network can plant such a cookie."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Authenticated:
    """ASGI middleware of a route."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal = await principal_of(Request(scope))
        passed: ConfigurableHeaders | None = scope["state"]["passed_headers"]
        if passed:
            principal = replace(principal, headers=_passed(scope, passed))
        scope[PRINCIPAL] = principal
        await self.app(scope, receive, send)


def _passed(scope: Scope, passed: ConfigurableHeaders) -> Mapping[str, str]:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return {name: value for name, value in headers.items() if passed.passes(name)}


async def principal_of(request: Request[Any]) -> Principal:
    """Raises Problem: 401, 403 for a page's request without an origin, 503."""
    authentication: Authentication | None = request.scope["state"]["authentication"]
    if authentication is None:
        return LOCAL
    principal = await recognised(authentication, request, credentials(request))
    if principal.session and request.method not in SAFE_METHODS:
        check_origin(request)
    return principal


def check_origin(request: Request[Any]) -> None:
    """Raises Problem for a request that has a session's cookie and no Origin; one that is not ours
    has been refused by now."""
    if not request.headers.get("origin"):
        raise problem("origin_required")


async def recognised(
    authentication: Authentication, request: Request[Any], given: Credentials
) -> Principal:
    """Raises Problem: 401 for nobody, 503 when nobody can tell; and LimitExceeded for an address
    that has sent wrong credentials too often. A session that has ended counts as none."""
    failed: FailedLogins = request.scope["state"]["failed_logins"]
    address = request.client.host if request.client else ""
    tries = "authorization" in given.headers
    try:
        async with failed.attempt(address) if tries else nullcontext():
            return await authentication.authenticate(given)
    except Unauthenticated as reason:
        logger.debug("not authenticated: %s", reason)
        raise unauthenticated(authentication, request, given) from None
    except AuthenticationUnavailable as reason:
        logger.warning("nobody can be authenticated now: %s", reason, exc_info=reason.__cause__)
        raise problem("authentication_unavailable", headers=SOON) from None


def unauthenticated(
    authentication: Authentication, request: Request[Any], given: Credentials
) -> Problem:
    headers = {"WWW-Authenticate": 'Bearer realm="turnstream"'}
    # Beside other credentials it was not looked at, and may be good.
    if given.cookie and "authorization" not in given.headers:
        headers["Set-Cookie"] = cookie_header(request, "", 0)
    return Problem(
        401,
        "unauthenticated",
        "Nobody is logged in, or the login has ended. Send 'Authorization: Bearer' with an API "
        "key or a token, or log in at POST /login."
        if authentication.takes_logins
        else "Nobody is logged in. Reach this server through the proxy that logs people in.",
        headers=headers,
        login=authentication.takes_logins,
    )


def credentials(request: Request[Any], authorization: str | None = None) -> Credentials:
    """Return the credentials of a request; or, with its `authorization` and without a cookie, those
    of a login."""
    headers: dict[str, str] = {}
    repeated = set()
    for raw_name, value in request.scope["headers"]:
        name = raw_name.decode("latin-1").lower()
        if name in headers:
            repeated.add(name)
        headers[name] = value.decode("latin-1")
    if authorization is not None:
        repeated.discard("authorization")
        headers["authorization"] = authorization
    return Credentials(
        peer=request.scope.get(PEER, ""),
        headers=headers,
        repeated=repeated,
        cookie=session_cookie(request) if authorization is None else None,
        request=partial(_for_own_function, request, headers.get("authorization")),
    )


def _for_own_function(request: Request[Any], authorization: str | None) -> Mapping[str, Any]:
    raw = dict(request.scope["headers"])
    if authorization is not None:
        raw[b"authorization"] = authorization.encode("latin-1")
    return {
        "request": request,
        "path": request.url.path,
        "method": request.method,
        "path_params": request.path_params,
        "query_params": dict(request.query_params),
        "headers": raw,
        "authorization": authorization,
    }


def session_cookie(request: Request[Any]) -> str | None:
    if "cookie" not in request.headers:
        return None
    # Not `http.cookies`: it drops them all for one that it cannot read, and on localhost every
    # program's cookies come along.
    return request.cookies.get(_cookie_name(request.url))


def cookie_header(request: Request[Any], value: str, max_age: int) -> str:
    """A Set-Cookie header; an empty value with 0 seconds deletes the cookie."""
    response = Response()
    response.set_cookie(
        _cookie_name(request.url),
        value,
        max_age=max_age,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response.headers["set-cookie"]


def _cookie_name(url: URL) -> str:
    return SECURE_COOKIE if url.scheme == "https" else COOKIE
