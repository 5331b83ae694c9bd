"""The route of the document. Nothing of the document is made, nor imported, before a client asks
for it."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence

from starlette.endpoints import HTTPEndpoint
from starlette.responses import Response
from starlette.routing import Route

from turnstream.server.http.operations import JSON, Answer, Operation
from turnstream.server.http.routes import OWN_ROUTES
from turnstream.server.http.state import ApiRequest, principal, rights
from turnstream.server.runs.client_values import allowed_names
from turnstream.tools.components import OUR_COMPONENTS

PATH = "/openapi.json"
RENDER = "render_ui_component"


class OpenApi(HTTPEndpoint):
    @Operation("describe", Answer("The document, made for the caller.", {"type": "object"}))
    async def get(self, request: ApiRequest) -> Response:
        """Describe all calls in this document."""
        return Response(await asyncio.to_thread(_encoded, request), media_type=JSON)


def _encoded(request: ApiRequest) -> bytes:
    from turnstream.server.extensions.openapi.document import Subject, encoded
    from turnstream.server.formats.body_schemas import Served

    state = request.state
    graphs = state["graphs"].by_name
    takes_models = any(one.attached.is_built_in for one in graphs.values())
    models = state["models"].allowed(rights(request)) if takes_models else []
    values = tuple((place, tuple(sorted(names))) for place, names in _values(request).items())
    served = Served(state["body_limits"], tuple(graphs), tuple(models), values)
    caller, extensions = principal(request).id, tuple(state["extensions"])
    components = tuple(_components(request))
    routes = _in_order(request.app.routes)
    return encoded(Subject(state["formats"], served, caller, extensions, components, routes))


def _components(request: ApiRequest) -> Iterator[tuple[str, str]]:
    """Yield the names of the components that a model can draw, with the schemas of their props."""
    if RENDER in request.state["catalogue"].current.ui_by_name:
        further = [one.component for one in request.state["components"].values()]
        for component in (*OUR_COMPONENTS.by_name.values(), *further):
            schema = {
                k: v for k, v in component.props.schema.items() if k not in ("$id", "$schema")
            }
            yield component.name, json.dumps(schema)


def _in_order(routes: Sequence[Route]) -> Sequence[Route]:
    """Put the document's own route behind the core's: its place in the document does not depend on
    the formats and extensions of the server."""
    return sorted(routes, key=lambda route: (route not in OWN_ROUTES, route.path != PATH))


def _values(request: ApiRequest) -> Mapping[str, set[str]]:
    """Return the names that a client may set of any graph, by their place."""
    names: dict[str, set[str]] = {}
    for checkpoints in request.state["graphs"].by_name.values():
        allowed = allowed_names(checkpoints.attached, request.state["client_values"])
        for place, given in allowed.items():
            names.setdefault(place, set()).update(given)
    return names
