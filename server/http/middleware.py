"""The middleware around all routes, the outermost first."""

import re
from collections.abc import Awaitable
from dataclasses import dataclass

from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnstream.graphs.project_file import Cors
from turnstream.server.http.chat import EXPOSED_HEADERS
from turnstream.server.http.guard import Guard
from turnstream.server.http.problem_handlers import UnexpectedErrors
from turnstream.server.http.project_app import ProjectApp, ProjectRoutes
from turnstream.server.http.proxies import TrustedProxies
from turnstream.server.http.unread import LargeResponses
from turnstream.server.settings import Settings

_NOTHING = "(?!)"
"""A pattern that matches no origin."""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class ApiHeaders:
    """ASGI middleware: an answer is what its content type says, and no cache keeps it. An answer
    that has such a header of its own keeps that: the page's files, event streams."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        def with_headers(message: Message) -> Awaitable[None]:
            # No coroutine of its own: it is called for every chunk of a stream.
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            return send(message)

        await self.app(scope, receive, with_headers)


def middleware(
    settings: Settings, cors: Cors | None = None, project: ProjectApp | None = None
) -> list[Middleware]:
    """A page of an allowed origin can read a 500 too.

    `cors` and `project` are of a langgraph.json.
    """
    asked = cors or Cors()
    origins = (*settings.allowed_origins, *asked.allow_origins)
    pattern = asked.allow_origin_regex or _NOTHING
    around = [Middleware(ProjectRoutes, project=project)] if project else []
    return [
        Middleware(TrustedProxies, trusted=settings.trusted_proxies, prefix=settings.path_prefix),
        Middleware(ApiHeaders),
        Middleware(
            Guard,
            allowed_hosts=settings.allowed_hosts,
            allowed_origins=origins,
            origin_pattern=re.compile(pattern),
        ),
        Middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_origin_regex=asked.allow_origin_regex,
            allow_methods=METHODS if asked.allow_methods is None else asked.allow_methods,
            allow_headers=["*"] if asked.allow_headers is None else asked.allow_headers,
            allow_credentials=asked.allow_credentials,
            expose_headers=(*EXPOSED_HEADERS, *asked.expose_headers),
            max_age=asked.max_age,
            allow_private_network=True,
        ),
        Middleware(LargeResponses),
        Middleware(UnexpectedErrors),
        *around,
    ]
