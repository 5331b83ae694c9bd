"""LangGraph SDK: what the server is, and its graphs as assistants."""

from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.formats import fields
from turnstream.server.formats.fields import shown
from turnstream.server.http import operations
from turnstream.server.http.operations import Answer, Operation
from turnstream.server.http.problems import Problem
from turnstream.server.http.state import ApiRequest
from turnstream.server.turns.problem_codes import pick

if TYPE_CHECKING:
    pass

Nothing = Annotated[dict[str, Any], Field(max_length=0)]
_EPOCH = "1970-01-01T00:00:00+00:00"
"""Graphs are code: nobody has made them at a time."""
_WANTED = {"description": "The name of the only one that is wanted."}


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
    created_at: operations.Time
    updated_at: operations.Time
    config: Nothing
    context: Nothing
    metadata: Nothing
    version: Literal[1]


@Operation(
    "langgraphInfo",
    Answer("The version, and the parts of LangGraph's server that there are.", LangGraphInfoJson),
)
async def info(_request: ApiRequest) -> Response:
    """Describe the server."""
    flags = LangGraphFlagsJson(assistants=True, crons=False, langsmith=False)
    return JSONResponse(LangGraphInfoJson(version=version("turnstream"), flags=flags))


@Operation(
    "langgraphSearchAssistants",
    Answer("The default first.", list[LangGraphAssistantJson]),
    pick("invalid_body"),
    body={"type": "object", "properties": {"graph_id": _WANTED}},
    examples={"all": {}, "one that there is not": {"graph_id": "none"}},
)
async def search_assistants(request: ApiRequest) -> Response:
    """List the graphs, as assistants."""
    body, _ = await request.state["bodies"].read(request, fields.an_object)
    asked = body.get("graph_id")
    names = [name for name in request.state["graphs"].by_name if asked in (None, name)]
    return JSONResponse([_assistant(request, name) for name in names])


@Operation(
    "langgraphGetAssistant", Answer("A graph.", LangGraphAssistantJson), pick("assistant_not_found")
)
async def get_assistant(request: ApiRequest) -> Response:
    """Load a graph, as an assistant."""
    name = graph_named(request, request.path_params["assistant_id"])
    return JSONResponse(_assistant(request, name))


def graph_named(request: ApiRequest, assistant_id: str) -> str:
    """Find the graph that an assistant's id names. Raises Problem."""
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
