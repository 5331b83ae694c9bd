"""The graph and the threads as `turnstream dev` shows them to its developer. No other server has
these routes."""

from typing import Any, NotRequired

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import TypedDict

from turnstream.graphs.attached import AttachedGraph
from turnstream.server.http.operations import Answer, Operation
from turnstream.server.http.problems import unknown_thread
from turnstream.server.http.state import ApiRequest, thread_key
from turnstream.server.runs.inspection import CALLS, MAX_CHECKPOINTS, checkpoint_json, plain


class InspectedJson(TypedDict):
    """A graph as a drawing in Mermaid's language, and what a thread of it holds."""

    graph: str
    drawing: str
    state: NotRequired[dict[str, Any]]
    checkpoints: NotRequired[list[dict[str, Any]]]
    calls: NotRequired[list[dict[str, Any]]]


class InspectedGraph(HTTPEndpoint):
    @Operation("inspectGraph", Answer("The graph.", InspectedJson))
    async def get(self, request: ApiRequest) -> Response:
        """Show the drawing of the graph that new threads get, or of the one that `graph` names."""
        graphs = request.state["graphs"]
        asked = request.query_params.get("graph")
        name = asked if asked and asked in graphs.by_name else graphs.default
        drawing = drawn(graphs.checkpoints(name).attached)
        return JSONResponse(InspectedJson(graph=name, drawing=drawing))


class InspectedThread(HTTPEndpoint):
    @Operation("inspectThread", Answer("The thread.", InspectedJson))
    async def get(self, request: ApiRequest) -> Response:
        """Show the state of a thread, its latest checkpoints and the calls of its models."""
        key = thread_key(request)
        entry = await request.state["store"].get(key)
        if entry is None:
            raise unknown_thread(key)
        graphs = request.state["graphs"]
        checkpoints = graphs.checkpoints(entry.graph)
        latest = await checkpoints.latest(key, MAX_CHECKPOINTS)
        return JSONResponse(
            InspectedJson(
                graph=graphs.name_of(entry) or graphs.default,
                drawing=drawn(checkpoints.attached),
                state=plain(latest[0].values) if latest else {},
                checkpoints=[checkpoint_json(snapshot) for snapshot in latest],
                calls=[*CALLS.of(key)],
            )
        )


INSPECTION_ROUTES = (
    Route("/dev/graph", InspectedGraph),
    Route("/dev/threads/{thread_id}", InspectedThread),
)


def drawn(attached: AttachedGraph) -> str:
    """The graph in Mermaid's language."""
    return attached.drawing().draw_mermaid(with_styles=False)
