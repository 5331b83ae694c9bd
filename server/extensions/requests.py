"""The caller, the body and the route of a request, for extensions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from starlette.requests import Request
from starlette.types import Scope

from turnstream.server.callers.principal import Principal
from turnstream.server.http.authenticated import PRINCIPAL
from turnstream.server.http.state import ApiRequest
from turnstream.server.http.thread_listing import ThreadEntryJson, shown
from turnstream.server.turns.header import ThreadKey

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
"""Any other is named `other`: a method is a word of the caller's."""


@dataclass(frozen=True, slots=True)
class Caller:
    id: str
    """The id of the principal, and the owner of their threads."""
    roles: tuple[str, ...]

    def thread(self, thread_id: str) -> ThreadKey:
        """Return the key of a thread of the caller."""
        return ThreadKey(self.id, thread_id)


def caller(request: Request[Any]) -> Caller:
    """Return who calls: routes of extensions are for callers who are recognised."""
    principal: Principal = request.scope[PRINCIPAL]
    return Caller(principal.owner, principal.roles)


def thread_key(request: Request[Any]) -> ThreadKey:
    """Return the key of the caller's thread that the `thread_id` of a route's path names."""
    return caller(request).thread(request.path_params["thread_id"])


async def thread_entry(request: Request[Any], key: ThreadKey) -> ThreadEntryJson | None:
    """Return what `GET /threads` says of a thread. None: there is no such thread. Raises
    StorageUnavailable."""
    served = cast("ApiRequest", request)
    entry = await served.state["store"].get(key)
    return shown(served, entry) if entry else None


def _unchanged(body: Any) -> Any:
    return body


async def read_json(request: Request[Any], parse: Callable[[Any], Any] = _unchanged) -> Any:
    """Return what `parse` makes of the JSON of a request's body, within the server's bounds of
    size, which are small on a public route. That of a long body is parsed on a worker thread.

    Raises what `parse` does, and what the server answers with a problem: 415 for another content
    type, 413, 400.
    """
    state = cast("ApiRequest", request).state
    bodies = state["bodies" if PRINCIPAL in request.scope else "anonymous_bodies"]
    value, _ = await bodies.read(request, parse)
    return value


def method_name(scope: Scope) -> str:
    """Return the method of a request, or `other`."""
    return scope["method"] if scope["method"] in METHODS else "other"


def route_template(scope: Scope) -> str | None:
    """Return the path of the route that the router has matched, such as `/chat/{thread_id}/stop`;
    nothing of it is the caller's own words. None without a route."""
    return scope["route"].path if "endpoint" in scope else None


def matched_route(scope: Scope) -> str | None:
    """Return method and first step of the matched route, such as `POST /chat`. None without a
    route."""
    template = route_template(scope)
    return template and f"{method_name(scope)} {first_step(template)}"


def first_step(template: str) -> str:
    """Return the first step of a path: `/chat` of `/chat/{thread_id}/stop`."""
    return f"/{template.split('/')[1]}"
