"""What this server is, and whether it works: /health, /health/live, /health/ready."""

import asyncio

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response

from graphs.models import OFFLINE
from graphs.offline import EXAMPLES
from server.http.state import ApiRequest
from server.storage.interfaces import StorageUnavailable

READY_SECONDS = 2.0
"""A database that takes longer to answer is not ready."""


class Health(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """`{"status", "model", "offline", "titles", "examples", "undo_seconds"}`; `status` is `ok`,
        or with a 503 `database_gone`; `titles`: a model makes those of threads. Asks no database:
        it answers whatever that does."""
        gone = request.state["database"].gone
        model = request.state["model_name"]
        return JSONResponse(
            {
                "status": "database_gone" if gone else "ok",
                "model": model,
                "offline": model == OFFLINE,
                "titles": request.state["makes_titles"],
                "examples": EXAMPLES,
                "undo_seconds": request.state["undo_seconds"],
            },
            503 if gone else 200,
        )


class Live(HTTPEndpoint):
    async def get(self, _request: ApiRequest) -> Response:
        """`{"status": "live"}`: the process answers. Asks nothing else."""
        return JSONResponse({"status": "live"})


class Ready(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """`{"status": "ready"}` if runs can begin: the database answers, and Redis if there is one,
        and the server is not ending. Else a problem of status 503."""
        if request.state["database"].gone:
            raise StorageUnavailable("database_gone", store="sqlite")
        try:
            async with asyncio.timeout(READY_SECONDS):
                await request.state["runs"].check()
        except TimeoutError:
            raise StorageUnavailable("storage_busy", state="slow") from None
        return JSONResponse({"status": "ready"})
