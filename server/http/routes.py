"""The routes: which endpoint answers where, and who may come."""

import re
from collections.abc import Sequence
from copy import copy

from starlette.middleware import Middleware
from starlette.routing import Route

from turnstream.server.extensions.base import Extension, ExtensionError
from turnstream.server.formats import Formats
from turnstream.server.http.approvals import Approval, Approvals
from turnstream.server.http.authenticated import Authenticated
from turnstream.server.http.chat import Chat, ChatStop, ChatStream
from turnstream.server.http.components import ComponentFileRoute, ComponentList
from turnstream.server.http.export import Export
from turnstream.server.http.graphs import Graphs
from turnstream.server.http.info import Health, Live, Ready, StreamProbe
from turnstream.server.http.me import Me
from turnstream.server.http.models import Models
from turnstream.server.http.permitted import Permitted
from turnstream.server.http.queue import Queued, ThreadQueue
from turnstream.server.http.threads import Thread, Threads
from turnstream.server.http.tools import Tool, Tools

_PARAMETER = re.compile(r"\{[^{}]*\}")
"""A parameter of a route's path."""

PUBLIC_ROUTES = (
    ComponentFileRoute(),
    Route("/health", Health),
    Route("/health/live", Live),
    Route("/health/ready", Ready),
    Route("/health/stream", StreamProbe),
)
OWN_ROUTES = (
    *PUBLIC_ROUTES,
    # Of callers without any role too: a page has to know whom it is to log out.
    Route("/me", Me, middleware=[Middleware(Authenticated)]),
    *(
        Route(path, endpoint, middleware=[Middleware(Authenticated), Middleware(Permitted)])
        for path, endpoint in (
            ("/chat", Chat),
            ("/chat/{thread_id}/stream", ChatStream),
            ("/chat/{thread_id}/stop", ChatStop),
            ("/threads", Threads),
            ("/threads/{thread_id}", Thread),
            ("/threads/{thread_id}/queue", ThreadQueue),
            ("/threads/{thread_id}/queue/{run_id}", Queued),
            ("/graphs", Graphs),
            ("/models", Models),
            ("/approvals", Approvals),
            ("/approvals/{approval_id}", Approval),
            ("/components", ComponentList),
            ("/tools", Tools),
            ("/tools/{name}", Tool),
            ("/export", Export),
        )
    ),
)


def routes_with(formats: Formats, extensions: Sequence[Extension] = ()) -> tuple[Route, ...]:
    """Return the server's own routes, those of the formats, and those of the extensions with their
    formats. Raises ExtensionError for a route that cannot be served."""
    ours = [*OWN_ROUTES, *(route for format in formats.all for route in format.routes())]
    for extension in extensions:
        of_formats = (route for format in extension.formats() for route in format.routes())
        theirs, public = [*extension.routes(), *of_formats], extension.public_routes()
        for route in (*theirs, *public):
            _check(extension.name, route, ours)
        ours += [*map(permitted, theirs), *public]
    return tuple(ours)


def _check(extension: str, route: Route, others: Sequence[Route]) -> None:
    if not isinstance(route, Route):
        raise ExtensionError(
            f"the extension {extension!r} has a {type(route).__name__}: give plain routes"
        )
    if route.path.startswith("/{"):
        raise ExtensionError(
            f"the extension {extension!r} has the route {route.path}, which takes addresses of the "
            "page: begin it with a word"
        )
    address = _PARAMETER.sub("x", route.path)
    if any(other.path_regex.match(address) for other in others):
        raise ExtensionError(
            f"the extension {extension!r} has the route {route.path}, which is served already"
        )


def permitted(route: Route) -> Route:
    """Return the route for callers who are recognised and have a role, ahead of its own
    middleware."""
    guarded = copy(route)
    guarded.app = Authenticated(Permitted(route.app))
    return guarded
