"""The rights of the caller: `scope["rights"]`, or a 403 or 429, where a route needs a role."""

from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from turnstream.server.extensions.users.policy import Policy
from turnstream.server.http.authenticated import PRINCIPAL

RIGHTS = "rights"


@dataclass(frozen=True, slots=True)
class Permitted:
    """ASGI middleware of a route, behind `Authenticated`: counts the request. Raises Forbidden,
    LimitExceeded."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        policy: Policy = scope["state"]["policy"]
        scope[RIGHTS] = rights = policy.rights(scope[PRINCIPAL])
        await rights.take("requests_per_minute")
        await self.app(scope, receive, send)
