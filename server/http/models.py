"""GET /models: the models that a client may choose from."""

from typing import Annotated, get_args

from pydantic import Field
from starlette.endpoints import HTTPEndpoint
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from turnstream.graphs.images import takes_images
from turnstream.graphs.models import OFFLINE, PROVIDERS, ModelName
from turnstream.server.http.operations import Answer, Operation, says
from turnstream.server.http.state import ApiRequest, rights
from turnstream.tools.image_header import Kind

_TEXT_BYTES = 64_000
"""Left for the rest of a body that has images."""


class ModelJson(TypedDict):
    name: str
    provider: Annotated[str, Field(json_schema_extra={"enum": [OFFLINE, *PROVIDERS]})]
    default: bool
    images: Annotated[bool, says("True if the model takes images, as far as that is known.")]


class ImagesJson(TypedDict):
    """The images that a message may have."""

    types: list[str]
    max: Annotated[int, Field(ge=1), says("The images of one message.")]
    max_bytes: Annotated[int, Field(ge=0), says("The `data:` URLs of one message, together.")]


class ModelsJson(TypedDict):
    models: list[ModelJson]
    images: ImagesJson
    max_message_chars: Annotated[int, Field(ge=1), says("The characters of one message.")]


class Models(HTTPEndpoint):
    @Operation(
        "listModels", Answer("The default first; none where the graph has its own.", ModelsJson)
    )
    async def get(self, request: ApiRequest) -> Response:
        """List the models that the caller may name."""
        graph = request.state["graphs"].checkpoints(None).attached
        served, limits = request.state["models"], request.state["body_limits"]
        room = request.state["bodies"].max_bytes - _TEXT_BYTES
        names = served.allowed(rights(request)) if graph.is_built_in else []
        models: ModelsJson = {
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
            "max_message_chars": limits.max_message_chars,
        }
        return JSONResponse(models)
