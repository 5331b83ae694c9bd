"""The caller on every route that is not public: `scope["principal"]`, or a 401.

A route without this has no principal, and its endpoint fails; it never gets somebody else's.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from turnstream.graphs.project_file import ConfigurableHeaders
from turnstream.server.callers.principal import LOCAL, Principal
from turnstream.server.callers.rights import LimitExceeded
from turnstream.server.extensions.base import RECOGNISE_SECONDS, Extension, Refusal
from turnstream.server.extensions.recording import in_time
from turnstream.server.http.problems import SOON, Problem, problem
from turnstream.server.runs.hooks import RunHooks
from turnstream.server.storage.interfaces import StorageUnavailable

PRINCIPAL = "principal"
HAS_CREDENTIALS = "has_credentials"
"""In the state of a request's scope, which copies of the scope share: True if the request said who
its caller is, as the extension that was asked sees it."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Authenticated:
    """ASGI middleware of a route."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal = await principal_of(Request(scope))
        passed: ConfigurableHeaders | None = scope["state"]["passed_headers"]
        if passed:
            principal = replace(principal, headers=_passed(scope, passed))
        scope[PRINCIPAL] = principal
        await self.app(scope, receive, send)


def _passed(scope: Scope, passed: ConfigurableHeaders) -> Mapping[str, str]:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return {name: value for name, value in headers.items() if passed.passes(name)}


async def principal_of(request: Request[Any]) -> Principal:
    """Return the caller of a request: the one of the first extension that knows them; `local` while
    authentication is off. Raises Problem, Refusal, LimitExceeded, StorageUnavailable."""
    state = request.scope["state"]
    if not state["knows_callers"]:
        return LOCAL
    hooks: RunHooks = state["hooks"]
    state[HAS_CREDENTIALS] = "authorization" in request.headers
    for extension in hooks.recognising:
        principal = await _recognised(extension, request)
        if principal:
            return principal
    headers = {"WWW-Authenticate": 'Bearer realm="turnstream"'}
    raise problem("unauthenticated", headers=headers, login=False)


async def _recognised(extension: Extension, request: Request[Any]) -> Principal | None:
    """Nobody is let in by an extension that fails."""
    try:
        principal = await in_time(RECOGNISE_SECONDS, extension.recognise(request))
        if principal is not None and (
            not isinstance(principal, Principal) or principal.method == "off"
        ):
            raise TypeError(f"it returned {type(principal).__name__}, not a principal")
        return principal
    except (Problem, Refusal, LimitExceeded, StorageUnavailable):
        raise
    except Exception:
        named = {"extension": extension.name}
        logger.exception("extension %(extension)s recognises nobody: it failed", named)
        raise problem("authentication_unavailable", headers=SOON) from None
