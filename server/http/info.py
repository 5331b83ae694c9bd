"""The state of this server: /health, /health/live, /health/ready, /health/stream."""

import asyncio
import json
from typing import Annotated, Literal

from pydantic import Field
from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from typing_extensions import TypeAliasType, TypedDict

from turnstream.graphs.models import OFFLINE
from turnstream.graphs.offline import EXAMPLES
from turnstream.server.http.guard import FOREIGN_HOST
from turnstream.server.http.operations import EVENTS, TEXT, Answer, Operation, Schema, says
from turnstream.server.http.state import ApiRequest
from turnstream.server.storage.interfaces import StorageUnavailable
from turnstream.server.turns.problem_codes import STORAGE, pick
from turnstream.tools.solar import offers_demo

LAST_EVENT = b"data: [DONE]\n\n"
READY_SECONDS = 2.0
"""A database that takes longer to answer is not ready."""


class StatusJson(TypedDict):
    status: Literal["ok", "database_gone"]


class WholeHealthJson(StatusJson):
    model: Annotated[str | None, says("Null if the graph has models of its own.")]
    offline: bool
    titles: Annotated[bool, says("True if a model makes the titles of threads.")]
    search: Annotated[bool, says("True if threads are found by words.")]
    examples: Annotated[list[str], says("Prompts of the demo, where it is served.")]
    undo_seconds: Annotated[float, Field(ge=0)]


HealthJson = TypeAliasType("HealthJson", WholeHealthJson | StatusJson)


class LiveJson(TypedDict):
    status: Literal["live"]


class ReadyJson(TypedDict):
    status: Literal["ready"]


class Health(HTTPEndpoint):
    @Operation(
        "health",
        {
            200: Answer("The server works.", HealthJson),
            503: Answer("The database file was deleted or replaced.", HealthJson),
        },
    )
    async def get(self, request: ApiRequest) -> Response:
        """Check whether the server works.

        A request to a host that is not one of TURNSTREAM_ALLOWED_HOSTS gets the status alone. The
        database is not asked.
        """
        gone = request.state["database"].gone
        status: StatusJson = {"status": "database_gone" if gone else "ok"}
        health: HealthJson = status if request.scope[FOREIGN_HOST] else _health(request, status)
        return JSONResponse(health, 503 if gone else 200)


def _health(request: ApiRequest, status: StatusJson) -> WholeHealthJson:
    is_built_in = request.state["graphs"].checkpoints(None).attached.is_built_in
    model = request.state["model_name"] if is_built_in else None
    has_demo = is_built_in and offers_demo(request.state["catalogue"].current.real_by_name)
    return {
        **status,
        "model": model,
        "offline": model == OFFLINE,
        "titles": any(each.name == "titles" for each in request.state["extensions"]),
        "search": request.state["search"] is not None,
        "examples": [*EXAMPLES] if has_demo else [],
        "undo_seconds": request.state["restorable_seconds"],
    }


class Live(HTTPEndpoint):
    @Operation("live", Answer("The process answers.", LiveJson))
    async def get(self, _request: ApiRequest) -> Response:
        """Check whether the process answers."""
        return JSONResponse(LiveJson(status="live"))


_PROBE_EVENT: Schema = {"type": "object", "required": ["data"], "properties": {"data": TEXT}}


class StreamProbe(HTTPEndpoint):
    @Operation(
        "health_stream",
        Answer(
            "An event with the `scheme` and the `http_version` of the request as the server sees "
            "it, and after a silence of TURNSTREAM_PING_SECONDS, the longest that a stream has, "
            "`[DONE]`.",
            _PROBE_EVENT,
            EVENTS,
            headers=("Location",),
        ),
        pick("limit_reached"),
    )
    async def get(self, request: ApiRequest) -> Response:
        """Read a stream that shows what a proxy does to streams.

        Its `Location` is its own address. `turnstream doctor --url` reads it.
        """
        seen = {"scheme": request.url.scheme, "http_version": request.scope["http_version"]}
        return request.state["streams"].probe(
            json.dumps(seen), LAST_EVENT, str(request.scope["path"])
        )


class Ready(HTTPEndpoint):
    @Operation("ready", Answer("Runs can begin.", ReadyJson), STORAGE | pick("shutting_down"))
    async def get(self, request: ApiRequest) -> Response:
        """Check whether runs can begin.

        The database answers, and Redis if there is one, and the server is not shutting down.
        """
        if request.state["database"].gone:
            raise StorageUnavailable("database_gone", store="sqlite")
        try:
            async with asyncio.timeout(READY_SECONDS):
                await request.state["runs"].check()
        except TimeoutError:
            raise StorageUnavailable("storage_busy", state="slow") from None
        return JSONResponse(ReadyJson(status="ready"))
