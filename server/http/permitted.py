"""The rights of the caller: `scope["rights"]`, or a 403 or 429, where a route needs a role."""

from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from turnstream.server.http.authenticated import PRINCIPAL
from turnstream.server.runs.hooks import RunHooks

RIGHTS = "rights"


@dataclass(frozen=True, slots=True)
class Permitted:
    """ASGI middleware of a route, behind `Authenticated`: counts the request. Raises Forbidden,
    LimitExceeded, GuardFailed."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        hooks: RunHooks = scope["state"]["hooks"]
        scope[RIGHTS] = rights = hooks.rights(scope[PRINCIPAL])
        await rights.take("requests_per_minute")
        await self.app(scope, receive, send)
