"""GET /models: the models that a client may choose from."""

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response

from graphs.models import ModelName
from server.http.state import ApiRequest, rights


class Models(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """`{"models": [{"name", "provider", "default"}]}`: those that the caller may name, the
        default first; none where the graph has models of its own."""
        graph = request.state["graphs"].checkpoints(None).attached
        names = request.state["models"].allowed(rights(request)) if graph.is_built_in else []
        return JSONResponse(
            {
                "models": [
                    {
                        "name": name,
                        "provider": ModelName.parse(name).provider,
                        "default": name == names[0],
                    }
                    for name in names
                ]
            }
        )
