"""The routes: which endpoint answers where, and who may come."""

from starlette.middleware import Middleware
from starlette.routing import Route

from turnstream.server.formats import FORMATS, Formats
from turnstream.server.http.approvals import Approval, Approvals
from turnstream.server.http.authenticated import Authenticated
from turnstream.server.http.chat import Chat, ChatStop, ChatStream
from turnstream.server.http.export import Export
from turnstream.server.http.graphs import Graphs
from turnstream.server.http.info import Health, Live, Ready
from turnstream.server.http.login import Login, Logout, Me
from turnstream.server.http.models import Models
from turnstream.server.http.openapi.endpoint import OpenApi
from turnstream.server.http.permitted import Permitted
from turnstream.server.http.threads import Restore, Thread, Threads
from turnstream.server.http.tools import Tool, Tools

PUBLIC_ROUTES = (
    Route("/health", Health),
    Route("/health/live", Live),
    Route("/health/ready", Ready),
    Route("/login", Login),
    Route("/logout", Logout),
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
            ("/threads/{thread_id}/restore", Restore),
            ("/graphs", Graphs),
            ("/models", Models),
            ("/approvals", Approvals),
            ("/approvals/{approval_id}", Approval),
            ("/tools", Tools),
            ("/tools/{name}", Tool),
            ("/export", Export),
            ("/openapi.json", OpenApi),
        )
    ),
)


def routes_with(formats: Formats) -> tuple[Route, ...]:
    """Return the server's own routes, and those of the formats."""
    return (*OWN_ROUTES, *(route for format in formats.all for route in format.routes()))


ROUTES = routes_with(FORMATS)
