"""The http.app of a langgraph.json: a project's own routes, middleware and lifespan.

As on LangGraph's own server its middleware is around all addresses, and its routes come before
those of the server.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from turnstream.graphs.faults import GraphError
from turnstream.graphs.project_file import ProjectFile
from turnstream.graphs.sources import named
from turnstream.graphs.user_modules import own_object
from turnstream.server.http.authenticated import PRINCIPAL, principal_of
from turnstream.server.http.problem_handlers import HANDLERS
from turnstream.server.runs.graph_user import GraphUser

_SERVER = "turnstream"
"""The key of a request's scope as it was before the project's application saw it."""
_HARMLESS: Sequence[Any] = (CORSMiddleware, GZipMiddleware, TrustedHostMiddleware)
"""Middleware that protects no address from a caller who is not recognised."""


@dataclass(frozen=True, slots=True)
class ProjectApp:
    app: Starlette
    authenticates: bool
    """True if callers of its routes have to be recognised."""
    state: dict[str, Any] = field(default_factory=dict)
    """The state that its lifespan has made, for its own requests."""

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        async with self.app.router.lifespan_context(self.app) as state:
            self.state.update(state or {})
            yield


def load_project_app(project: ProjectFile, *, has_auth: bool) -> ProjectApp | None:
    """None: the project has none. Without `has_auth` its own middleware may be what protects it.

    Raises GraphError.
    """
    place = project.app
    if place is None:
        return None
    with named(project.place, project.folders):
        app = own_object(place, project.folders)
        if not isinstance(app, Starlette):
            raise GraphError(
                f"its http.app is a {type(app).__name__}; name a Starlette or FastAPI application"
            )
        guards = [each for each in app.user_middleware if each.cls not in _HARMLESS]
        if guards and not has_auth:
            raise GraphError(
                f"its http.app has middleware ({', '.join(map(repr, guards))[:200]}) and the file "
                "no auth: if that middleware protects the addresses of LangGraph's server, it may "
                "not know those of this one. Give the file an auth, or set TURNSTREAM_AUTH (to "
                "off, if it protects nothing)"
            )
    return ProjectApp(app, project.authenticates_routes)


class ProjectRoutes:
    """ASGI middleware: the project's application around the server's."""

    def __init__(self, app: ASGIApp, project: ProjectApp) -> None:
        self._ours, self._project = app, project
        self._routes = project.app.routes
        router = project.app.router
        guarded = ExceptionMiddleware(_Recognised(router.middleware_stack), handlers=HANDLERS)
        self._theirs = guarded if project.authenticates else router.middleware_stack
        router.middleware_stack = self._route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._ours(scope, receive, send)
            return
        theirs = {**scope, "state": {**self._project.state}, _SERVER: scope}
        await self._project.app(theirs, receive, send)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        if any(route.matches(scope)[0] is not Match.NONE for route in self._routes):
            await self._theirs(scope, receive, send)
            return
        # Middleware around reads in this very scope what the server finds: route, caller, problem.
        ours: Scope = scope[_SERVER]
        ours.update({**scope, **_of_server(scope)})
        del ours[_SERVER]
        await self._ours(ours, receive, send)


@dataclass(frozen=True, slots=True)
class _Recognised:
    """ASGI middleware: the user of a request to the project's own routes."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal = await principal_of(Request({**scope, **_of_server(scope)}))
        user = GraphUser.of(principal)
        await self.app({**scope, PRINCIPAL: principal, "user": user}, receive, send)


def _of_server(scope: Scope) -> dict[str, Any]:
    """Return what the project's application has of its own in a scope, as the server has it."""
    return {name: scope[_SERVER][name] for name in ("app", "state")}
