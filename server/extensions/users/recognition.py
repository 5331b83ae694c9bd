"""The caller of an HTTP request: the credentials that it has, the cookie of a session, and the
limit on failed logins."""

import logging
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import Response

from turnstream.server.callers.principal import Principal
from turnstream.server.extensions.users.authentication import Authentication, Credentials
from turnstream.server.extensions.users.failed_logins import FailedLogins
from turnstream.server.extensions.users.faults import AuthenticationUnavailable, Unauthenticated
from turnstream.server.http.authenticated import HAS_CREDENTIALS
from turnstream.server.http.guard import SAFE_METHODS
from turnstream.server.http.problems import SOON, Problem, problem
from turnstream.server.http.proxies import PEER

COOKIE, SECURE_COOKIE = "turnstream_session", "__Host-turnstream_session"
"""By plain HTTP and by TLS. A browser takes the prefix only of the host itself, by TLS: neither a
neighbouring host nor a network can plant such a cookie."""
SECURITY_SCHEMES: Mapping[str, Mapping[str, Any]] = {
    "credentials": {"type": "http", "scheme": "bearer", "description": "An API key or a token."},
    "key": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Api-Key",
        "description": "The same, as LangGraph's SDK sends it; only under /langgraph.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": f"Of POST /login; by TLS its name is {SECURE_COOKIE}. What changes "
        "something needs an `Origin` beside it.",
    },
}
"""The credentials, as an OpenAPI document has them."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recognition:
    """Recognises the callers of requests."""

    authentication: Authentication
    failed: FailedLogins

    async def caller(self, request: Request[Any]) -> Principal:
        """Raises Problem: 401, 403 for a page's request without an origin, 503; LimitExceeded,
        StorageUnavailable."""
        principal = await self.recognised(request, credentials(request))
        if principal.session and request.method not in SAFE_METHODS:
            check_origin(request)
        return principal

    async def recognised(self, request: Request[Any], given: Credentials) -> Principal:
        """Raises Problem: 401 for nobody, 503 when nobody can tell; LimitExceeded for an address
        that has sent wrong credentials too often; StorageUnavailable. A session that has ended
        counts as none."""
        address = request.client.host if request.client else ""
        tries = "authorization" in given.headers
        request.scope["state"][HAS_CREDENTIALS] = tries or given.cookie is not None
        try:
            async with self.failed.attempt(address) if tries else nullcontext():
                return await self.authentication.authenticate(given)
        except Unauthenticated as reason:
            logger.debug("not authenticated: %s", reason)
            raise self._unauthenticated(request, given) from None
        except AuthenticationUnavailable as reason:
            text = "nobody can be authenticated now: %s"
            logger.warning(text, reason, exc_info=reason.__cause__)
            raise problem("authentication_unavailable", headers=SOON) from None

    def _unauthenticated(self, request: Request[Any], given: Credentials) -> Problem:
        headers = {"WWW-Authenticate": 'Bearer realm="turnstream"'}
        # Beside other credentials it was not looked at, and may be good.
        if given.cookie and "authorization" not in given.headers:
            headers["Set-Cookie"] = cookie_header(request, "", 0)
        takes_logins = self.authentication.takes_logins
        return Problem(
            401,
            "unauthenticated",
            "Nobody is logged in, or the login has ended. Send 'Authorization: Bearer' with an API "
            "key or a token, or log in at POST /login."
            if takes_logins
            else "Nobody is logged in. Reach this server through the proxy that logs people in.",
            headers=headers,
            login=takes_logins,
        )


def check_origin(request: Request[Any]) -> None:
    """Raises Problem for a request that has a session's cookie and no Origin; one that is not ours
    has been refused by now."""
    if not request.headers.get("origin"):
        raise problem("origin_required")


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


def without_cookie(request: Request[Any]) -> Mapping[str, str]:
    """Return the header that deletes the session's cookie of a request, if it has one."""
    if session_cookie(request) is None:
        return {}
    return {"Set-Cookie": cookie_header(request, "", 0)}


def _cookie_name(url: URL) -> str:
    return SECURE_COOKIE if url.scheme == "https" else COOKIE
