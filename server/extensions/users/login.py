"""Browser sessions: POST /login, POST /logout."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from turnstream.server.extensions.requests import read_json
from turnstream.server.extensions.users.faults import Unauthenticated
from turnstream.server.extensions.users.recognition import (
    Recognition,
    check_origin,
    cookie_header,
    credentials,
    session_cookie,
    without_cookie,
)
from turnstream.server.http.audited import joining
from turnstream.server.http.bodies import MAX_ANONYMOUS_BYTES
from turnstream.server.http.me import MeJson, described
from turnstream.server.http.operations import TEXT, Answer, Operation
from turnstream.server.http.problems import Problem, problem
from turnstream.server.http.state import ApiRequest
from turnstream.server.turns.problem_codes import CREDENTIALS, STORAGE, pick

MAX_CREDENTIAL_CHARS = 10_000
COOKIE_HEADER = ("Set-Cookie",)
_CREDENTIAL = {
    **TEXT,
    "pattern": "^[ -~]+$",
    "maxLength": MAX_CREDENTIAL_CHARS,
    "description": "An API key or a token.",
}


def login_routes(recognition: Callable[[], Recognition]) -> Sequence[Route]:
    """Return the routes over what `recognition` returns."""

    class Login(HTTPEndpoint):
        @Operation(
            "logIn",
            Answer(
                "The caller, with the cookie of the new session.", MeJson, headers=COOKIE_HEADER
            ),
            CREDENTIALS | STORAGE | pick("no_login", "invalid_credential", "limit_exceeded"),
            body={
                "type": "object",
                "required": ["credential"],
                "properties": {"credential": _CREDENTIAL},
            },
        )
        async def post(self, request: ApiRequest) -> Response:
            """Begin a session in a browser.

            404 where nobody logs in: behind a proxy that does it. The session that the request
            came with ends.
            """
            return await _begin(recognition(), request)

    class Logout(HTTPEndpoint):
        @Operation(
            "logOut",
            {204: Answer("The caller has no session any more.", may_have=COOKIE_HEADER)},
            STORAGE | pick("origin_required"),
        )
        async def post(self, request: ApiRequest) -> Response:
            """End the session."""
            if session_cookie(request) is None:
                return Response(status_code=204)
            check_origin(request)
            await _end(recognition(), request)
            return Response(status_code=204, headers=without_cookie(request))

    return Route("/login", Login), Route("/logout", Logout)


async def _begin(recognition: Recognition, request: ApiRequest) -> Response:
    if not recognition.authentication.takes_logins:
        raise problem("no_login")
    _check_length(request)
    credential = await read_json(request, _credential)
    given = credentials(request, f"Bearer {credential}")
    caller = await recognition.recognised(request, given)
    await _end(recognition, request)
    login = joining(request, "login", caller, name=caller.credential)
    cookie, caller = await recognition.authentication.sessions.begin(caller, login)
    assert caller.expires_at is not None, "a session ends"
    seconds = max(1, int(caller.expires_at - time.time()))
    headers = {"Set-Cookie": cookie_header(request, cookie, seconds)}
    return JSONResponse(described(request, caller), headers=headers)


async def _end(recognition: Recognition, request: ApiRequest) -> None:
    """End the session that the request has a cookie of, if it has a good one."""
    sessions, cookie = recognition.authentication.sessions, session_cookie(request)
    if cookie is None:
        return
    try:
        caller = await sessions.authenticate(cookie)
    except Unauthenticated:
        return
    await sessions.end(caller, joining(request, "logout", caller))


def _check_length(request: ApiRequest) -> None:
    length = request.headers.get("content-length", "")
    if not length.isdecimal() or len(length) > 9 or int(length) > MAX_ANONYMOUS_BYTES:
        raise Problem(
            413,
            "body_too_large",
            f"The body of a login has at most {MAX_ANONYMOUS_BYTES} bytes, and a Content-Length.",
        )


def _credential(body: Any) -> str:
    credential = body.get("credential") if isinstance(body, dict) else None
    if not isinstance(credential, str) or not 0 < len(credential) <= MAX_CREDENTIAL_CHARS:
        raise Problem(
            422, "invalid_credential", 'Send {"credential": "..."} with an API key or a token.'
        )
    if not credential.isascii() or not credential.isprintable():
        raise Problem(422, "invalid_credential", "A key or a token has visible ASCII only.")
    return credential.strip()
