"""GET /graphs: the graphs that a client may choose from, and the values that each takes."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.graphs.attached import AttachedGraph
from turnstream.server.http.operations import Answer, Operation, says
from turnstream.server.http.state import ApiRequest
from turnstream.server.runs.client_values import allowed_names

SEE_LOG = "It cannot be served; the start of the server's log says why."
"""For other users than the developer: a reason may have the words of an exception."""


class GraphJson(TypedDict):
    """A graph; `context`, `configurable` and `input` are the names that a client may set."""

    name: str
    description: NotRequired[str]
    default: bool
    context: list[str]
    configurable: list[str]
    input: list[str]
    client_tools: Annotated[bool, says("True if it takes tools of a client.")]


class RefusedGraphJson(TypedDict):
    name: str
    reason: str


class GraphsJson(TypedDict):
    graphs: Annotated[list[GraphJson], Field(min_length=1)]
    not_served: NotRequired[
        Annotated[list[RefusedGraphJson], says("Those of the same file that cannot be served.")]
    ]
    development: NotRequired[Annotated[Literal[True], says("Of `turnstream dev` alone.")]]


class Graphs(HTTPEndpoint):
    @Operation("listGraphs", Answer("The default first.", GraphsJson))
    async def get(self, request: ApiRequest) -> Response:
        """List the graphs that are served."""
        graphs, allowed = request.state["graphs"], request.state["client_values"]
        listed = [
            _graph(name, checkpoints.attached, allowed, is_default=name == graphs.default)
            for name, checkpoints in graphs.by_name.items()
        ]
        answer = GraphsJson(graphs=listed)
        if graphs.refused:
            is_open = not request.state["knows_callers"]
            reasons = graphs.refused.items()
            answer["not_served"] = [
                {"name": name, "reason": reason if is_open else SEE_LOG} for name, reason in reasons
            ]
        if request.state["is_development"]:
            answer["development"] = True
        return JSONResponse(answer)


def _graph(
    name: str, graph: AttachedGraph, allowed: tuple[str, ...], *, is_default: bool
) -> GraphJson:
    names = allowed_names(graph, allowed)
    shown: GraphJson = {
        "name": name,
        "default": is_default,
        "context": names["context"],
        "configurable": names["configurable"],
        "input": names["input"],
        "client_tools": graph.takes_client_tools,
    }
    if graph.description:
        shown["description"] = graph.description
    return shown
