"""The operations of callers: log in and out, who one is, delete what is theirs."""

from turnstream.server.http.login import MAX_CREDENTIAL_CHARS
from turnstream.server.http.openapi.answers import TEXT
from turnstream.server.http.openapi.operation import Answer, Example, Operation
from turnstream.server.http.openapi.problems import BODY, CREDENTIALS, DATA, LIMITED, LOGIN, STORAGE
from turnstream.server.http.openapi.problems import COOKIE as WITH_COOKIE
from turnstream.server.protocols.body_schemas import an_object, ref

ME = Answer("Who calls.", ref("Me"))
COOKIE = {"Set-Cookie": TEXT}

OPERATIONS = {
    ("POST", "/login"): Operation(
        "logIn",
        "Begin a session in a browser",
        {200: Answer("Who has logged in, with the session's cookie.", ref("Me"), headers=COOKIE)},
        (BODY, LOGIN, CREDENTIALS, LIMITED, STORAGE),
        "404 where nobody logs in: without authentication, and behind a proxy that does it.",
        body=an_object(
            ["credential"],
            credential={
                "type": "string",
                "pattern": "^[ -~]+$",
                "maxLength": MAX_CREDENTIAL_CHARS,
                "description": "An API key or a token.",
            },
        ),
        examples={"where nobody logs in": Example(404, {"credential": "ts_1"})},
    ),
    ("POST", "/logout"): Operation(
        "logOut",
        "End the session",
        {204: Answer("There is no session, or no more.", may_have=COOKIE)},
        (WITH_COOKIE, STORAGE),
        examples={"without a session": Example(204)},
    ),
    ("GET", "/me"): Operation(
        "whoAmI", "Who calls", {200: ME}, examples={"whoever calls": Example(200)}
    ),
    ("DELETE", "/me"): Operation(
        "deleteEverything",
        "Delete all that is the caller's",
        {204: Answer("All threads, keys and sessions of the caller are deleted.", may_have=COOKIE)},
        (BODY, DATA, STORAGE),
        body=ref("Confirmation"),
        examples={
            "everything": Example(204, {"confirm": "local"}),
            "not confirmed": Example(422, {"confirm": "somebody"}),
        },
    ),
}
