"""What this server is: /health."""

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response

from graphs.models import OFFLINE
from graphs.offline import EXAMPLES
from server.http.state import ApiRequest


class Health(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """`{"status": "ok", "model", "offline", "examples"}`."""
        model = request.state["model_name"]
        return JSONResponse(
            {
                "status": "ok",
                "model": model,
                "offline": model == OFFLINE,
                "examples": EXAMPLES,
            }
        )
