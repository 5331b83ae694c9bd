"""Browser sessions, and who one is: POST /login, POST /logout, /me."""

import time
from datetime import UTC, datetime
from typing import Any, Literal, NotRequired

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.callers.principal import Method, Principal, Unauthenticated
from turnstream.server.callers.rights import Forbidden
from turnstream.server.extensions.base import Extension
from turnstream.server.extensions.recording import overriding
from turnstream.server.http.audited import joining
from turnstream.server.http.authenticated import (
    check_origin,
    cookie_header,
    credentials,
    recognised,
    session_cookie,
)
from turnstream.server.http.bodies import MAX_ANONYMOUS_BYTES
from turnstream.server.http.operations import TEXT, Answer, Operation, Time
from turnstream.server.http.personal_data import delete_all
from turnstream.server.http.problems import Problem, problem
from turnstream.server.http.state import ApiRequest, principal
from turnstream.server.turns.problem_codes import CREDENTIALS, STORAGE, pick

MAX_CREDENTIAL_CHARS = 10_000
_COOKIE = ("Set-Cookie",)
_CREDENTIAL = {
    **TEXT,
    "pattern": "^[ -~]+$",
    "maxLength": MAX_CREDENTIAL_CHARS,
    "description": "An API key or a token.",
}


class MeJson(TypedDict):
    """The caller; `approves` is there if they may decide on calls of others, `extensions` if any
    have routes."""

    id: str
    display_name: str
    roles: list[str]
    method: Method
    session: bool
    expires_at: NotRequired[Time]
    approves: NotRequired[Literal[True]]
    extensions: NotRequired[list[str]]


class Login(HTTPEndpoint):
    @Operation(
        "logIn",
        Answer("The caller, with the cookie of the new session.", MeJson, headers=_COOKIE),
        CREDENTIALS | STORAGE | pick("no_login", "invalid_credential", "limit_exceeded"),
        body={
            "type": "object",
            "required": ["credential"],
            "properties": {"credential": _CREDENTIAL},
        },
    )
    async def post(self, request: ApiRequest) -> Response:
        """Begin a session in a browser.

        404 where nobody logs in: without authentication, and behind a proxy that does it. The
        session that the request came with ends.
        """
        authentication = request.state["authentication"]
        if authentication is None or not authentication.takes_logins:
            raise problem("no_login")
        _check_length(request)
        credential, _ = await request.state["anonymous_bodies"].read(request, _credential)
        given = credentials(request, f"Bearer {credential}")
        caller = await recognised(authentication, request, given)
        await _end_session(request)
        login = joining(request, "login", caller, name=caller.credential)
        cookie, caller = await authentication.sessions.begin(caller, login)
        assert caller.expires_at is not None, "a session ends"
        seconds = max(1, int(caller.expires_at - time.time()))
        headers = {"Set-Cookie": cookie_header(request, cookie, seconds)}
        return JSONResponse(described(request, caller), headers=headers)


class Logout(HTTPEndpoint):
    @Operation(
        "logOut",
        {204: Answer("The caller has no session any more.", may_have=_COOKIE)},
        STORAGE | pick("origin_required"),
    )
    async def post(self, request: ApiRequest) -> Response:
        """End the session."""
        if session_cookie(request) is None:
            return Response(status_code=204)
        check_origin(request)
        await _end_session(request)
        return Response(status_code=204, headers=_without_cookie(request))


class Me(HTTPEndpoint):
    @Operation("whoAmI", Answer("The caller.", MeJson))
    async def get(self, request: ApiRequest) -> Response:
        """Name the caller."""
        return JSONResponse(described(request, principal(request)))

    @Operation(
        "deleteEverything",
        {
            204: Answer(
                "All threads, keys and sessions of the caller are deleted.", may_have=_COOKIE
            )
        },
        STORAGE | pick("not_confirmed"),
        body="Confirmation",
        examples={"everything": {"confirm": "local"}},
    )
    async def delete(self, request: ApiRequest) -> Response:
        """Delete all that is the caller's."""
        await delete_all(request)
        cookie = {} if session_cookie(request) is None else _without_cookie(request)
        return Response(status_code=204, headers=cookie)


def described(request: ApiRequest, caller: Principal) -> MeJson:
    me: MeJson = {
        "id": caller.id,
        "display_name": caller.display_name or caller.id,
        "roles": [*caller.roles],
        "method": caller.method,
        "session": caller.session is not None,
    }
    if caller.expires_at:
        ends = datetime.fromtimestamp(caller.expires_at, UTC)
        me["expires_at"] = ends.isoformat(timespec="seconds")
    if _approves(request, caller):
        me["approves"] = True
    if served := overriding(request.state["extensions"], Extension.routes):
        me["extensions"] = sorted(each.name for each in served)
    return me


def _approves(request: ApiRequest, caller: Principal) -> bool:
    try:
        return request.state["policy"].rights(caller).approves
    except Forbidden:
        return False


def _without_cookie(request: ApiRequest) -> dict[str, str]:
    return {"Set-Cookie": cookie_header(request, "", 0)}


async def _end_session(request: ApiRequest) -> None:
    """End the session that the request has a cookie of, if it has a good one."""
    authentication, cookie = request.state["authentication"], session_cookie(request)
    if authentication is None or cookie is None:
        return
    try:
        caller = await authentication.sessions.authenticate(cookie)
    except Unauthenticated:
        return
    await authentication.sessions.end(caller, joining(request, "logout", caller))


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
