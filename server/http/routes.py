"""The routes: which endpoint answers where, and who may come."""

from starlette.middleware import Middleware
from starlette.routing import Route

from turnstream.server.http.approvals import Approval, Approvals
from turnstream.server.http.authenticated import Authenticated
from turnstream.server.http.chat import Chat, ChatStop, ChatStream, chat_in
from turnstream.server.http.export import Export
from turnstream.server.http.graphs import Graphs
from turnstream.server.http.info import Health, Live, Ready
from turnstream.server.http.langgraph.routes import LANGGRAPH_ROUTES
from turnstream.server.http.login import Login, Logout, Me
from turnstream.server.http.models import Models
from turnstream.server.http.openapi.endpoint import OpenApi
from turnstream.server.http.permitted import Permitted
from turnstream.server.http.threads import Restore, Thread, Threads
from turnstream.server.http.tools import Tool, Tools
from turnstream.server.protocols import BODY_FORMATS

PUBLIC_ROUTES = (
    Route("/health", Health),
    Route("/health/live", Live),
    Route("/health/ready", Ready),
    Route("/login", Login),
    Route("/logout", Logout),
)
ADDRESSES = tuple(
    (path, chat_in(format))
    for format in BODY_FORMATS
    if format.address
    for path in (format.address, f"{format.address}/{{graph}}")
)
"""Of the forms of body that have one of their own."""

ROUTES = (
    *PUBLIC_ROUTES,
    # Of callers without any role too: a page has to know whom it is to log out.
    Route("/me", Me, middleware=[Middleware(Authenticated)]),
    *(
        Route(path, endpoint, middleware=[Middleware(Authenticated), Middleware(Permitted)])
        for path, endpoint in (
            ("/chat", Chat),
            ("/chat/{thread_id}/stream", ChatStream),
            ("/chat/{thread_id}/stop", ChatStop),
            *ADDRESSES,
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
    *LANGGRAPH_ROUTES,
)
