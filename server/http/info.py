"""What this server is, and whether it works: /health, /health/live, /health/ready."""

import asyncio
from typing import Any

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response

from turnstream.graphs.models import OFFLINE
from turnstream.graphs.offline import EXAMPLES
from turnstream.server.http.guard import FOREIGN_HOST
from turnstream.server.http.state import ApiRequest
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.tools.solar import offers_demo

READY_SECONDS = 2.0
"""A database that takes longer to answer is not ready."""


class Health(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """`{"status", "model", "offline", "titles", "examples", "undo_seconds"}`; `status` is `ok`,
        or with a 503 `database_gone`; `model` is the one that answers, null of a graph with models
        of its own; `titles`: a model makes those of threads; `examples` are prompts of the demo,
        where it is served. A request to a host that is not one of TURNSTREAM_ALLOWED_HOSTS gets
        the status alone. Asks no database: it answers whatever that does."""
        gone = request.state["database"].gone
        status = {"status": "database_gone" if gone else "ok"}
        about = {} if request.scope[FOREIGN_HOST] else _about(request)
        return JSONResponse({**status, **about}, 503 if gone else 200)


def _about(request: ApiRequest) -> dict[str, Any]:
    is_built_in = request.state["graphs"].checkpoints(None).attached.is_built_in
    model = request.state["model_name"] if is_built_in else None
    has_demo = is_built_in and offers_demo(request.state["catalogue"].current.real_by_name)
    return {
        "model": model,
        "offline": model == OFFLINE,
        "titles": request.state["makes_titles"],
        "examples": EXAMPLES if has_demo else (),
        "undo_seconds": request.state["undo_seconds"],
    }


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
