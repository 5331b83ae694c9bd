"""The OpenAPI 3.1 document: of the routes, what is served, and the descriptions of operations.

A route without a description is left out here; a test fails for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.endpoints import HTTPEndpoint
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from turnstream.server.http.authenticated import COOKIE, SECURE_COOKIE, Authenticated
from turnstream.server.http.guard import SAFE_METHODS
from turnstream.server.http.langgraph.assistants import ApiKeyHeader
from turnstream.server.http.openapi import ag_ui, callers, offer, problems, threads, turns
from turnstream.server.http.openapi.answers import components
from turnstream.server.http.openapi.langgraph import answers as langgraph_answers
from turnstream.server.http.openapi.langgraph import assistants as langgraph_assistants
from turnstream.server.http.openapi.langgraph import runs as langgraph_runs
from turnstream.server.http.openapi.langgraph import threads as langgraph_threads
from turnstream.server.http.openapi.operation import Operation, described
from turnstream.server.http.openapi.problems import Source
from turnstream.server.http.permitted import Permitted
from turnstream.server.protocols.body_schemas import Served, closed_object, decision
from turnstream.server.protocols.schemas import body_components

OPERATIONS: Mapping[tuple[str, str], tuple[str, Operation]] = {
    place: (tag, operation)
    for tag, described_there in (
        ("turns", turns.OPERATIONS),
        ("threads", threads.OPERATIONS),
        ("callers", callers.OPERATIONS),
        ("server", offer.OPERATIONS),
        ("ag-ui", ag_ui.OPERATIONS),
        ("langgraph", langgraph_assistants.OPERATIONS),
        ("langgraph", langgraph_threads.OPERATIONS),
        ("langgraph", langgraph_runs.OPERATIONS),
    )
    for place, operation in described_there.items()
}
"""By method and address: the tag, and what is said."""

DESCRIPTION = """Serves a LangGraph graph to browsers. Errors are problems (RFC 9457) with a stable
`code`: LangGraph's SDK for Python raises them with their `code` and, as the message, their
`detail`. Whatever takes GET takes HEAD; another method is a 405 `method_not_allowed` with `Allow`,
an unknown address a 404 `not_found`."""
SECURITY_SCHEMES = {
    "credentials": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key or a token.",
    },
    "key": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Api-Key",
        "description": "The same, as LangGraph's SDK sends it; only under /langgraph.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": f"Of POST /login; by TLS its name is {SECURE_COOKIE}. What changes "
        "something needs an `Origin` beside it.",
    },
}


@dataclass(frozen=True, slots=True)
class Subject:
    """What the document describes, beside the routes."""

    served: Served
    version: str
    schemes: tuple[str, ...]
    """Names of the security schemes; none while authentication is off."""
    caller: str
    """The caller's id."""


def document(routes: Sequence[BaseRoute], subject: Subject) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for method, path, route in endpoints(routes):
        if (method, path) in OPERATIONS:
            tag, operation = OPERATIONS[method, path]
            sources = [*_of_route(method, route, subject), *operation.problems]
            security = _security(route, subject)
            said = described(operation, tag, sources, security)
            paths.setdefault(path, {})[method.lower()] = said
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "turnstream",
            "version": subject.version,
            "description": DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(tag for tag, _ in OPERATIONS.values())],
        "paths": paths,
        "components": _components(subject),
    }


def endpoints(routes: Sequence[BaseRoute], prefix: str = "") -> Iterator[tuple[str, str, Route]]:
    """The method, the address and the route of all that the routes serve."""
    for route in routes:
        if isinstance(route, Mount):
            yield from endpoints(route.routes, prefix + route.path)
        elif isinstance(route, Route):
            for method in _methods(route):
                yield method, prefix + _bare(route), route


def _bare(route: Route) -> str:
    """The address without the converters of its parameters, which OpenAPI does not know."""
    return str(route.path_format)


def _methods(route: Route) -> Sequence[str]:
    endpoint = route.endpoint
    if isinstance(endpoint, type) and issubclass(endpoint, HTTPEndpoint):
        known = ("get", "post", "put", "patch", "delete")
        return [name.upper() for name in known if hasattr(endpoint, name)]
    return sorted((route.methods or set()) - {"HEAD"})


def _of_route(method: str, route: Route, subject: Subject) -> Iterator[Source]:
    """What is answered before the endpoint is asked."""
    yield from (problems.CONNECTION, problems.UNEXPECTED, problems.HOST, problems.UNREAD)
    is_safe = method in SAFE_METHODS
    if not is_safe or route.path.endswith("/stream"):
        yield problems.ORIGIN
    layers = {type(layer) for layer in _layers(route.app)}
    if Authenticated in layers and subject.schemes:
        yield from (problems.CREDENTIALS, problems.LIMITED, problems.STORAGE)
        if not is_safe:
            yield problems.COOKIE
    if Permitted in layers and subject.schemes:
        yield from (problems.ROLE, problems.LIMITED)


def _layers(app: ASGIApp | None) -> Iterator[ASGIApp]:
    """A route's middleware, the outermost first."""
    while app is not None:
        yield app
        app = getattr(app, "app", None)


def _security(route: Route, subject: Subject) -> list[dict[str, list[str]]]:
    layers = {type(layer) for layer in _layers(route.app)}
    if Authenticated not in layers:
        return []
    taken = {"credentials", "session", *(["key"] if ApiKeyHeader in layers else [])}
    return [{name: []} for name in subject.schemes if name in taken]


def _components(subject: Subject) -> dict[str, Any]:
    limits = subject.served.limits
    schemas = {
        **body_components(subject.served),
        "DecisionBody": closed_object(["approved"], **decision(limits)),
        "Confirmation": closed_object(["confirm"], confirm={"const": subject.caller}),
        **components(),
        **langgraph_answers.components(),
    }
    schemes = {name: SECURITY_SCHEMES[name] for name in subject.schemes}
    return {"schemas": schemas, **({"securitySchemes": schemes} if schemes else {})}
