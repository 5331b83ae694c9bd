"""RFC 9457 problem responses.

Every problem has a stable `code`, a `detail` that says what is wrong and what to do, and nothing
of the cause.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.problem_codes import pick

PROBLEM = "problem"
"""In a request's scope: the document of the problem that is its answer."""


class Problem(Exception):
    """An answer other than success; `extra` are further members of the problem document."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = headers
        self.extra = extra

    def response(self) -> Response:
        body = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            **self.extra,
        }
        return ProblemResponse(body, self.status, headers=self.headers)


class ProblemResponse(JSONResponse):
    """Leaves the document to the middleware around it."""

    media_type = "application/problem+json"

    def __init__(self, content: Mapping[str, Any], *given: Any, **named: Any) -> None:
        super().__init__(content, *given, **named)
        self._document = content

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[PROBLEM] = self._document
        await super().__call__(scope, receive, send)


def problem(code: str, *, headers: Mapping[str, str] | None = None, **extra: Any) -> Problem:
    """Return the problem of a code with the sentences of the table."""
    (row,) = pick(code)
    return Problem(row.status, code, row.sentences, headers=headers, **extra)


SOON = {"Retry-After": "5"}
SHUTTING_DOWN = problem("shutting_down", headers=SOON)


def unknown_thread(key: ThreadKey) -> Problem:
    id = key.thread_id[:140]
    return Problem(404, "thread_not_found", f"Thread {id!r} not found; GET /threads lists them.")


def limit_reached(setting: str, limit: int, reached: str | None = None) -> Problem:
    """`setting` is named without its prefix; `reached` is the beginning of the sentence that ends
    with the setting, if not the whole server has reached its limit."""
    return Problem(
        503,
        "limit_reached",
        f"{reached or 'The server has reached'} TURNSTREAM_{setting}, {limit}. Try again in a "
        "moment.",
        headers=SOON,
        limit=setting.lower(),
    )
