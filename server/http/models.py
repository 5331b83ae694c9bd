"""GET /models: the models that a client may choose from."""

from typing import get_args

from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response

from turnstream.graphs.images import takes_images
from turnstream.graphs.models import ModelName
from turnstream.server.http.state import ApiRequest, rights
from turnstream.tools.image_header import Kind

_TEXT_BYTES = 64_000
"""Left for the rest of a body that has images."""


class Models(HTTPEndpoint):
    async def get(self, request: ApiRequest) -> Response:
        """`{"models": [{"name", "provider", "default", "images"}], "images"}`: those that the
        caller may name, the default first; none where the graph has models of its own. `images`
        says whether a model takes images, and which ones a message may have."""
        graph = request.state["graphs"].checkpoints(None).attached
        served, limits = request.state["models"], request.state["body_limits"]
        room = request.state["bodies"].max_bytes - _TEXT_BYTES
        names = served.allowed(rights(request)) if graph.is_built_in else []
        return JSONResponse(
            {
                "models": [
                    {
                        "name": name,
                        "provider": ModelName.parse(name).provider,
                        "default": name == names[0],
                        "images": takes_images(served.by_name[name]),
                    }
                    for name in names
                ],
                "images": {
                    "types": [f"image/{kind}" for kind in get_args(Kind)],
                    "max": limits.max_images,
                    "max_bytes": max(0, min(limits.max_image_bytes, room)),
                },
            }
        )
