"""LangGraph SDK: what the server is, and its graphs as assistants."""

from functools import partial
from importlib.metadata import version
from typing import Annotated, Any, Literal, NotRequired, TypeVar

from pydantic import BeforeValidator, Field, WithJsonSchema
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.formats import fields
from turnstream.server.formats.fields import Fields, Text, read, shown
from turnstream.server.http import operations
from turnstream.server.http.operations import Answer, Operation, component, says
from turnstream.server.http.problems import Problem
from turnstream.server.http.state import ApiRequest
from turnstream.server.turns.problem_codes import pick
from turnstream.tools.threads import in_thread

Nothing = Annotated[dict[str, Any], Field(max_length=0)]
_EPOCH = "1970-01-01T00:00:00+00:00"
"""Graphs are code: nobody has made them at a time."""
MAX_LISTED, LISTED = 1000, 10
"""States or threads of an answer; LangGraph's own default."""
MAX_SEARCHED = 10_000
"""Threads that one search looks through, the newest."""
A = TypeVar("A", bound="LangGraphAssistantCountBody")


def _whole(value: Any) -> Any:
    """A float without a fraction is an integer in JSON Schema."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def bounded(least: int, most: int, default: int) -> tuple[Any, ...]:
    remedy = fields.Otherwise("invalid_limit", f"ask for {least} to {most}")
    schema = WithJsonSchema(operations.whole_number(least, most, default))
    return Field(ge=least, le=most), BeforeValidator(_whole), remedy, schema


METADATA = BeforeValidator(lambda value: value or None), component("LangGraph.AnyMetadata")


class LangGraphFlagsJson(TypedDict):
    assistants: bool
    crons: bool
    langsmith: bool


class LangGraphInfoJson(TypedDict):
    version: str
    flags: LangGraphFlagsJson


class LangGraphOkJson(TypedDict):
    ok: Literal[True]


class LangGraphNodeJson(TypedDict):
    id: str
    type: Literal["runnable"]


class LangGraphEdgeJson(TypedDict):
    source: str
    target: str
    data: NotRequired[str]
    conditional: NotRequired[bool]


class LangGraphDrawingJson(TypedDict):
    nodes: list[LangGraphNodeJson]
    edges: list[LangGraphEdgeJson]


class LangGraphAssistantCountBody(Fields):
    graph_id: Annotated[Text | None, says("The name of the only one that is wanted.")] = None
    name: Annotated[Text | None, says("Part of a name.")] = None
    metadata: Annotated[
        dict[str, Any] | None, *METADATA, says("A graph has none: any leaves nothing.")
    ] = None


class LangGraphAssistantSearchBody(LangGraphAssistantCountBody):
    limit: Annotated[int, *bounded(1, MAX_LISTED, LISTED)] | None = None
    offset: Annotated[int, *bounded(0, MAX_SEARCHED, 0)] | None = None


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


@Operation("langgraphOk", Answer("It is.", LangGraphOkJson))
async def ok(_request: ApiRequest) -> Response:
    """Say that the server answers."""
    return JSONResponse(LangGraphOkJson(ok=True))


@Operation(
    "langgraphSearchAssistants",
    Answer("The default first.", list[LangGraphAssistantJson]),
    pick("invalid_body", "invalid_limit"),
    body=LangGraphAssistantSearchBody,
    examples={"all": {}, "one that there is not": {"graph_id": "none"}},
)
async def search_assistants(request: ApiRequest) -> Response:
    """List the graphs, as assistants."""
    asked, names = await _matching(request, LangGraphAssistantSearchBody)
    start = asked.offset or 0
    page = names[start : start + (asked.limit or LISTED)]
    return JSONResponse([_assistant(request, name) for name in page])


@Operation(
    "langgraphCountAssistants",
    Answer("The number of graphs that match.", int),
    pick("invalid_body"),
    body=LangGraphAssistantCountBody,
    examples={"all": {}, "those of a name": {"name": "chat"}},
)
async def count_assistants(request: ApiRequest) -> Response:
    """Count the graphs."""
    _, names = await _matching(request, LangGraphAssistantCountBody)
    return JSONResponse(len(names))


async def _matching(request: ApiRequest, model: type[A]) -> tuple[A, list[str]]:
    """Read a body, and find the names of the graphs that it asks for."""
    asked, _ = await request.state["bodies"].read(request, partial(read, model))
    part = (asked.name or "").lower()
    found = [
        name
        for name in request.state["graphs"].by_name
        if asked.graph_id in (None, name) and part in name.lower() and not asked.metadata
    ]
    return asked, found


@Operation(
    "langgraphGetAssistant", Answer("A graph.", LangGraphAssistantJson), pick("assistant_not_found")
)
async def get_assistant(request: ApiRequest) -> Response:
    """Load a graph, as an assistant."""
    name = graph_named(request, request.path_params["assistant_id"])
    return JSONResponse(_assistant(request, name))


@Operation(
    "langgraphGetGraph",
    Answer("Its nodes and edges.", LangGraphDrawingJson),
    pick("assistant_not_found"),
)
async def get_graph(request: ApiRequest) -> Response:
    """Load the drawing of a graph, without what is inside its nodes."""
    name = graph_named(request, request.path_params["assistant_id"])
    attached = request.state["graphs"].by_name[name].attached
    drawing: Any = await in_thread(lambda: attached.drawing().to_json())
    shown = LangGraphDrawingJson(
        nodes=[{"id": str(node["id"]), "type": "runnable"} for node in drawing["nodes"]],
        edges=drawing["edges"],
    )
    return JSONResponse(shown)


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
