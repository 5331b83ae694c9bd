"""The middleware around all routes, the outermost first."""

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from turnstream.server.http.chat import EXPOSED_HEADERS
from turnstream.server.http.guard import Guard
from turnstream.server.http.headers import ApiHeaders
from turnstream.server.http.problem_handlers import UnexpectedErrors
from turnstream.server.http.proxies import TrustedProxies
from turnstream.server.http.unread import LargeResponses
from turnstream.server.settings import Settings


def middleware(settings: Settings) -> list[Middleware]:
    """A page of an allowed origin can read a 500 too."""
    return [
        Middleware(TrustedProxies, trusted=settings.trusted_proxies),
        Middleware(ApiHeaders),
        Middleware(
            Guard,
            allowed_hosts=settings.allowed_hosts,
            allowed_origins=settings.allowed_origins,
        ),
        Middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["*"],
            expose_headers=EXPOSED_HEADERS,
        ),
        Middleware(LargeResponses),
        Middleware(UnexpectedErrors),
    ]
