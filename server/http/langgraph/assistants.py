"""LangGraph SDK: what the server is, and its graphs as assistants, under `/langgraph`."""

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from turnstream.server.http.problems import Problem
from turnstream.server.http.state import ApiRequest
from turnstream.server.protocols.fields import an_object, shown

_EPOCH = "1970-01-01T00:00:00+00:00"
"""Graphs are code: nobody has made them at a time."""


@dataclass(frozen=True, slots=True)
class ApiKeyHeader:
    """ASGI middleware of a route: the clients of this protocol send a key as `X-Api-Key`, and know
    no other header for it."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        keys = [value for name, value in headers if name == b"x-api-key"]
        if keys and all(name != b"authorization" for name, _ in headers):
            bearers = [(b"authorization", b"Bearer " + key) for key in keys]
            scope = {**scope, "headers": [*headers, *bearers]}
        await self.app(scope, receive, send)


class Info(HTTPEndpoint):
    async def get(self, _request: ApiRequest) -> Response:
        """`{"version", "flags"}`."""
        flags = {"assistants": True, "crons": False, "langsmith": False}
        return JSONResponse({"version": version("turnstream"), "flags": flags})


class AssistantSearch(HTTPEndpoint):
    async def post(self, request: ApiRequest) -> Response:
        """Body `{"graph_id"?}`: the graphs, the default first."""
        fields, _ = await request.state["bodies"].read(request, an_object)
        asked = fields.get("graph_id")
        names = [name for name in request.state["graphs"].by_name if asked in (None, name)]
        return JSONResponse([_assistant(request, name) for name in names])


class Assistant(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        name = graph_named(request, request.path_params["assistant_id"])
        return JSONResponse(_assistant(request, name))


def graph_named(request: ApiRequest, assistant_id: str) -> str:
    """The graph that an assistant's id names. Raises Problem."""
    graphs = request.state["graphs"]
    if (name := graphs.find(assistant_id)) is None:
        raise Problem(
            404,
            "assistant_not_found",
            f"There is no assistant {shown(assistant_id)}; there {graphs.listed}.",
        )
    return name


def _assistant(request: ApiRequest, name: str) -> dict[str, Any]:
    described = request.state["graphs"].by_name[name].attached.description
    return {
        "assistant_id": name,
        "graph_id": name,
        "name": name,
        "description": described or None,
        "created_at": _EPOCH,
        "updated_at": _EPOCH,
        "config": {},
        "context": {},
        "metadata": {},
        "version": 1,
    }
