"""The addresses of AG-UI: `POST /chat` with the body and the stream of that format."""

from typing import Any

from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import Route

from turnstream.server.formats.ag_ui import BODY_FORMAT
from turnstream.server.http.authenticated import Authenticated
from turnstream.server.http.chat import Chat, starts_run
from turnstream.server.http.permitted import Permitted
from turnstream.server.http.state import ApiRequest


def _input(content: Any) -> dict[str, Any]:
    """Return a body as an `HttpAgent` posts it."""
    empty: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    message = {"id": "m1", "role": "user", "content": content}
    return {"threadId": "t1", "runId": "r1", "messages": [message], **empty}


class AgUi(Chat):
    body_format = BODY_FORMAT

    @starts_run(
        "agUiRun",
        "AgUi.Body",
        {
            "a message": _input("Hello"),
            "a message of parts": _input([{"type": "text", "text": "Hello"}]),
            "a run that is read elsewhere": _input("Hello"),
        },
    )
    async def post(self, request: ApiRequest) -> Response:
        """Start a run and stream it to a client of AG-UI."""
        return await super().post(request)


class AgUiOfGraph(Chat):
    body_format = BODY_FORMAT

    @starts_run("agUiRunOfGraph", "AgUi.Body", {"a message": _input("Hello")})
    async def post(self, request: ApiRequest) -> Response:
        """Start a run of a graph and stream it to a client of AG-UI.

        The graph of the address counts before that of the body.
        """
        return await super().post(request)


ROUTES = tuple(
    Route(path, endpoint, middleware=[Middleware(Authenticated), Middleware(Permitted)])
    for path, endpoint in (("/ag-ui", AgUi), ("/ag-ui/{graph}", AgUiOfGraph))
)
