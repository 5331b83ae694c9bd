"""GET /openapi.json: all calls, for programs. Nothing of the document is made, nor imported,
before it is asked for."""

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response

from turnstream.server.http.state import ApiRequest, principal, rights
from turnstream.server.runs.client_values import allowed_names

if TYPE_CHECKING:
    from turnstream.server.http.openapi.document import Subject


class OpenApi(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """The OpenAPI document, with the models that the caller may name and the caller's id."""
        from turnstream.server.http.openapi.document import document

        return JSONResponse(document(request.app.routes, _subject(request)))


def _subject(request: ApiRequest) -> "Subject":
    from turnstream.server.http.openapi.document import Subject
    from turnstream.server.protocols.body_schemas import Served

    state = request.state
    graphs, has_models = state["graphs"].by_name, False
    names: dict[str, set[str]] = {}
    for checkpoints in graphs.values():
        has_models = has_models or checkpoints.attached.is_built_in
        allowed = allowed_names(checkpoints.attached, state["client_values"])
        for place, given in allowed.items():
            names.setdefault(place, set()).update(given)
    models = state["models"].allowed(rights(request)) if has_models else []
    served = Served(
        limits=state["body_limits"],
        graphs=tuple(graphs),
        models=tuple(models),
        values=tuple((place, tuple(sorted(given))) for place, given in names.items()),
    )
    return Subject(served, _version(), _schemes(request), principal(request).id)


def _schemes(request: ApiRequest) -> tuple[str, ...]:
    authentication = request.state["authentication"]
    if authentication is None:
        return ()
    return ("credentials", "key", "session") if authentication.takes_logins else ()


def _version() -> str:
    try:
        return version("turnstream")
    except PackageNotFoundError:
        return "0"
