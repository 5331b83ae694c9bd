"""GET /graphs: what a client may choose from, and what each graph takes."""

from typing import Any

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response

from turnstream.graphs.attached import AttachedGraph
from turnstream.server.http.state import ApiRequest
from turnstream.server.runs.client_values import allowed_names


class Graphs(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """`{"graphs": [{"name", "description"?, "default", "context": [name], "configurable":
        [name], "input": [name], "client_tools"}]}`, the default first. The names are what a client
        may set; `client_tools` is whether the graph takes tools of a client."""
        graphs, allowed = request.state["graphs"], request.state["client_values"]
        return JSONResponse(
            {
                "graphs": [
                    {
                        "name": name,
                        **_described(checkpoints.attached),
                        "default": name == graphs.default,
                        **allowed_names(checkpoints.attached, allowed),
                        "client_tools": checkpoints.attached.takes_client_tools,
                    }
                    for name, checkpoints in graphs.by_name.items()
                ]
            }
        )


def _described(graph: AttachedGraph) -> dict[str, Any]:
    return {"description": graph.description} if graph.description else {}
