"""GET /components: the components that the deployer has added, and the files that draw them.

The files are public, as those of the page are: a module is loaded without an `Authorization`
header. Their address has a version, a hash of the whole folder, so a browser keeps them for good;
what a module imports from beside it has the same version.
"""

import re
from typing import Annotated, Any

from starlette.endpoints import HTTPEndpoint
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from typing_extensions import TypedDict

from turnstream.server.http.operations import Answer, Operation, says
from turnstream.server.http.proxies import outer_address
from turnstream.server.http.state import ApiRequest
from turnstream.server.http.static import ComponentFiles


class ActionJson(TypedDict):
    label: str
    tool: Annotated[str, says("The real tool that the button calls, by POST /tools/{name}.")]
    arguments: Annotated[dict[str, str], says("The tool's arguments, by the props that fill them.")]


class ComponentJson(TypedDict):
    name: str
    version: str
    schema: Annotated[dict[str, Any], says("The JSON Schema of its props.")]
    actions: dict[str, ActionJson]
    draw: Annotated[str, says("The address of its drawing, a module.")]
    text: Annotated[str | None, says("The address of the module that puts it into words.")]
    style: Annotated[str | None, says("The address of its style sheet.")]


class ComponentsJson(TypedDict):
    components: list[ComponentJson]


def _described(served: ComponentFiles) -> ComponentJson:
    component = served.component

    def address(file: str) -> str:
        return outer_address(f"/components/{component.name}/{served.version}/{file}")

    def optional(file: str) -> str | None:
        return address(file) if (component.folder / file).is_file() else None

    return {
        "name": component.name,
        "version": served.version,
        "schema": dict(component.props.schema),
        "actions": {
            name: {
                "label": action["label"],
                "tool": action["tool"],
                "arguments": action.get("arguments", {}),
            }
            for name, action in component.actions.items()
        },
        "draw": address("draw.js"),
        "text": optional("text.js"),
        "style": optional("style.css"),
    }


class ComponentList(HTTPEndpoint):
    @Operation("listComponents", Answer("Components beside those of the page.", ComponentsJson))
    async def get(self, request: ApiRequest) -> Response:
        """List the components that the deployer has added to those of the page."""
        served = request.state["components"].values()
        return JSONResponse({"components": [*map(_described, served)]})


_FILE = re.compile(r"^/components/(?P<name>[^/]+)/(?P<version>[^/]+)/(?P<file>.+)$")


class ComponentFileRoute(Route):
    """An address without a file is none of a component: the page's sources have such."""

    def __init__(self) -> None:
        super().__init__("/components/{name}/{version}/{file:path}", ComponentFile())
        self.path_regex = _FILE


class ComponentFile:
    """A file of a component, in the version that is served."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = scope["path_params"]
        served = scope["state"]["components"].get(named["name"])
        if served is None or served.version != named["version"]:
            raise HTTPException(404)
        await served(scope, receive, send)
