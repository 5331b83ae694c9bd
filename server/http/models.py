"""GET /models: the models that a client may choose from."""

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response

from graphs.models import ModelName
from server.http.state import ApiRequest, rights


class Models(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """`{"models": [{"name", "provider", "default"}]}`: those that the caller may use of the
        built-in graph's, the default first."""
        names = request.state["models"].allowed(rights(request))
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
