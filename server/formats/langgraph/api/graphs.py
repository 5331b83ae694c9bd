"""LangGraph SDK: the graphs behind assistants: their drawings, their subgraphs, and the schemas of
what clients send and see of them."""

from typing import Any, Literal, NotRequired

from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.server.formats.langgraph.api.assistants import named_assistant
from turnstream.server.http.operations import Answer, Operation, Parameter
from turnstream.server.http.state import ApiRequest
from turnstream.server.runs.checkpoints import Checkpoints
from turnstream.server.runs.graph_schemas import GraphSchemas, schemas, subgraphs
from turnstream.server.turns.problem_codes import STORAGE, pick
from turnstream.server.turns.requests import InvalidRequest
from turnstream.tools.threads import in_thread

MAX_LEVELS = 9
"""Levels of subgraphs in a drawing."""


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


class LangGraphSchemasJson(GraphSchemas):
    """The JSON Schemas of a graph, as far as clients send and see it; null: there is none."""

    graph_id: str


_FOUND = STORAGE | pick("assistant_not_found")


@Operation(
    "langgraphGetGraph",
    Answer("Its nodes and edges.", LangGraphDrawingJson),
    _FOUND | pick("invalid_body"),
    query={
        "xray": Parameter(
            f"`true`, or a number of levels up to {MAX_LEVELS}: subgraphs are drawn too.",
            {"type": "string", "pattern": f"^([Tt]rue|[Ff]alse|[0-{MAX_LEVELS}])?$"},
        )
    },
)
async def get_graph(request: ApiRequest) -> Response:
    """Load the drawing of a graph."""
    _, checkpoints = await _graph(request)
    levels = _levels(request.query_params.get("xray", ""))
    drawing: Any = await in_thread(lambda: checkpoints.attached.drawing(levels).to_json())
    shown = LangGraphDrawingJson(
        nodes=[{"id": str(node["id"]), "type": "runnable"} for node in drawing["nodes"]],
        edges=drawing["edges"],
    )
    return JSONResponse(shown)


@Operation("langgraphGetSchemas", Answer("The schemas.", LangGraphSchemasJson), _FOUND)
async def get_schemas(request: ApiRequest) -> Response:
    """Load the schemas of a graph: the messages, and what a client may set or sees beside them."""
    graph, checkpoints = await _graph(request)
    attached, allowed = checkpoints.attached, request.state["client_values"]
    made = await in_thread(lambda: schemas(attached, allowed))
    return JSONResponse({"graph_id": graph, **made})


_SUBGRAPHS = Answer(
    "The schemas of the subgraphs, by their names.", dict[str, LangGraphSchemasJson]
)
_RECURSE = {"recurse": Parameter("`true`: those inside of them too.")}


@Operation("langgraphListSubgraphs", _SUBGRAPHS, _FOUND, query=_RECURSE)
async def list_subgraphs(request: ApiRequest) -> Response:
    """Load the subgraphs of a graph."""
    return await _subgraphs(request, None)


@Operation("langgraphGetSubgraph", _SUBGRAPHS, _FOUND, query=_RECURSE)
async def get_subgraph(request: ApiRequest) -> Response:
    """Load the subgraph of a name; nothing, if there is none."""
    return await _subgraphs(request, request.path_params["namespace"])


async def _subgraphs(request: ApiRequest, namespace: str | None) -> Response:
    graph, checkpoints = await _graph(request)
    attached, allowed = checkpoints.attached, request.state["client_values"]
    recurse = request.query_params.get("recurse", "").lower() in ("1", "true")
    found = await in_thread(lambda: subgraphs(attached, allowed, namespace, recurse=recurse))
    return JSONResponse({name: {"graph_id": graph, **one} for name, one in found.items()})


async def _graph(request: ApiRequest) -> tuple[str, Checkpoints]:
    """Find the graph of the assistant that the address names. Raises Problem."""
    found = await named_assistant(request)
    return found.graph, request.state["graphs"].by_name[found.graph]


def _levels(text: str) -> int | bool:
    """Raises InvalidRequest."""
    match text.lower():
        case "true":
            return True
        case "false" | "":
            return False
        case digit if len(digit) == 1 and "0" <= digit <= str(MAX_LEVELS):
            return int(digit)
    said = f"xray is {text[:20]!r}: send true, false or a number of levels up to {MAX_LEVELS}."
    raise InvalidRequest("invalid_body", said)
