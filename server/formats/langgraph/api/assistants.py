"""LangGraph SDK: what the server is, and its graphs as assistants, under `/langgraph`."""

from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any, Literal

from pydantic import Field
from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import TypedDict

from turnstream.server.formats.fields import an_object, shown
from turnstream.server.http.openapi.operation import Answer, Operation, Time
from turnstream.server.http.problems import Problem
from turnstream.server.http.state import ApiRequest
from turnstream.server.turns.problem_codes import pick

Nothing = Annotated[dict[str, Any], Field(max_length=0)]
_EPOCH = "1970-01-01T00:00:00+00:00"
"""Graphs are code: nobody has made them at a time."""
_WANTED = {"description": "The name of the only one that is wanted."}


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


class LangGraphFlagsJson(TypedDict):
    assistants: bool
    crons: bool
    langsmith: bool


class LangGraphInfoJson(TypedDict):
    version: str
    flags: LangGraphFlagsJson


class LangGraphAssistantJson(TypedDict):
    assistant_id: str
    graph_id: str
    name: str
    description: str | None
    created_at: Time
    updated_at: Time
    config: Nothing
    context: Nothing
    metadata: Nothing
    version: Literal[1]


class Info(HTTPEndpoint):
    @Operation(
        "langgraphInfo",
        Answer(
            "The version, and the parts of LangGraph's server that there are.", LangGraphInfoJson
        ),
    )
    async def get(self, _request: ApiRequest) -> Response:
        """Describe the server."""
        flags: LangGraphFlagsJson = {"assistants": True, "crons": False, "langsmith": False}
        return JSONResponse(LangGraphInfoJson(version=version("turnstream"), flags=flags))


class AssistantSearch(HTTPEndpoint):
    @Operation(
        "langgraphSearchAssistants",
        Answer("The default first.", list[LangGraphAssistantJson]),
        pick("invalid_body"),
        body={"type": "object", "properties": {"graph_id": _WANTED}},
        examples={"all": {}, "one that there is not": {"graph_id": "none"}},
    )
    async def post(self, request: ApiRequest) -> Response:
        """List the graphs, as assistants."""
        fields, _ = await request.state["bodies"].read(request, an_object)
        asked = fields.get("graph_id")
        names = [name for name in request.state["graphs"].by_name if asked in (None, name)]
        return JSONResponse([_assistant(request, name) for name in names])


class Assistant(HTTPEndpoint):
    @Operation(
        "langgraphGetAssistant",
        Answer("A graph.", LangGraphAssistantJson),
        pick("assistant_not_found"),
    )
    async def get(self, request: ApiRequest) -> Response:
        """Load a graph, as an assistant."""
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


def _assistant(request: ApiRequest, name: str) -> LangGraphAssistantJson:
    return {
        "assistant_id": name,
        "graph_id": name,
        "name": name,
        "description": request.state["graphs"].by_name[name].attached.description or None,
        "created_at": _EPOCH,
        "updated_at": _EPOCH,
        "config": {},
        "context": {},
        "metadata": {},
        "version": 1,
    }
