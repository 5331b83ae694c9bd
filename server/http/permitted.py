"""The rights of the caller: `scope["rights"]`, or a 403 or 429, where a route needs a role; and the
rules on the thread that the route's path names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Receive, Scope, Send

from turnstream.server.callers.principal import Principal
from turnstream.server.http.authenticated import PRINCIPAL
from turnstream.server.runs.hooks import RunHooks
from turnstream.server.runs.reach import ThreadAction, ThreadReach
from turnstream.server.turns.header import ThreadKey

RIGHTS = "rights"
Deed = ThreadAction | Literal["stop"]
_BY_METHOD: Mapping[str, ThreadAction] = {"GET": "read", "HEAD": "read", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class Permitted:
    """ASGI middleware of a route, behind `Authenticated`: counts the request. Raises Forbidden,
    LimitExceeded, Refusal, GuardFailed, and UnknownThread for a thread that the caller does not
    reach.

    A GET reads a thread, a DELETE deletes it, any other method updates it. An endpoint may name
    other deeds by method (`thread_deeds`); None: it asks the rules itself.
    """

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        hooks: RunHooks = scope["state"]["hooks"]
        scope[RIGHTS] = rights = hooks.rights(scope[PRINCIPAL])
        await rights.take("requests_per_minute")
        if hooks.has_rules("threads") and "thread_id" in scope["path_params"]:
            await _check_thread(scope)
        await self.app(scope, receive, send)


async def _check_thread(scope: Scope) -> None:
    endpoint, method, path = scope["endpoint"], scope["method"], scope["path_params"]
    deeds: Mapping[str, Deed | None] = getattr(endpoint, "thread_deeds", {})
    deed = deeds[method] if method in deeds else _BY_METHOD.get(method, "update")
    if deed is None:
        return
    asked: dict[str, Any] = {"run_id": path["run_id"]} if "run_id" in path else {}
    if deed == "stop":
        deed = "update"
        asked["action"] = QueryParams(scope["query_string"]).get("action", "interrupt")
    principal: Principal = scope[PRINCIPAL]
    reach: ThreadReach = scope["state"]["runs"].reach
    await reach.check(principal, ThreadKey(principal.owner, path["thread_id"]), deed, **asked)
