"""What this server is: /health."""

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response

from graphs.models import OFFLINE
from graphs.offline import EXAMPLES
from server.http.state import ApiRequest


class Health(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """`{"status", "model", "offline", "examples"}`; `status` is `ok`, or with a 503
        `database_gone`. Asks no database: it answers whatever that does."""
        gone = request.state["file"].gone
        model = request.state["model_name"]
        return JSONResponse(
            {
                "status": "database_gone" if gone else "ok",
                "model": model,
                "offline": model == OFFLINE,
                "examples": EXAMPLES,
            },
            503 if gone else 200,
        )
